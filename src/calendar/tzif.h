// Reads the content of a zone's file: TZif, versions 1 to 4 (RFC 9636).
#pragma once

#include <cstddef>
#include <string_view>

#include "base/result.h"
#include "calendar/zone.h"

namespace millrace::calendar {

// The largest of tzdata's files has 4 KB.
constexpr std::size_t kMaxTzifBytes = 65'536;

// For versions above 1, only the second block (64-bit times) and the footer are used. Rejected:
// data that the standard forbids, a rule that contradicts the last transition, and leap seconds
// (tzdata's "right/"), whose clock is not UTC. The digest is FNV-1a of the bytes.
Result<Zone> read_tzif(std::string_view bytes);

}  // namespace millrace::calendar
