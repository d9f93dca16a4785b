#include "net/address_set.h"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <algorithm>
#include <charconv>
#include <cstring>

namespace millrace::net {
namespace {

constexpr IpAddress kMapped = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0, 0, 0};
constexpr int kMappedBits = 96;

bool is_v4(const IpAddress& address) {
  return std::equal(kMapped.begin(), kMapped.begin() + 12, address.begin());
}

bool share_bits(const IpAddress& a, const IpAddress& b, int bits) {
  const auto whole = static_cast<std::size_t>(bits / 8);
  if (!std::equal(a.begin(), a.begin() + static_cast<std::ptrdiff_t>(whole), b.begin())) {
    return false;
  }
  const int rest = bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return ((a.at(whole) ^ b.at(whole)) & mask) == 0;
}

std::optional<int> parse_bits(std::string_view text, int most) {
  int bits = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), bits);
  const bool whole = error == std::errc() && end == text.data() + text.size();
  if (!whole || bits < 0 || bits > most) return std::nullopt;
  return bits;
}

}  // namespace

std::optional<IpAddress> parse_ip(std::string_view text) {
  if (text.size() >= INET6_ADDRSTRLEN) return std::nullopt;
  const std::string terminated(text);
  if (terminated.size() != std::strlen(terminated.c_str())) return std::nullopt;
  IpAddress address = kMapped;
  if (::inet_pton(AF_INET, terminated.c_str(), &address[12]) == 1) return address;
  if (::inet_pton(AF_INET6, terminated.c_str(), address.data()) == 1) return address;
  return std::nullopt;
}

std::string to_text(const IpAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  if (is_v4(address)) {
    ::inet_ntop(AF_INET, &address[12], text.data(), text.size());
  } else {
    ::inet_ntop(AF_INET6, address.data(), text.data(), text.size());
  }
  return text.data();
}

Result<AddressSet> AddressSet::parse(const std::vector<std::string>& networks) {
  AddressSet set;
  if (networks.size() > kMaxNetworks) {
    return failure("there are more than " + std::to_string(kMaxNetworks) + " networks");
  }
  for (const std::string& text : networks) {
    const std::size_t slash = text.find('/');
    const auto address = parse_ip(std::string_view(text).substr(0, slash));
    if (!address) {
      return failure('"' + text +
                     R"(" must be an address or a network, like "10.0.0.7" or "10.0.0.0/8")");
    }
    const bool v4 = is_v4(*address) && text.find(':') == std::string::npos;
    Network network{*address, 128};
    if (slash != std::string::npos) {
      const auto bits = parse_bits(std::string_view(text).substr(slash + 1), v4 ? 32 : 128);
      if (!bits) return failure('"' + text + "\" has no valid length of a network behind the '/'");
      network.bits = *bits + (v4 ? kMappedBits : 0);
    }
    set.networks_.push_back(network);
  }
  return set;
}

bool AddressSet::contains(std::string_view address) const {
  if (networks_.empty()) return false;
  const auto found = parse_ip(address);
  if (!found) return false;
  return std::ranges::any_of(networks_, [&](const Network& network) {
    return share_bits(network.address, *found, network.bits);
  });
}

}  // namespace millrace::net
