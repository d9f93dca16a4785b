// Time-driven actions: leases end, jobs expire or become ready, keys are freed.

#include <algorithm>

#include "base/mutant.h"
#include "core/decider.h"

namespace millrace::core {
namespace {

JobError server_error(std::string_view type, std::string_view message) {
  JobError error;
  error.type = SharedBytes(type);
  error.message = SharedBytes(message);
  return error;
}

}  // namespace

std::size_t Decider::end_leases(std::size_t limit) {
  std::size_t done = 0;
  const Time until = mutated(Mutant::kLeaseExpiresEarly) ? now_ + Duration{1} : now_;
  while (done < limit && !state_.leases.empty() && state_.leases.begin()->at <= until) {
    const JobSlot& slot = state_.slots.at(state_.leases.begin()->slot);
    const Activity& activity = *slot.activity;
    const bool timed_out = activity.deadline && *activity.deadline <= now_;
    AttemptEnded event =
        attempt_ended(slot, timed_out ? AttemptOutcome::kTimedOut : AttemptOutcome::kLeaseExpired);
    JobError error =
        timed_out ? server_error("timeout", "the attempt ran longer than the job's timeout_ms")
                  : server_error("lease_expired", "the worker let its lease expire");
    settle_failure(event, slot, true, std::nullopt);
    if (!timed_out) {
      event.crashed = true;
      const auto& max_crashes = slot.lane->queue->settings.max_crashes;
      if (!slot.cancel_requested && slot.crashes + 1u >= max_crashes.value_or(slot.max_attempts)) {
        event.state = State::kDead;
        event.run_at.reset();
        error = server_error(
            "worker_lost", "the job lost too many workers; the server does not hand it out again");
      }
    }
    event.error = complete_error(error, slot);
    give_way(event, slot);
    event.keep = keep(slot, event.state);
    emit_ended(std::move(event), slot);
    ++done;
  }
  return done;
}

std::size_t Decider::expire_jobs(std::size_t limit) {
  std::size_t done = 0;
  while (done < limit && !state_.expiry.empty() && state_.expiry.begin()->at <= now_) {
    const JobSlot& slot = state_.slots.at(state_.expiry.begin()->slot);
    emit(Expired{to_ref(slot), keep(slot, State::kExpired)});
    ++done;
  }
  return done;
}

std::size_t Decider::ready_jobs(std::size_t limit) {
  BecameDue due;
  for (auto timer = state_.due.begin(); timer != state_.due.end() && timer->at <= now_; ++timer) {
    if (due.jobs.size() >= limit) break;
    due.jobs.push_back(to_ref(state_.slots.at(timer->slot)));
  }
  const std::size_t done = due.jobs.size();
  if (done > 0) emit(std::move(due));
  return done;
}

void Decider::free_keys() {
  // Keys and holds become free by time alone; their removal can wait until next_timer() asks for
  // it.
  if (const auto at = state_.keys.earliest_expiry(); at && *at <= now_) emit(KeysExpired{now_});
  if (const auto at = state_.uniques.earliest_release(); at && *at <= now_)
    emit(UniquesReleased{now_});
}

}  // namespace millrace::core
