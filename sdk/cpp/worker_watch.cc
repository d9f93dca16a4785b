// A worker's watcher: acts at given instants, whatever requests are pending.
#include <algorithm>

#include "constants.h"
#include "worker_core.h"

namespace millrace::sdk {
namespace {

using std::chrono::milliseconds;

SteadyTime later(SteadyTime time, milliseconds by) {
  return time >= SteadyTime::max() - by ? SteadyTime::max() : time + by;
}

}  // namespace

void WorkerCore::watch() {
  Lock lock(mutex_);
  while (!is_closing_) {
    tell_what_is_due(lock);
    if (is_closing_) return;
    const SteadyTime due = next_change(lock);
    if (due <= std::chrono::steady_clock::now()) continue;
    watcher_sleeps_until_ = due;
    if (due == SteadyTime::max()) {
      watcher_wakes_.wait(lock);
    } else {
      watcher_wakes_.wait_until(lock, due);
    }
    watcher_sleeps_until_ = SteadyTime::min();
  }
}

// No effect if the watcher wakes up by then anyway.
void WorkerCore::wake_watcher(const Lock&, SteadyTime due) {
  if (due >= watcher_sleeps_until_) return;
  watcher_sleeps_until_ = due;
  watcher_wakes_.notify_one();
}

SteadyTime WorkerCore::next_change(const Lock& held) const {
  SteadyTime due = std::min(claim_breaks(held), report_breaks(held));
  if (!has_released_) {
    const SteadyTime ends = grace_ends(held);
    const bool is_over = ends <= std::chrono::steady_clock::now();
    due = std::min(due, is_over ? later(ends, kLastSecond) : ends);
  }
  for (const auto& [key, attempt] : attempts_) {
    due = std::min({due, attempt.certain_until, attempt.times_out});
  }
  return due;
}

// Tells handlers to end, and performs the steps of a stop. Unlocks while it runs handlers'
// callbacks.
void WorkerCore::tell_what_is_due(Lock& held) {
  const SteadyTime now = std::chrono::steady_clock::now();
  std::vector<std::stop_source> told;
  std::vector<AttemptKey> lost;  // before their handlers began
  const bool grace_is_over = grace_ends(held) <= now;
  for (auto& [key, attempt] : attempts_) {
    StopReason reason = StopReason::kNone;
    if (attempt.certain_until <= now) {
      reason = StopReason::kLeaseLost;
      if (attempt.unconfirmed) lost.push_back(key);
    } else if (attempt.times_out <= now) {
      reason = StopReason::kTimeout;
    } else if (grace_is_over) {
      reason = StopReason::kStopping;
    }
    if (reason == StopReason::kNone) continue;
    if (auto source = mark(held, attempt, reason)) told.push_back(std::move(*source));
  }
  for (const AttemptKey& key : lost) give_up(held, key);
  if (stop_began_ != SteadyTime::max()) release_unconfirmed(held);
  if (claim_breaks(held) <= now) told.push_back(claim_stop_);
  if (report_breaks(held) <= now) told.push_back(report_stop_);
  if (!has_released_ && later(grace_ends(held), kLastSecond) <= now) release_what_runs(held);
  if (told.empty()) return;
  held.unlock();
  for (std::stop_source& source : told) source.request_stop();
  held.lock();
}

// Records why the handler is told to end. The caller triggers the source, without holding our
// mutex. None: it was told before.
std::optional<std::stop_source> WorkerCore::mark(const Lock&, Attempt& attempt, StopReason reason) {
  const bool is_lost = reason == StopReason::kLeaseLost;
  if (is_lost) attempt.certain_until = attempt.next_beat = SteadyTime::max();
  attempt.times_out = SteadyTime::max();
  const std::lock_guard pending_lock(attempt.pending->mutex);
  StopReason& current = attempt.pending->reason;
  const bool is_first = current == StopReason::kNone;
  // A lost lease outranks other reasons: the handler's result no longer counts.
  if (is_first || is_lost) current = reason;
  if (!is_first) return std::nullopt;
  return attempt.stop;
}

// Releases jobs whose handlers have not begun, and will not, since the worker stops.
void WorkerCore::release_unconfirmed(const Lock& held) {
  for (auto next = attempts_.begin(); next != attempts_.end();) {
    const auto attempt = next++;
    if (!attempt->second.unconfirmed) continue;
    tell(held,
         {.ack = {.id = attempt->second.id, .token = attempt->second.token, .outcome = "released"},
          .since = std::chrono::steady_clock::now()});
    give_up(held, attempt->first);
    wake_reporter(held, acks_due(held));
  }
}

// Gives up a job whose handler has not begun: another worker may have it.
void WorkerCore::give_up(const Lock&, AttemptKey key) {
  attempts_.erase(key);
  ++free_slots_;
  claimer_wakes_.notify_all();
}

// False: the stop began before.
bool WorkerCore::begin_stop() {
  const Lock lock(mutex_);
  if (stop_began_ != SteadyTime::max()) return false;
  stop_began_ = std::chrono::steady_clock::now();
  worker_stops_->store(true);
  claimer_wakes_.notify_all();
  watcher_wakes_.notify_all();
  return true;
}

// When handlers are told that the worker stops.
SteadyTime WorkerCore::grace_ends(const Lock&) const {
  if (stop_began_ == SteadyTime::max() || !options_.grace) return aborted_;
  return std::min(aborted_, later(stop_began_, *options_.grace));
}

// When a pending claim is cancelled.
SteadyTime WorkerCore::claim_breaks(const Lock&) const {
  const bool is_claiming = claimer_ == Claimer::kPolling && !claim_stop_.stop_requested();
  if (!is_claiming || stop_began_ == SteadyTime::max()) return SteadyTime::max();
  return std::max(stop_began_, claim_began_ + kYoungClaim);
}

// When the reporter's pending request is cancelled.
SteadyTime WorkerCore::report_breaks(const Lock& held) const {
  if (!is_reporting_ || attempts_.empty() || report_stop_.stop_requested()) {
    return SteadyTime::max();
  }
  return report_began_ + report_patience_ + std::max(shortest_beat(held), kLeastPatience);
}

// The time for a stop is over: gives the jobs back, whatever their handlers do.
void WorkerCore::release_what_runs(const Lock& held) {
  has_released_ = true;
  const auto now = std::chrono::steady_clock::now();
  left_behind_ += attempts_.size() - waiting_.size();
  waiting_.clear();
  for (auto& [key, attempt] : attempts_) {
    bool is_lost = false;
    {
      const std::lock_guard pending_lock(attempt.pending->mutex);
      is_lost = attempt.pending->reason == StopReason::kLeaseLost;
    }
    if (!is_lost) {
      tell(held, {.ack = {.id = attempt.id,
                          .token = attempt.token,
                          .outcome = "released",
                          .logs = attempt.pending->take_logs(kMaxLogLines)},
                  .since = now});
    }
    ++free_slots_;
  }
  attempts_.clear();
  claimer_wakes_.notify_all();
  wake_reporter(held, acks_due(held));
}

}  // namespace millrace::sdk
