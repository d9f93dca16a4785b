// Claims and the requests of lease holders, as the contract requires.
#include <algorithm>
#include <tuple>

#include "sim/model/model.h"
#include "sim/violation.h"

namespace millrace::sim {

using core::AttemptOutcome;
using core::Fate;
using core::Job;
using core::JobSpec;
using core::Rejection;
using core::State;

std::vector<Job*> Model::claimable(const core::Claim& claim, std::vector<Job*>& expired) {
  std::vector<Job*> given;
  std::uint64_t bytes = 0;
  bool full = false;
  Gates::TakenMap taken;
  std::vector<std::string_view> seen;
  for (const SharedBytes& name : claim.queues) {
    if (full) break;
    const ModelQueue* at = queue(name.view());
    if (std::ranges::find(seen, name.view()) != seen.end() || at == nullptr) continue;
    seen.push_back(name.view());
    if (at->paused) {
      marks_.hit(Mark::kPausedClaim);
      continue;
    }
    give_from(name.view(), claim, taken, given, expired, bytes, full);
  }
  return given;
}

void Model::expire_as_told(const Choices& choices) {
  for (const JobId& id : choices.expired) {
    if (const auto known = std::ranges::find(expired_, id); known != expired_.end()) {
      expired_.erase(known);
      continue;
    }
    Job* job = job_at(id);
    demand(job != nullptr && core::is_waiting(job->state) && job->latest.n == 0 &&
               job->expires_at && *job->expires_at <= now_,
           "S2", "{} expired before its time", to_string(id));
    finish(*job, State::kExpired);
    expired_.pop_back();
  }
}

void Model::claim(const core::Claim& claim, const core::Claimed* event) {
  std::vector<Job*> expired;
  const std::vector<Job*> jobs = claimable(claim, expired);
  for (Job* job : expired) {
    marks_.hit(Mark::kExpiredAtClaim);
    finish(*job, State::kExpired);
  }
  if (jobs.empty()) return;
  if (event != nullptr) {
    std::vector<JobId> ids;
    for (const core::Claimed::Item& item : event->items) ids.push_back(item.job.id);
    if (!std::ranges::equal(jobs, ids, {}, [](const Job* job) { return job->id; })) {
      check_gates(ids);
    }
  }
  demand(event != nullptr && event->worker == claim.worker && event->items.size() == jobs.size(),
         "O1", "a claim of {} should have been given {} jobs, the first {}", claim.worker.view(),
         jobs.size(), to_string(jobs.front()->id));
  check_shares(claim, jobs);
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    Job& job = *jobs[i];
    const core::Claimed::Item& item = event->items[i];
    demand(item.job.id == job.id, "O1", "a claim of {} was given {}, not {}", claim.worker.view(),
           to_string(item.job.id), to_string(job.id));
    demand(to_number(item.token) > last_token_, "L2", "token {} of {} does not exceed {}",
           to_number(item.token), to_string(job.id), last_token_);
    demand(job.run_at <= now_, "C5", "{} was given out {} ms before it is due", to_string(job.id),
           (job.run_at - now_).count());
    demand(job.attempt < job.max_attempts, "A1", "{} was started more than {} times",
           to_string(job.id), job.max_attempts);
    last_token_ = to_number(item.token);
    ++leases_given_;
    const Duration length = claim.lease.value_or(job.lease);
    gates_.started(job);
    fair_.start(fair_job(job), now_);
    job.charged_ms = fair_.charged(job.id);
    set_state(job, State::kRunning);
    job.token = item.token;
    job.lease_length = length;
    job.lease_expires_at = add_saturating(now_, length);
    if (job.timeout) {
      job.deadline = add_saturating(now_, *job.timeout);
      job.lease_expires_at = std::min(*job.lease_expires_at, *job.deadline);
    }
    job.lease_given = *job.lease_expires_at - now_;
    lease_since_[job.id] = {now_, job.lease_given};
    generations_[to_number(item.token)] = {job.ord, job.generation};
    ++job.attempt;
    const std::uint32_t starts = job.latest.n + 1;
    job.latest = {};
    job.latest.n = starts;
    job.latest.attempt = job.attempt;
    job.latest.worker = claim.worker;
    job.latest.started_at = now_;
  }
  gates_.changed();
  settle_fair();
}

Rejection Model::heartbeat(const core::HeartbeatItem& item) {
  Job* job = leased(item.id, item.token);
  if (job == nullptr) {
    marks_.hit(Mark::kStaleToken);
    return Rejection::kLeaseLost;
  }
  if (const Rejection why = gates_.judge_slow_down(*job, item.slow_down); why != Rejection::kNone) {
    return why;
  }
  gates_.slow_down(*job, item.slow_down);
  Time until = add_saturating(now_, item.extend.value_or(job->lease_length));
  if (job->deadline) until = std::min(until, *job->deadline);
  if (until > *job->lease_expires_at) job->lease_given = std::max(Duration{0}, until - now_);
  if (until >= *job->lease_expires_at) {
    job->lease_expires_at = until;
    lease_since_[job->id] = {now_, until - now_};
  }
  if (item.progress != nullptr) {
    core::Progress progress = *item.progress;
    if (progress.checkpoint.empty() && job->progress != nullptr) {
      progress.checkpoint = job->progress->checkpoint;
    }
    job->progress = std::make_shared<const core::Progress>(std::move(progress));
  }
  return Rejection::kNone;
}

State Model::state_after(const core::AckItem& item, const Job& job) const {
  switch (item.outcome) {
    case core::AckOutcome::kSucceeded:
      return State::kSucceeded;
    case core::AckOutcome::kCancelled:
      return State::kCancelled;
    case core::AckOutcome::kDead:
      return State::kDead;
    default:
      break;
  }
  if (job.cancel_requested) return State::kCancelled;
  const bool retries = item.retryable && job.attempt < job.max_attempts;
  const bool ends = item.outcome == core::AckOutcome::kFailed && !retries;
  if (is_superseded(job) && !ends) return State::kCancelled;
  if (item.outcome == core::AckOutcome::kSnoozed) return State::kScheduled;
  if (item.outcome == core::AckOutcome::kReleased) return State::kReady;
  return retries ? State::kRetrying : State::kDead;
}

Rejection Model::ack(const core::AckItem& item, const Choices& choices,
                     std::optional<bool> admitted) {
  Job* job = leased(item.id, item.token);
  if (job == nullptr) return Rejection::kLeaseLost;
  if (const Rejection why = gates_.judge_slow_down(*job, item.slow_down); why != Rejection::kNone) {
    return why;
  }
  std::vector<const JobSpec*> before;
  // A released job takes its place among the ready jobs before the jobs submitted by its ack.
  JobSpec itself;
  itself.queue = job->queue;
  if (job->extras != nullptr && !job->extras->fair_key.empty()) {
    core::JobExtras extras;
    extras.fair_key = job->extras->fair_key;
    itself.extras = std::make_shared<const core::JobExtras>(std::move(extras));
  }
  const State to_be = state_after(item, *job);
  const bool released = to_be == State::kReady;
  if (released) before.push_back(&itself);
  for (const JobSpec& spec : item.enqueue) {
    const Verdict verdict = judge(spec, {}, before, job, to_be);
    if (verdict.fate == Fate::kRefused) {
      marks_.hit(Mark::kNestedRefused);
      return verdict.why;
    }
    if (verdict.fate == Fate::kCreated) before.push_back(&spec);
  }
  if (released) before.erase(before.begin());
  if (!before.empty() && !admitted.value_or(is_stored(*before.front(), choices, 0))) {
    return Rejection::kOverloaded;
  }
  gates_.slow_down(*job, item.slow_down);
  job->log_lines += static_cast<std::uint32_t>(item.logs.size());
  marks_.hit_if(job->cancel_requested, Mark::kAckRacedCancel);
  switch (item.outcome) {
    case core::AckOutcome::kSucceeded:
      job->result = item.result;
      end_attempt(*job, end_event(*job, choices), AttemptOutcome::kSucceeded, State::kSucceeded,
                  true);
      break;
    case core::AckOutcome::kFailed:
      settle_failure(*job, choices, AttemptOutcome::kFailed, item.retryable, item.delay, false,
                     item.error->type.view());
      break;
    case core::AckOutcome::kSnoozed:
    case core::AckOutcome::kReleased: {
      const bool snoozed = item.outcome == core::AckOutcome::kSnoozed;
      const core::AttemptEnded& event = end_event(*job, choices);
      const State next = snoozed ? State::kScheduled : State::kReady;
      const bool over = job->cancel_requested || is_superseded(*job);
      const State to = over ? State::kCancelled : next;
      const Time due = add_saturating(now_, item.delay.value_or(Duration{0}));
      demand(to != State::kScheduled || event.run_at == due, "A5",
             "a snoozed job is due at another time than asked");
      end_attempt(*job, event, snoozed ? AttemptOutcome::kSnoozed : AttemptOutcome::kReleased, to,
                  false);
      break;
    }
    case core::AckOutcome::kCancelled:
      end_attempt(*job, end_event(*job, choices), AttemptOutcome::kCancelled, State::kCancelled,
                  true);
      break;
    case core::AckOutcome::kDead:
      end_attempt(*job, end_event(*job, choices), AttemptOutcome::kDead, State::kDead, true);
      break;
  }
  for (const JobSpec& spec : item.enqueue) submit(spec, nullptr);
  return Rejection::kNone;
}

const Model::Generation* Model::given(const Job& job, LeaseToken token) const {
  const auto lease = generations_.find(to_number(token));
  return lease == generations_.end() || lease->second.ord != job.ord ? nullptr : &lease->second;
}

Rejection Model::confirm_fence(const core::AckItem& item) const {
  const Job* const job = find(item.id);
  if (job == nullptr) return Rejection::kNotFound;
  return given(*job, item.token) == nullptr ? Rejection::kLeaseLost : Rejection::kNone;
}

Rejection Model::finish(const core::AckItem& item, const Choices& choices) {
  const core::EndedLease* const ended = ended_lease(item.token);
  const bool done = ended != nullptr && ended->job == item.id && ended->state == State::kSucceeded;
  Job* job = job_at(item.id);
  if (job == nullptr) {
    marks_.hit_if(done, Mark::kFinishOfForgotten);
    return done ? Rejection::kNone : Rejection::kNotFound;
  }
  if (leased(item.id, item.token) != nullptr) {
    marks_.hit(Mark::kFinishedWithLease);
    return ack(item, choices, true);
  }
  const Generation* const lease = given(*job, item.token);
  // A token that is not this job's may belong to a deleted job with the same id.
  if (lease == nullptr) return done ? Rejection::kNone : Rejection::kLeaseLost;
  if (job->state == State::kSucceeded) return Rejection::kNone;
  demand(lease->number == job->generation, "X6",
         "{} is in generation {}, and is finished with token {} of generation {}",
         to_string(job->id), job->generation, to_number(item.token), lease->number);
  const auto event = choices.finished.find(to_number(item.token));
  demand(event != choices.finished.end() && event->second->job.id == job->id &&
             event->second->from == job->state,
         "X6", "{} ({}) should have been finished with token {}", to_string(job->id),
         name_of(job->state), to_number(item.token));
  ++finished_in_batch_;
  marks_.hit(core::is_terminal(job->state)   ? Mark::kFinishedAfterEnd
             : job->state == State::kRunning ? Mark::kFinishedElsewhere
                                             : Mark::kFinishedWaiting);
  if (job->state == State::kRunning) {
    ended_[to_number(job->token)] = {job->token, job->id, AttemptOutcome::kCancelled,
                                     State::kSucceeded};
    job->latest.finished_at = now_;
    job->latest.outcome = AttemptOutcome::kCancelled;
    fair_.end(fair_job(*job), now_);
    job->charged_ms = 0;
  }
  job->result = item.result;
  job->cancel_requested = false;
  job->cancel_reason = {};
  finish(*job, State::kSucceeded);
  return Rejection::kNone;
}

Rejection Model::log(const core::LogItem& item) {
  Job* job = leased(item.id, item.token);
  if (job == nullptr) return Rejection::kLeaseLost;
  ++job->log_lines;
  return Rejection::kNone;
}

}  // namespace millrace::sim
