// How far the journal may be trimmed: only rows that are synced in the tables, and that the event
// retention does not keep.
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

// Rows no longer needed by the tables and the read models. Nothing above `synced` is deleted. Rows
// above `read` are deleted only if the journal exceeds the retention by kMaxUnreadBytes, or has
// more rows than it has room for.
struct TrimBounds {
  Seq synced{};
  Seq read{};
};
inline constexpr std::uint64_t kMaxUnreadBytes = std::uint64_t{1} << 30;

// Rows below the result may be deleted: those older than `age` at `now`, and the oldest ones in
// excess of `bytes` (estimated from the rows' mean size; repeated calls approach it). Reads about
// twenty rows.
Result<Seq> trim_point(store::Journal& journal, TrimBounds bounds, Time now,
                       EventRetention retention);

}  // namespace millrace::server
