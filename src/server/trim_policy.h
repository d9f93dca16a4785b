// How far the journal may be trimmed: below what is synced in the tables, and past what the event
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

// Rows below the result may go: those that are older than `age` at `now`, and the oldest of those
// beyond `bytes` (by the rows' mean size: a few calls come near it). Never above `synced`. Reads
// about twenty rows.
Result<Seq> trim_point(store::Journal& journal, Seq synced, Time now, EventRetention retention);

}  // namespace millrace::server
