#include "sim/model/model.h"

#include <algorithm>

#include "sim/violation.h"

namespace millrace::sim {

using core::AttemptOutcome;
using core::Fate;
using core::Job;
using core::JobSpec;
using core::Rejection;
using core::State;

namespace {

bool waits_for_time(State state) { return state == State::kScheduled || state == State::kRetrying; }

bool is_due(const JobSpec& spec, Time now) {
  return spec.run_at ? *spec.run_at <= now : spec.delay.count() <= 0;
}

bool shares_unique(const JobSpec& a, const JobSpec& b) {
  return a.queue == b.queue && a.extras != nullptr && b.extras != nullptr && a.extras->unique &&
         b.extras->unique && a.extras->unique->key == b.extras->unique->key;
}

}  // namespace

Choices::Choices(const core::EventBatch& batch) {
  for (const core::Event& event : batch.events) {
    if (const auto* ended = std::get_if<core::AttemptEnded>(&event)) {
      ends[to_number(ended->token)] = ended;
    } else if (const auto* submission = std::get_if<core::Submitted>(&event)) {
      submitted.push_back(submission);
    } else if (const auto* queue = std::get_if<core::QueueChanged>(&event)) {
      if (queue->change == core::QueueChange::kCreated) {
        ++queues_made[std::string(queue->queue.view())];
      }
    } else if (const auto* retry = std::get_if<core::Retried>(&event)) {
      ++retried[retry->job.id];
    } else if (const auto* claimed = std::get_if<core::Claimed>(&event)) {
      claims.push_back(claimed);
    } else if (const auto* finish = std::get_if<core::Finished>(&event)) {
      finished[to_number(finish->token)] = finish;
    } else if (const auto* expiry = std::get_if<core::Expired>(&event)) {
      expired.push_back(expiry->job.id);
    } else if (const auto* extension = std::get_if<core::LeasesExtended>(&event)) {
      extended += extension->by;
    } else if (const auto* deleted = std::get_if<core::Deleted>(&event)) {
      if (deleted->cause == core::DeleteCause::kRetention) retention.push_back(deleted);
    }
  }
}

std::pair<Duration, Duration> backoff_bounds(const core::RetryPolicy& policy,
                                             std::uint32_t attempt) {
  const auto ceiling = static_cast<long double>(policy.max.count());
  long double delay = static_cast<long double>(policy.base.count());
  switch (policy.strategy) {
    case core::RetryStrategy::kExponential:
      for (std::uint32_t i = 1; i < attempt && delay < ceiling; ++i) delay *= 2;
      break;
    case core::RetryStrategy::kLinear:
      delay *= attempt;
      break;
    case core::RetryStrategy::kFixed:
      break;
    case core::RetryStrategy::kList: {
      if (policy.delays.empty()) return {};
      const std::size_t index = std::min<std::size_t>(attempt, policy.delays.size()) - 1;
      delay = static_cast<long double>(policy.delays[index].count());
      break;
    }
  }
  if (policy.strategy != core::RetryStrategy::kList) delay = std::min(delay, ceiling);
  const long double spread = delay * policy.jitter_ppm / 1'000'000;
  return {Duration{static_cast<std::int64_t>(delay - spread) - 1},
          Duration{static_cast<std::int64_t>(delay + spread) + 1}};
}

// --- Questions.

const Job* Model::find(const JobId& id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second.get();
}

Job* Model::job_at(const JobId& id) {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : found->second.get();
}

const ModelQueue* Model::queue(std::string_view name) const {
  const auto found = queues_.find(name);
  return found == queues_.end() ? nullptr : &found->second;
}

const core::EndedLease* Model::ended_lease(LeaseToken token) const {
  const auto found = ended_.find(to_number(token));
  return found == ended_.end() ? nullptr : &found->second;
}

Job* Model::leased(const JobId& id, LeaseToken token) {
  Job* job = job_at(id);
  return job != nullptr && job->state == State::kRunning && job->token == token ? job : nullptr;
}

const Model::Holder* Model::unique_holder(const SharedBytes& queue, const SharedBytes& key) const {
  const auto found = uniques_.find({std::string(queue.view()), std::string(key.view())});
  if (found == uniques_.end()) return nullptr;
  return found->second.until && *found->second.until <= now_ ? nullptr : &found->second;
}

// --- Helpers of all changes.

ModelQueue& Model::queue_of(const SharedBytes& name) {
  const auto [entry, made] = queues_.try_emplace(std::string(name.view()));
  if (made) {
    entry->second.settings.retention = default_retention_;
    ++queues_made_[entry->first];
  }
  return entry->second;
}

// S2: each transition raises the version by one.
void Model::set_state(Job& job, State to) {
  if (job.state == State::kRunning) ++leases_ended_;
  ModelQueue& queue = queue_of(job.queue);
  --queue.counts[static_cast<std::size_t>(job.state)];
  ++queue.counts[static_cast<std::size_t>(to)];
  job.state = to;
  ++job.version;
  gates_.changed();
  if (to != State::kRunning) {
    job.token = kNoToken;
    job.lease_expires_at.reset();
    job.lease_length = {};
    job.lease_given = {};
    job.deadline.reset();
    lease_since_.erase(job.id);
  }
}

void Model::finish(Job& job, State to) {
  set_state(job, to);
  if (to == State::kExpired) expired_.push_back(job.id);
  job.finished_at = now_;
  live_.erase(job.ord);
  if (job.extras != nullptr && job.extras->unique) {
    const core::UniqueRule& rule = *job.extras->unique;
    const auto held = uniques_.find({std::string(job.queue.view()), std::string(rule.key.view())});
    if (held != uniques_.end() && held->second.job == job.id) {
      const std::optional<Time> until = core::unique_hold_until(job);
      if (until && *until > now_) {
        held->second.until = until;
      } else {
        uniques_.erase(held);
      }
    }
  }
  const auto& keep = queue_of(job.queue).settings.retention.of(to);
  if (keep && keep->count() == 0) {
    marks_.hit(Mark::kForgottenAtOnce);
    remove(job.id);
  }
  settle_fair();
}

void Model::remove(const JobId& id) {
  const auto found = jobs_.find(id);
  ModelQueue& queue = queue_of(found->second->queue);
  --queue.counts[static_cast<std::size_t>(found->second->state)];
  ++queue.pruned;
  live_.erase(found->second->ord);
  gates_.changed();
  lease_since_.erase(id);
  jobs_.erase(found);
}

void Model::free_unique(const Job& job) {
  if (job.extras == nullptr || !job.extras->unique) return;
  const auto held =
      uniques_.find({std::string(job.queue.view()), std::string(job.extras->unique->key.view())});
  if (held != uniques_.end() && held->second.job == job.id) uniques_.erase(held);
}

// --- Time.

void Model::start_term(const core::EpochStarted& event) {
  demand(to_number(event.epoch) > epoch_, "N2", "epoch {} does not follow epoch {}",
         to_number(event.epoch), epoch_);
  demand(event.first_token > last_token_, "L2", "a term's tokens start at {}, {} was given before",
         event.first_token, last_token_);
  epoch_ = to_number(event.epoch);
}

void Model::extend_leases(Duration by) {
  for (const auto& [ord, job] : live_) {
    if (job->state != State::kRunning) continue;
    // Never extends the remaining time beyond the given length, and never shortens it.
    const auto more = [&](Time end, Duration given) {
      return std::max(end, std::min(add_saturating(end, by), add_saturating(now_, given)));
    };
    job->lease_expires_at = more(*job->lease_expires_at, job->lease_given);
    if (job->deadline) job->deadline = more(*job->deadline, *job->timeout);
  }
}

std::vector<Job*> Model::ended_leases(Time now) {
  std::vector<Job*> over;
  for (const auto& [ord, job] : live_) {
    if (job->state == State::kRunning &&
        (*job->lease_expires_at <= now || (job->deadline && *job->deadline <= now))) {
      over.push_back(job);
    }
  }
  // The order in which they end matters to breakers.
  std::ranges::sort(over, {}, [](const Job* job) {
    return std::pair(std::min(*job->lease_expires_at, job->deadline.value_or(Time::max())),
                     job->ord);
  });
  return over;
}

void Model::check_had_its_time(const Job& job, Duration counted) const {
  const Lease& lease = lease_since_.at(job.id);
  demand(counted >= lease.length, "L5",
         "the lease {} of {} was promised {} ms at {}, and ended after {} ms in which it could "
         "have been acknowledged",
         to_number(job.token), to_string(job.id), lease.length.count(), to_ms(lease.at),
         counted.count());
}

const core::AttemptEnded& Model::end_event(const Job& job, const Choices& choices) const {
  const auto found = choices.ends.find(to_number(job.token));
  demand(found != choices.ends.end() && found->second->job.id == job.id, "L1",
         "the attempt of {} with token {} should have ended at {}", to_string(job.id),
         to_number(job.token), to_ms(now_));
  return *found->second;
}

void Model::end_attempt(Job& job, const core::AttemptEnded& event, AttemptOutcome outcome, State to,
                        bool counted) {
  demand(event.outcome == outcome, "A2", "the attempt of {} ended as {}, not as {}",
         to_string(job.id), name_of(event.outcome), name_of(outcome));
  demand(event.state == to, to == State::kDead ? "A3" : "S2", "after its attempt {} is {}, not {}",
         to_string(job.id), name_of(event.state), name_of(to));
  gates_.ended(job, outcome);
  fair_.end(fair_job(job), now_);
  job.charged_ms = 0;
  ended_[to_number(job.token)] = {job.token, job.id, outcome, to};
  job.latest.finished_at = now_;
  job.latest.outcome = outcome;
  job.latest.error = event.error;
  if (event.error != nullptr) job.last_error = event.error;
  if (!counted) --job.attempt;
  job.cancel_requested = job.cancel_requested && to == State::kCancelled;
  if (!job.cancel_requested) job.cancel_reason = {};
  if (is_superseded(job) && to == State::kCancelled && !job.cancel_requested) {
    marks_.hit(Mark::kSuperseded);
    job.cancel_reason = SharedBytes(core::kSuperseded);
  }
  if (core::is_terminal(to)) return finish(job, to);
  if (event.run_at) job.run_at = *event.run_at;
  set_state(job, to);
  settle_fair();
}

// A failed attempt: the job is cancelled if requested, else retried within the policy's bounds,
// else dead.
void Model::settle_failure(Job& job, const Choices& choices, AttemptOutcome outcome, bool retryable,
                           std::optional<Duration> delay, bool crashed,
                           std::string_view error_type) {
  const core::AttemptEnded& event = end_event(job, choices);
  demand(event.error != nullptr && event.error->type.view() == error_type &&
             event.error->attempt == job.attempt && event.error->at == now_,
         "A2", "the error of {} is not what ended its attempt ({})", to_string(job.id), error_type);
  if (crashed) ++job.crashes;
  State to = State::kRetrying;
  if (job.cancel_requested) {
    to = State::kCancelled;
  } else if (error_type == "worker_lost" || !retryable || job.attempt >= job.max_attempts) {
    to = State::kDead;
    marks_.hit_if(job.attempt >= job.max_attempts, Mark::kAttemptsSpent);
  } else if (is_superseded(job)) {
    to = State::kCancelled;
  }
  if (to == State::kRetrying) {
    demand(event.run_at.has_value(), "A4", "{} is to be retried at no time", to_string(job.id));
    const auto [least, most] =
        delay ? std::pair{*delay, *delay} : backoff_bounds(*job.retry, job.attempt);
    demand(
        *event.run_at >= add_saturating(now_, least) && *event.run_at <= add_saturating(now_, most),
        "A4", "{} waits {} ms after attempt {}, outside {} to {}", to_string(job.id),
        (*event.run_at - now_).count(), job.attempt, least.count(), most.count());
  }
  end_attempt(job, event, outcome, to, true);
}

void Model::end_by_time(Job& job, const Choices& choices) {
  const bool timed_out = job.deadline && *job.deadline <= now_;
  if (timed_out) {
    marks_.hit(Mark::kAttemptTimedOut);
    return settle_failure(job, choices, AttemptOutcome::kTimedOut, true, {}, false, "timeout");
  }
  marks_.hit(Mark::kLeaseExpired);
  const std::uint32_t budget = queue_of(job.queue).settings.max_crashes.value_or(job.max_attempts);
  const bool lost = !job.cancel_requested && job.crashes + 1 >= budget;
  marks_.hit_if(lost, Mark::kCrashBudgetSpent);
  settle_failure(job, choices, AttemptOutcome::kLeaseExpired, true, {}, true,
                 lost ? "worker_lost" : "lease_expired");
}

void Model::expire_due() {
  std::vector<Job*> late;
  for (const auto& [ord, job] : live_) {
    if (core::is_waiting(job->state) && job->latest.n == 0 && job->expires_at &&
        *job->expires_at <= now_) {
      late.push_back(job);
    }
  }
  for (Job* job : late) {
    marks_.hit(Mark::kJobExpired);
    finish(*job, State::kExpired);
  }
}

bool Model::ready_due() {
  bool some = false;
  for (const auto& [ord, job] : live_) {
    if (!waits_for_time(job->state) || job->run_at > now_) continue;
    marks_.hit(job->state == State::kRetrying ? Mark::kBackoffOver : Mark::kDelayedBecameReady);
    set_state(*job, State::kReady);
    some = true;
  }
  if (some) settle_fair();
  return some;
}

// X3: prunes only ended jobs whose retention is over.
void Model::prune(const core::Deleted& event) {
  for (const core::Deleted::Item& item : event.items) {
    const Job* job = find(item.job.id);
    demand(job != nullptr, "S4", "retention deleted {}, which is not there",
           to_string(item.job.id));
    const auto& keep = queue_of(job->queue).settings.retention;
    demand(core::is_terminal(job->state) && keep.of(job->state) &&
               add_saturating(*job->finished_at, *keep.of(job->state)) <= now_,
           "X3", "retention deleted {} ({}) too early", to_string(job->id), name_of(job->state));
    marks_.hit(Mark::kPruned);
    remove(item.job.id);
  }
}

// --- Submissions.

bool Model::is_full(const JobSpec& spec, const std::vector<const JobSpec*>& before) const {
  const ModelQueue* at = queue(spec.queue.view());
  if (at == nullptr || !at->settings.max_ready) return false;
  std::uint64_t ready = at->counts[static_cast<std::size_t>(State::kReady)];
  for (const JobSpec* other : before) {
    if (other->queue == spec.queue && is_due(*other, now_)) ++ready;
  }
  return ready >= *at->settings.max_ready;
}

// Compares a job, or an earlier submission, with a repeated submission.
template <typename Earlier>
bool says_the_same(const Earlier& earlier, const JobSpec& spec) {
  const core::JobExtras none;
  const core::JobExtras& before = earlier.extras != nullptr ? *earlier.extras : none;
  const core::JobExtras& now = spec.extras != nullptr ? *spec.extras : none;
  if (spec.queue.view().starts_with('~')) return true;  // in an outbox: the id says everything
  if (earlier.type != spec.type || earlier.timeout != spec.timeout) return false;
  std::optional<core::UniqueRule> rule = before.unique;
  if (rule) rule->superseded = false;
  if (rule != now.unique || before.meta != now.meta) return false;
  if (before.order_key != now.order_key) return false;
  return earlier.payload == spec.payload && earlier.priority == spec.priority &&
         before.tags == now.tags;
}

Model::Prospect Model::prospect(const std::vector<const JobSpec*>& before) const {
  Prospect prospect;
  for (auto spec = before.begin(); spec != before.end(); ++spec) {
    const JobSpec& made = **spec;
    std::optional<JobId> replaced;
    if (made.extras != nullptr && made.extras->unique) {
      const Holder* held = unique_holder(made.queue, made.extras->unique->key);
      const Job* holder = held != nullptr ? find(held->job) : nullptr;
      if (holder != nullptr && core::is_waiting(holder->state)) replaced = holder->id;
      for (auto other = before.begin(); other != spec; ++other) {
        if (shares_unique(**other, made)) replaced = (*other)->id;
      }
    }
    const ModelQueue* at = queue(made.queue.view());
    const auto& keep =
        at != nullptr ? at->settings.retention.cancelled : default_retention_.cancelled;
    if (replaced && keep && keep->count() == 0) {
      prospect.made.erase(*replaced);
      prospect.forgotten.insert(*replaced);
    }
    prospect.made[made.id] = &made;
  }
  return prospect;
}

bool Model::is_made(std::string_view queue, const Choices& choices) const {
  const auto of_batch = choices.queues_made.find(queue);
  const auto known = queues_made_.find(queue);
  const std::uint32_t before = known == queues_made_.end() ? 0 : known->second;
  return of_batch != choices.queues_made.end() && of_batch->second > before;
}

bool Model::is_stored(const JobSpec& spec, const Choices& choices, std::size_t ahead) const {
  const std::size_t next = created_in_batch() + ahead;
  if (next >= choices.submitted.size()) return false;
  const Job& job = choices.submitted[next]->job;
  return job.id == spec.id && job.queue == spec.queue && job.type == spec.type &&
         job.priority == spec.priority && job.payload == spec.payload;
}

std::optional<Verdict> Model::judge_unique(const JobSpec& spec,
                                           const std::vector<const JobSpec*>& before,
                                           const Job* ending, State to,
                                           std::optional<JobId>& replaces) const {
  const core::UniqueRule& rule = *spec.extras->unique;
  std::optional<JobId> holder;
  State state = State::kReady;
  const SharedBytes* type = nullptr;  // of a holder that has not ended
  for (const JobSpec* other : before) {
    if (!shares_unique(*other, spec)) continue;
    holder = other->id;
    type = &other->type;
  }
  if (!holder) {
    if (const Holder* held = unique_holder(spec.queue, rule.key)) {
      holder = held->job;
      const Job* job = find(*holder);
      state = job != nullptr ? job->state : State::kSucceeded;
      if (ending != nullptr && job == ending) {
        state = to;
        const std::optional<Time> until = core::unique_hold_until(*job);
        if (!until || *until <= now_) holder.reset();
      }
      marks_.hit_if(core::is_terminal(state), Mark::kUniqueHeldPastEnd);
      if (job != nullptr && !core::is_terminal(state)) type = &job->type;
    }
  }
  if (holder && rule.on_conflict == core::OnConflict::kReturn) {
    marks_.hit(Mark::kUniqueHit);
    return Verdict{Fate::kExisting, {}, *holder, {}};
  }
  const bool debounces = rule.on_conflict == core::OnConflict::kDebounce;
  if (holder && debounces && type != nullptr && *type != spec.type) {
    marks_.hit(Mark::kUniqueRejected);
    return Verdict{Fate::kRefused, Rejection::kDuplicateJob, {}, {}};
  }
  if (holder && debounces && state != State::kRunning) {
    return Verdict{Fate::kExisting, {}, *holder, {}, core::is_waiting(state)};
  }
  const bool refused = rule.on_conflict == core::OnConflict::kReject || state == State::kRunning;
  if (holder && !debounces && refused) {
    marks_.hit(Mark::kUniqueRejected);
    return Verdict{Fate::kRefused, Rejection::kDuplicateJob, {}, {}};
  }
  if (holder && core::is_waiting(state)) replaces = holder;
  return std::nullopt;
}

Verdict Model::judge(const JobSpec& spec, const std::optional<core::IdempotencyKey>& key,
                     const std::vector<const JobSpec*>& before, const Job* acked, State to) const {
  if (key) {
    const auto row = keys_.find(key->key);
    if (row != keys_.end() && row->second.key.expires_at > now_) {
      if (row->second.key.body == key->body) return {Fate::kExisting, {}, row->second.job, {}};
      return {Fate::kRefused, Rejection::kIdempotencyMismatch, {}, {}};
    }
    marks_.hit_if(row != keys_.end(), Mark::kKeyFreed);
  }
  const Job* standing = find(spec.id);
  const bool ends = acked != nullptr && core::is_terminal(to);
  if (ends && standing == acked) {
    const auto& keep = queue(acked->queue.view())->settings.retention.of(to);
    if (keep && keep->count() == 0) standing = nullptr;
  }
  const Prospect then = prospect(before);
  if (then.forgotten.contains(spec.id)) {
    marks_.hit(Mark::kReplacedComesBack);
    standing = nullptr;
  }
  const auto same_id = then.made.find(spec.id);
  if (standing != nullptr || same_id != then.made.end()) {
    const SharedBytes& queue = standing != nullptr ? standing->queue : same_id->second->queue;
    if (queue != spec.queue) {
      marks_.hit(Mark::kIdTaken);
      return {Fate::kRefused, Rejection::kDuplicateJob, {}, {}};
    }
    if (standing != nullptr ? says_the_same(*standing, spec)
                            : says_the_same(*same_id->second, spec)) {
      marks_.hit(Mark::kIdRepeated);
      return {Fate::kExisting, {}, spec.id, {}};
    }
    marks_.hit(Mark::kIdMismatch);
    return {Fate::kRefused, Rejection::kIdMismatch, {}, {}};
  }
  std::optional<JobId> replaces;
  if (spec.extras != nullptr && spec.extras->unique) {
    if (const auto verdict = judge_unique(spec, before, ends ? acked : nullptr, to, replaces)) {
      return *verdict;
    }
  }
  if (const core::Refusal refusal = gates_.judge(gates_.limits_of(spec))) {
    marks_.hit(refusal.why == Rejection::kUnknownLimit ? Mark::kUnknownLimit : Mark::kUnfitLimit);
    return {Fate::kRefused, refusal.why, {}, {}};
  }
  if (is_key_full(spec, before)) {
    marks_.hit(Mark::kKeyFull);
    return {Fate::kRefused, Rejection::kKeyFull, {}, {}};
  }
  if (is_full(spec, before)) {
    marks_.hit(Mark::kQueueFull);
    return {Fate::kRefused, Rejection::kQueueFull, {}, {}};
  }
  return {Fate::kCreated, {}, spec.id, replaces};
}

Verdict Model::submit(const JobSpec& spec, const core::Enqueue* command) {
  const auto key = command != nullptr ? command->key : std::nullopt;
  const Verdict verdict = judge(spec, key, {});
  if (key) {
    marks_.hit_if(verdict.fate == Fate::kExisting, Mark::kKeyHit);
    marks_.hit_if(verdict.why == Rejection::kIdempotencyMismatch, Mark::kKeyMismatch);
  }
  if (verdict.debounces) debounce(spec, *job_at(verdict.id));
  if (verdict.fate != Fate::kCreated) return verdict;
  if (verdict.replaces) {
    marks_.hit(Mark::kUniqueReplaced);
    Job& replaced = *job_at(*verdict.replaces);
    replaced.cancel_reason = SharedBytes("replaced by a job with the same unique key");
    finish(replaced, State::kCancelled);
  }
  ModelQueue& queue = queue_of(spec.queue);
  auto job = std::make_unique<Job>();
  job->id = spec.id;
  job->ord = numbers_.take();
  ++created_;
  job->queue = spec.queue;
  job->type = spec.type;
  job->payload = spec.payload;
  job->priority = spec.priority;
  job->max_attempts = spec.max_attempts.value_or(queue.settings.max_attempts);
  job->created_at = now_;
  job->run_at = spec.run_at ? *spec.run_at : add_saturating(now_, spec.delay);
  if (spec.extras != nullptr && spec.extras->unique && spec.extras->unique->max_wait) {
    job->run_at = std::min(job->run_at, add_saturating(now_, *spec.extras->unique->max_wait));
  }
  job->state = job->run_at > now_ ? State::kScheduled : State::kReady;
  job->expires_at = spec.expires_at;
  if (!job->expires_at && spec.expires_in) job->expires_at = add_saturating(now_, *spec.expires_in);
  job->lease = spec.lease.value_or(queue.settings.lease);
  job->timeout = spec.timeout;
  job->retry = spec.retry != nullptr ? spec.retry : queue.settings.retry;
  job->extras = extras_of(spec, job->run_at);
  supersede(*job);
  ++queue.created;
  ++queue.counts[static_cast<std::size_t>(job->state)];
  if (job->extras != nullptr && job->extras->unique) {
    uniques_[{std::string(spec.queue.view()), std::string(job->extras->unique->key.view())}] = {
        job->id, std::nullopt};
  }
  if (key) {
    core::KeyRow row{*key, job->id};
    row.key.expires_at = add_saturating(now_, command->key_window);
    keys_[key->key] = row;
  }
  live_[job->ord] = job.get();
  jobs_[job->id] = std::move(job);
  gates_.changed();
  settle_fair();
  return verdict;
}

}  // namespace millrace::sim
