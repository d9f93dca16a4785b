#include "core/queues/queue.h"

#include "base/check.h"
#include "core/queues/queue_fields.h"
#include "core/same.h"

namespace millrace::core {

const std::optional<Duration>& Retention::of(State state) const {
  MILLRACE_CHECK(is_terminal(state));
  switch (state) {
    case State::kSucceeded:
      return succeeded;
    case State::kDead:
      return dead;
    case State::kCancelled:
      return cancelled;
    default:
      return expired;
  }
}

bool operator==(const QueueSettings& a, const QueueSettings& b) { return same(a, b); }

QueueSettings patched(QueueSettings settings, const QueuePatch& patch) {
  if (patch.max_attempts) settings.max_attempts = *patch.max_attempts;
  if (patch.max_crashes) settings.max_crashes = *patch.max_crashes;
  if (patch.retry != nullptr) settings.retry = patch.retry;
  if (patch.lease) settings.lease = *patch.lease;
  if (patch.max_ready) settings.max_ready = *patch.max_ready;
  if (patch.succeeded) settings.retention.succeeded = *patch.succeeded;
  if (patch.dead) settings.retention.dead = *patch.dead;
  if (patch.cancelled) settings.retention.cancelled = *patch.cancelled;
  if (patch.expired) settings.retention.expired = *patch.expired;
  if (patch.concurrency) settings.concurrency = *patch.concurrency;
  if (patch.rate) settings.rate = *patch.rate;
  if (patch.limits) settings.limits = patch.limits->limits;
  if (patch.max_ready_per_key) settings.max_ready_per_key = *patch.max_ready_per_key;
  if (patch.breaker) settings.breaker = *patch.breaker;
  if (patch.fair) settings.fair = *patch.fair;
  if (patch.ageing) settings.ageing = *patch.ageing;
  return settings;
}

}  // namespace millrace::core
