// What is due of a schedule, as the engine has computed it (engine/schedules/planner.h). The
// machine decides what becomes of it.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/command.h"

namespace millrace::core {

struct Firing {
  SharedBytes name;
  std::uint64_t version = 0;  // a firing of another version does nothing
  Time wall{};                // the wall clock, as far as it is believed

  struct Instant {
    Time at{};
    std::optional<Time> local;  // what the zone's clock shows then
    JobId job;
    // Makes the job or, if its queue lies on another shard, puts it into this shard's outbox under
    // another id.
    JobSpec spec;
  };
  // An instant that waited for the end of the newest job: its job, in case this one has ended.
  std::optional<Instant> waited;
  // The instants to run, oldest first: all after `done_until`.
  std::vector<Instant> instants;
  // So many instants before these were missed and are not run; the last of them.
  std::uint64_t missed = 0;
  Time missed_until{};
  std::optional<Time> missed_local;

  // The instant that follows; none: there is none.
  std::optional<Time> next;
  std::optional<Time> due;
  SharedBytes zone_version;
  // Why nothing can be computed: try again at `due`. Else empty.
  SharedBytes broken;

  // The newest job lies on another shard, and has ended.
  bool newest_ended = false;
};

}  // namespace millrace::core
