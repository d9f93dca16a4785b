// How long a failed job waits before its next attempt.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "base/time.h"
#include "core/jobs/job.h"

namespace millrace::core {

// The delay after attempt `attempt` (from 1) has failed: the strategy's delay, capped, then varied
// by up to the policy's jitter. The jitter is computed from the job, its generation and the
// attempt, so that replays agree and jobs that failed together do not retry together. Saturates;
// never negative, never above kTenYears plus its jitter.
Duration retry_delay(const RetryPolicy& policy, const JobId& id, std::uint32_t generation,
                     std::uint32_t attempt);

// The bounds between which retry_delay lies.
struct DelayBounds {
  Duration least;
  Duration most;
};
DelayBounds retry_delay_bounds(const RetryPolicy& policy, std::uint32_t attempt);

}  // namespace millrace::core
