// The due instants of a schedule, computed by the engine (engine/schedules/planner.h). The machine
// decides what to do with them.
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
  std::uint64_t version = 0;  // a firing of another version is ignored
  Time wall{};                // the wall clock, as far as it is trusted

  struct Instant {
    Time at{};
    std::optional<Time> local;  // the local time in the schedule's zone
    JobId job;                  // or the workflow
    bool workflow = false;      // it is one
    // Makes the job. A workflow, and a job whose queue lies on another shard, enters this shard's
    // outbox under another id.
    JobSpec spec;
  };
  // The instant that waited for the newest job to end, with its job, in case the newest has ended.
  std::optional<Instant> waited;
  // The instants to run, oldest first, all after `done_until`.
  std::vector<Instant> instants;
  // The number of earlier instants that were missed and are not run; the last of them.
  std::uint64_t missed = 0;
  Time missed_until{};
  std::optional<Time> missed_local;

  // The next instant; none: there is none.
  std::optional<Time> next;
  std::optional<Time> due;
  SharedBytes zone_version;
  // Why nothing can be computed; retry at `due`. Otherwise empty.
  SharedBytes broken;

  // The newest job lies on another shard, or is a workflow, and has ended.
  bool newest_ended = false;
};

}  // namespace millrace::core
