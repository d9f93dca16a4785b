#include "http/connection/accept_encoding.h"

#include <algorithm>
#include <optional>

#include "base/ascii.h"
#include "http/connection/request_guard.h"

namespace millrace::http {
namespace {

constexpr int kWhole = 1000;

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

// "0.5" is 500. At most three digits follow the point.
int weight_in(std::string_view text) {
  if (text.empty() || text.size() > 5 || (text[0] != '0' && text[0] != '1')) return 0;
  int weight = (text[0] - '0') * kWhole;
  if (text.size() > 1 && text[1] != '.') return 0;
  int unit = kWhole / 10;
  for (const char digit : text.substr(std::min<std::size_t>(2, text.size()))) {
    if (digit < '0' || digit > '9') return 0;
    weight += (digit - '0') * unit;
    unit /= 10;
  }
  return weight > kWhole ? 0 : weight;
}

// None: the coding is not named.
std::optional<int> named_weight(std::string_view accepted, std::string_view coding) {
  while (!accepted.empty()) {
    const std::size_t comma = std::min(accepted.find(','), accepted.size());
    const std::string_view item = accepted.substr(0, comma);
    accepted.remove_prefix(std::min(comma + 1, accepted.size()));
    const std::size_t semicolon = std::min(item.find(';'), item.size());
    if (!equals_ignoring_case(trimmed(item.substr(0, semicolon)), coding)) continue;
    const std::string_view weight = trimmed(item.substr(std::min(semicolon + 1, item.size())));
    if (weight.empty()) return kWhole;
    const bool is_weight = weight.starts_with("q=") || weight.starts_with("Q=");
    return is_weight ? weight_in(weight.substr(2)) : 0;
  }
  return std::nullopt;
}

}  // namespace

int weight_of(std::string_view accepted, std::string_view coding) {
  if (const auto weight = named_weight(accepted, coding)) return *weight;
  return named_weight(accepted, "*").value_or(0);
}

bool takes_coding(const RequestHead& head, std::string_view coding) {
  const Field* const field = head.find("accept-encoding");
  if (field == nullptr) return false;
  const int weight = weight_of(field->value, coding);
  return weight > 0 && weight >= named_weight(field->value, "identity").value_or(0);
}

}  // namespace millrace::http
