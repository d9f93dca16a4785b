// How far the journal may be trimmed: below what is synced in the tables, and below what the event
// retention keeps.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/result.h"
#include "base/time.h"
#include "store/journal.h"

namespace millrace::server {

struct EventRetention {
  Duration age{};
  std::uint64_t bytes = 0;
};

// What the journal was needed for, and is no longer up to these rows. Nothing is deleted above
// `synced`. Above `read` rows are deleted only once the journal is larger by kMaxUnreadBytes than
// the retention says, or has more rows than it has room for.
struct TrimBounds {
  Seq synced{};
  Seq read{};
};
inline constexpr std::uint64_t kMaxUnreadBytes = std::uint64_t{1} << 30;

// Rows below the result may be deleted: those that are older than `age` at `now`, and the oldest
// ones beyond `bytes` (estimated from the rows' mean size; a few calls come close to it). Reads
// about twenty rows.
Result<Seq> trim_point(store::Journal& journal, TrimBounds bounds, Time now,
                       EventRetention retention);

}  // namespace millrace::server
