// A queue's settings and figures, as values.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "base/time.h"
#include "core/bounds.h"
#include "core/flow/fair_settings.h"
#include "core/jobs/job.h"

namespace millrace::core {

// How long a finished job is kept; none: for ever; zero: it is dropped at once.
struct Retention {
  std::optional<Duration> succeeded = kDefaultRetention;
  std::optional<Duration> dead = kDefaultDeadRetention;
  std::optional<Duration> cancelled = kDefaultRetention;
  std::optional<Duration> expired = kDefaultRetention;

  // Precondition: is_terminal(state).
  const std::optional<Duration>& of(State state) const;
  friend bool operator==(const Retention&, const Retention&) = default;
};

struct QueueSettings {
  std::uint32_t max_attempts = kDefaultMaxAttempts;
  std::optional<std::uint32_t> max_crashes;  // none: the job's max_attempts
  std::shared_ptr<const RetryPolicy> retry = default_retry_policy();  // never null
  Duration lease = kDefaultLease;
  std::optional<std::uint64_t> max_ready;  // none: no bound
  Retention retention;
  // The queue's own gate.
  std::optional<std::uint32_t> concurrency;
  std::optional<Rate> rate;
  std::vector<JobLimit> limits;  // added to each job that is submitted; without incarnations
  std::optional<BreakerRule> breaker;
  std::optional<FairSettings> fair;  // none: keys have no effect. Excludes `ageing`
  std::optional<Duration> ageing;    // waiting this long is worth one step of priority; none: never
  std::optional<std::uint64_t> max_ready_per_key;  // of each fair key, with `fair`; none: no bound
  Bounds bounds() const { return {concurrency, rate}; }
  LimitSettings gate() const { return {bounds(), false, {}, breaker, std::nullopt}; }
  friend bool operator==(const QueueSettings& a, const QueueSettings& b);
};

// A list wrapped so that a patch may omit it.
struct QueueLimits {
  std::vector<JobLimit> limits;
};

// A partial change: absent members keep their values. An empty inner optional sets "none".
struct QueuePatch {
  std::optional<std::uint32_t> max_attempts;
  std::optional<std::optional<std::uint32_t>> max_crashes;
  std::shared_ptr<const RetryPolicy> retry;  // null: absent
  std::optional<Duration> lease;
  std::optional<std::optional<std::uint64_t>> max_ready;
  std::optional<std::optional<Duration>> succeeded, dead, cancelled, expired;
  std::optional<std::optional<std::uint32_t>> concurrency;
  std::optional<std::optional<Rate>> rate;
  std::optional<QueueLimits> limits;
  std::optional<std::optional<BreakerRule>> breaker;
  std::optional<std::optional<FairSettings>> fair;
  std::optional<std::optional<Duration>> ageing;
  std::optional<std::optional<std::uint64_t>> max_ready_per_key;
};
QueueSettings patched(QueueSettings settings, const QueuePatch& patch);

using StateCounts = std::array<std::uint64_t, kStateCount>;

struct Queue {
  SharedBytes name;
  QueueSettings settings;
  bool paused = false;
  SharedBytes pause_reason;
  std::uint64_t version = 1;
  StateCounts counts{};       // exact, finished jobs included while they are kept
  std::uint64_t created = 0;  // ever
  std::uint64_t pruned = 0;   // ever; created = sum of counts + pruned
  std::optional<Time>
      oldest_ready_at;  // when the job that has been ready longest became so; derived, not stored
};

}  // namespace millrace::core
