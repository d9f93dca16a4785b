#include "base/ids.h"

#include "base/hex.h"

namespace millrace {
namespace {

// The positions of the dashes in the 8-4-4-4-12 form; all others are digits.
constexpr bool is_dash(std::size_t i) { return i == 8 || i == 13 || i == 18 || i == 23; }

}  // namespace

void format_to(const JobId& id, char* out) {
  std::size_t at = 0;
  for (const std::uint8_t byte : id.bytes) {
    if (is_dash(at)) out[at++] = '-';
    out[at++] = kHexDigits[byte >> 4];
    out[at++] = kHexDigits[byte & 15];
  }
}

std::string to_string(const JobId& id) {
  std::string text(kJobIdTextSize, '\0');
  format_to(id, text.data());
  return text;
}

std::optional<JobId> parse_job_id(std::string_view text) {
  if (text.size() != kJobIdTextSize) return std::nullopt;
  JobId id;
  std::size_t byte = 0;
  for (std::size_t i = 0; i < text.size();) {
    if (is_dash(i)) {
      if (text[i++] != '-') return std::nullopt;
      continue;
    }
    const int high = hex_value(text[i]);
    const int low = hex_value(text[i + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    id.bytes[byte++] = static_cast<std::uint8_t>(high << 4 | low);
    i += 2;
  }
  return id;
}

bool is_uuid_v7(const JobId& id) { return id.bytes[6] >> 4 == 7 && id.bytes[8] >> 6 == 2; }

JobId make_job_id(Time now, std::uint16_t queue_bits, std::uint64_t random) {
  JobId id;
  const auto ms = static_cast<std::uint64_t>(to_ms(now));
  for (std::size_t i = 0; i < 6; ++i) id.bytes[i] = static_cast<std::uint8_t>(ms >> (40 - 8 * i));
  id.bytes[6] = static_cast<std::uint8_t>(0x70 | (queue_bits >> 8 & 0x0f));
  id.bytes[7] = static_cast<std::uint8_t>(queue_bits);
  for (std::size_t i = 0; i < 8; ++i)
    id.bytes[8 + i] = static_cast<std::uint8_t>(random >> (56 - 8 * i));
  id.bytes[8] = static_cast<std::uint8_t>(0x80 | (id.bytes[8] & 0x3f));
  return id;
}

}  // namespace millrace
