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

// Rows below the result may be deleted: those that are older than `age` at `now`, and the oldest
// ones beyond `bytes` (estimated from the rows' mean size; a few calls come close to it). Never
// above `synced`. Reads about twenty rows.
Result<Seq> trim_point(store::Journal& journal, Seq synced, Time now, EventRetention retention);

}  // namespace millrace::server
