#include "http/connection/forwarded.h"

#include <algorithm>
#include <optional>
#include <ranges>
#include <vector>

#include "base/ascii.h"

namespace millrace::http {
namespace {

std::string_view trimmed(std::string_view text) {
  const auto is_space = [](char c) { return c == ' ' || c == '\t'; };
  while (!text.empty() && is_space(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_space(text.back())) text.remove_suffix(1);
  return text;
}

// "192.0.2.1", "192.0.2.1:4711", "2001:db8::1", "[2001:db8::1]", "[2001:db8::1]:4711".
std::optional<std::string> address_in(std::string_view entry) {
  std::string_view address = entry;
  if (entry.starts_with('[')) {
    const std::size_t end = entry.find(']');
    if (end == std::string_view::npos) return std::nullopt;
    const std::string_view rest = entry.substr(end + 1);
    if (!rest.empty() && rest[0] != ':') return std::nullopt;
    address = entry.substr(1, end - 1);
    if (address.find(':') == std::string_view::npos) return std::nullopt;
  } else if (std::ranges::count(entry, ':') == 1) {
    address = entry.substr(0, entry.find(':'));
  }
  const auto parsed = net::parse_ip(address);
  if (!parsed) return std::nullopt;
  return net::to_text(*parsed);
}

// In the order of the header; several fields are read in sequence.
std::vector<std::string_view> entries_of(const RequestHead& head) {
  std::vector<std::string_view> entries;
  for (const Field& field : head.fields) {
    if (!equals_ignoring_case(field.name, "x-forwarded-for")) continue;
    for (const auto part : std::views::split(field.value, ',')) {
      entries.push_back(trimmed(std::string_view(part.begin(), part.end())));
    }
  }
  return entries;
}

}  // namespace

std::string client_of(const RequestHead& head, std::string_view peer,
                      const net::AddressSet& proxies) {
  std::string client(peer);
  if (!proxies.contains(client)) return client;
  std::size_t hops = 0;
  for (const std::string_view entry : entries_of(head) | std::views::reverse) {
    const auto address = address_in(entry);
    if (!address || ++hops > kMaxForwardedHops) break;
    client = *address;
    if (!proxies.contains(client)) break;
  }
  return client;
}

}  // namespace millrace::http
