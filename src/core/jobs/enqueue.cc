// Submissions: a known job is returned, an inadmissible one is refused, and the rest become jobs.

#include <algorithm>

#include "base/check.h"
#include "base/mutant.h"
#include "core/decider.h"

namespace millrace::core {

std::string unique_name(std::string_view queue, std::string_view key) {
  std::string name;
  name.reserve(queue.size() + 1 + key.size());
  name.append(queue).push_back('\0');
  return name.append(key);
}

namespace {

const JobExtras& extras_of(const std::shared_ptr<const JobExtras>& extras) {
  static const JobExtras kNone;
  return extras == nullptr ? kNone : *extras;
}

// The engine's own jobs, whose queues no client can name, are compared only by id, since their ids
// are derived from their content. Their destination shard compares that content.
bool is_of_the_engine(const JobSpec& spec) { return spec.queue.view().starts_with('~'); }

// Whether a running job has lost its key to a successor is no part of the rule as sent.
bool same_rule(std::optional<UniqueRule> before, const std::optional<UniqueRule>& now) {
  if (before) before->superseded = false;
  return before == now;
}

// Whether both are the job of the same member or callback.
bool same_member(const JobExtras& before, const JobExtras& now) {
  if (before.member == nullptr || now.member == nullptr) return false;
  return before.member->workflow == now.member->workflow &&
         before.member->role == now.member->role && before.member->number == now.member->number;
}

// Compares a submission with the job, or the earlier submission, that has its id. Times, bounds and
// policies are left out: they change with the job, or come from its queue. So is the trace, which a
// producer creates anew for each request. An operator's edits count: the comparison uses the job's
// current state.
template <typename Earlier>
bool same_content(const Earlier& earlier, const JobSpec& spec) {
  const JobExtras& before = extras_of(earlier.extras);
  const JobExtras& now = extras_of(spec.extras);
  // A member's id is made of its workflow and its number. The relay may bring the job again after
  // an operator has edited it.
  if (before.member != nullptr || now.member != nullptr) return same_member(before, now);
  // A job's payload is empty if it was not read.
  const bool same_payload = earlier.payload.empty() || earlier.payload == spec.payload;
  return earlier.type == spec.type && earlier.timeout == spec.timeout && same_payload &&
         earlier.priority == spec.priority && same_rule(before.unique, now.unique) &&
         before.tags == now.tags && before.meta == now.meta && before.order_key == now.order_key;
}

std::optional<SubmissionKey> own_key(const Enqueue& command) {
  if (!command.key) return std::nullopt;
  return SubmissionKey{command.key->key, command.key->body, command.key_window};
}

}  // namespace

Verdict Decider::existing(const JobId& id) const {
  Verdict verdict;
  verdict.fate = Fate::kExisting;
  verdict.id = id;
  if (const SlotIndex index = state_.find(id); index != kNoSlot) {
    verdict.state = state_.slots.at(index).state;
  } else if (is_deleted(id)) {
    verdict.deleted = true;
  } else if (const Job* job = prefetched_.find(id)) {
    verdict.state = job->state;
  }
  return verdict;
}

bool Decider::is_of(const JobSpec& spec) const {
  // If memory has dropped the payload, it was prefetched.
  const Job* stored = prefetched_.find(spec.id);
  Job job;
  if (const SlotIndex index = state_.find(spec.id); index != kNoSlot) {
    job = to_job(state_.slots.at(index));
    if (job.payload.empty() && stored != nullptr) job.payload = stored->payload;
  } else if (stored != nullptr) {
    job = *stored;
  }
  return same_content(job, spec);
}

// For a known id: if the submission is the same, its job is the answer; otherwise it is refused.
std::optional<Verdict> Decider::judge_id(const JobSpec& spec, const PendingEffects& pending) const {
  const SharedBytes* queue = nullptr;
  const JobSpec* earlier = nullptr;
  if (const auto found = pending.ids.find(spec.id); found != pending.ids.end()) {
    earlier = found->second;
    queue = &earlier->queue;
  } else if (pending.forgotten.contains(spec.id)) {
    return std::nullopt;
  } else if (const SlotIndex index = state_.find(spec.id); index != kNoSlot) {
    queue = &state_.slots.at(index).lane->queue->name;
  } else if (spec.id_origin == IdOrigin::kClient && !state_.changes.tombstones.contains(spec.id)) {
    if (const Job* job = prefetched_.find(spec.id)) queue = &job->queue;
  }
  if (queue == nullptr) return std::nullopt;
  Verdict verdict = existing(spec.id);
  if (*queue != spec.queue) {
    verdict.fate = Fate::kRefused;
    verdict.refusal = {Rejection::kDuplicateJob, spec.id, RefusalDetail::kIdOfAnotherQueue};
  } else if (!is_of_the_engine(spec) &&
             (earlier != nullptr ? !same_content(*earlier, spec) : !is_of(spec))) {
    verdict.fate = Fate::kRefused;
    verdict.refusal = {Rejection::kIdMismatch, spec.id, RefusalDetail::kIdOfAnotherBody};
  }
  return verdict;
}

// For a known key: if the body is the same, its job is the answer; otherwise it is refused.
std::optional<Verdict> Decider::judge_key(const SubmissionKey& key,
                                          const PendingEffects& pending) const {
  JobId holder;
  Fingerprint body;
  const KeyRow* row = state_.keys.find(key.key, now_);
  if (mutated(Mutant::kLateKey) && row != nullptr && state_.find(row->job) != kNoSlot &&
      state_.slots.at(state_.find(row->job)).created_at == now_) {
    row = nullptr;
  }
  if (row != nullptr) {
    holder = row->job;
    body = row->key.body;
  } else if (const auto found = pending.keys.find(key.key); found != pending.keys.end()) {
    holder = found->second->id;
    body = found->second->key->body;
  } else {
    return std::nullopt;
  }
  if (body == key.body) {
    Verdict verdict = existing(holder);
    verdict.by_key = true;
    return verdict;
  }
  Verdict verdict;
  verdict.fate = Fate::kRefused;
  verdict.refusal = {Rejection::kIdempotencyMismatch, holder, RefusalDetail::kKeyOfAnotherBody};
  return verdict;
}

std::optional<Verdict> Decider::judge_unique(const JobSpec& spec,
                                             const PendingEffects& pending) const {
  if (spec.extras == nullptr || !spec.extras->unique) return std::nullopt;
  const UniqueRule& rule = *spec.extras->unique;
  JobId holder;
  bool running = false;
  bool waiting = false;
  const SharedBytes* type = nullptr;  // of a holder that has not ended
  if (const auto found = pending.uniques.find(unique_name(spec.queue.view(), rule.key.view()));
      found != pending.uniques.end()) {
    holder = found->second;
    waiting = true;
    if (const auto earlier = pending.ids.find(holder); earlier != pending.ids.end()) {
      type = &earlier->second->type;
    }
  } else if (const auto* held = state_.uniques.find(spec.queue.view(), rule.key.view(), now_)) {
    holder = held->job;
    const bool ends = pending.ended && pending.ended->id == holder;
    if (ends && pending.ended->frees_unique) return std::nullopt;
    if (const SlotIndex index = state_.find(holder); index != kNoSlot && !ends) {
      running = state_.slots.at(index).state == State::kRunning;
      waiting = is_waiting(state_.slots.at(index).state);
      if (running || waiting) type = &state_.slots.at(index).lane->type;
    }
  } else {
    return std::nullopt;
  }
  Verdict verdict = existing(holder);
  if (rule.on_conflict == OnConflict::kReturn) return verdict;
  if (rule.on_conflict == OnConflict::kDebounce) {
    if (type != nullptr && *type != spec.type) {
      verdict.fate = Fate::kRefused;
      verdict.refusal = {Rejection::kDuplicateJob, holder, RefusalDetail::kDebounceOfAnotherType};
      return verdict;
    }
    // A job that has ended and still holds its key is returned, as with kReturn.
    if (!running) {
      verdict.debounces = waiting;
      return verdict;
    }
    // The successor waits.
    Verdict successor;
    successor.id = spec.id;
    return successor;
  }
  if (rule.on_conflict == OnConflict::kReject || running) {
    verdict.fate = Fate::kRefused;
    verdict.refusal = {Rejection::kDuplicateJob, holder,
                       running && rule.on_conflict == OnConflict::kReplace
                           ? RefusalDetail::kUniqueKeyHeldByRunning
                           : RefusalDetail::kUniqueKeyHeld};
    return verdict;
  }
  Verdict replacement;
  replacement.id = spec.id;
  if (waiting) replacement.replaces = holder;
  return replacement;
}

Refusal Decider::closed() const {
  switch (admission_) {
    case Admission::kClosed:
      return {Rejection::kOverloaded, {}, RefusalDetail::kBehind};
    case Admission::kMemoryFull:
      return {Rejection::kOverloaded, {}, RefusalDetail::kMemoryFull};
    case Admission::kOpen:
      break;
  }
  return {};
}

// Whether a queue of this name may be created.
std::optional<Refusal> Decider::judge_new_queue(const SharedBytes& name,
                                                const PendingEffects& pending) const {
  if (const Refusal refusal = closed()) return refusal;
  if (pending.queues.contains(name.view()) ||
      state_.queues.size() + pending.queues.size() < options_.max_queues) {
    return std::nullopt;
  }
  return Refusal{Rejection::kTooManyQueues, {}, RefusalDetail::kTooManyQueues};
}

std::optional<Refusal> Decider::judge_capacity(const JobSpec& spec, bool with_key,
                                               const PendingEffects& pending) const {
  if (const Refusal refusal = closed()) return refusal;
  if (with_key && state_.keys.size() + pending.keys.size() >= options_.max_keys) {
    return Refusal{Rejection::kOverloaded, {}, RefusalDetail::kTooManyKeys};
  }
  const QueueEntry* queue = state_.find_queue(spec.queue.view());
  const bool adds_limits = queue != nullptr && !queue->settings.limits.empty();
  if (adds_limits || (spec.extras != nullptr && !spec.extras->limits.empty())) {
    const JobLimits limits = limits_of(spec);
    if (const Refusal refusal = judge_limits(limits)) return refusal;
    const Refusal of_keys = pending.judged ? Refusal() : judge_limit_keys(limits);
    if (of_keys) return of_keys;
  }
  if (queue == nullptr) return judge_new_queue(spec.queue, pending);
  // A member was accepted with its workflow.
  if (spec.extras != nullptr && spec.extras->member != nullptr) return std::nullopt;
  if (queue->settings.max_ready_per_key) {
    if (auto refusal = judge_key_capacity(*queue, spec, pending)) return refusal;
  }
  if (!queue->settings.max_ready) return std::nullopt;
  std::uint64_t ready = queue->count(State::kReady);
  if (const auto more = pending.ready.find(spec.queue.view()); more != pending.ready.end())
    ready += more->second;
  if (ready < *queue->settings.max_ready) return std::nullopt;
  return Refusal{Rejection::kQueueFull, {}, RefusalDetail::kQueueAtMaxReady, fullness(*queue)};
}

namespace {

// Examines the first jobs of at most kMaxAheadCounted of the key's lanes.
Fullness fullness_of(const ShardState& state, const FairKey& key, std::uint64_t bound, Time now) {
  std::size_t left = kMaxAheadCounted;
  std::optional<Time> since;
  for (const auto& [group, stand] : key.stands) {
    for (auto head = stand->lanes.begin(); head != stand->lanes.end() && left > 0; ++head, --left) {
      const Time of_head = ready_since(state.slots.at(head->key.slot));
      since = std::min(since.value_or(of_head), of_head);
    }
  }
  Fullness full;
  full.depth = key.due;
  if (since) full.oldest = std::max(Duration{0}, now - *since);
  const std::uint64_t tenth = std::max<std::uint64_t>(1, bound / 10);
  if (key.pace != nullptr) full.room_in = key.pace->time_of(tenth, now);
  return full;
}

}  // namespace

std::optional<Refusal> Decider::judge_key_capacity(const QueueEntry& queue, const JobSpec& spec,
                                                   const PendingEffects& pending) const {
  const SharedBytes& name = extras_of(spec.extras).fair_key;
  const FairKey* const key = queue.fair->find(name.view());
  std::uint64_t ready = key == nullptr ? 0 : key->due;
  const auto more = pending.ready.find(unique_name(spec.queue.view(), name.view()));
  if (more != pending.ready.end()) ready += more->second;
  if (ready < *queue.settings.max_ready_per_key) return std::nullopt;
  Fullness full;
  if (key != nullptr) full = fullness_of(state_, *key, *queue.settings.max_ready_per_key, now_);
  return Refusal{Rejection::kKeyFull,
                 {},
                 RefusalDetail::kKeyAtMaxReady,
                 std::make_shared<const Fullness>(full)};
}

// Suggests waiting until a tenth of the capacity is free, so that returning clients do not all find
// the queue full again.
std::shared_ptr<const Fullness> Decider::fullness(const QueueEntry& queue) const {
  if (full_.first == &queue) return full_.second;
  Fullness full;
  full.depth = queue.count(State::kReady);
  if (const auto since = queue.ready.ready_since(state_.slots, queue.ageing_ms > 0)) {
    full.oldest = std::max(Duration{0}, now_ - *since);
  }
  const std::uint64_t tenth = std::max<std::uint64_t>(1, *queue.settings.max_ready / 10);
  full.room_in = queue.pace.time_of(tenth, now_);
  full_ = {&queue, std::make_shared<const Fullness>(full)};
  return full_.second;
}

Verdict Decider::judge(const JobSpec& spec, const SubmissionKey* key,
                       const PendingEffects& pending) const {
  if (key != nullptr) {
    if (auto verdict = judge_key(*key, pending)) return *verdict;
  }
  if (auto verdict = judge_id(spec, pending)) return *verdict;
  auto unique = judge_unique(spec, pending);
  if (unique && unique->fate != Fate::kCreated) return *unique;
  if (const auto refusal = judge_capacity(spec, key != nullptr, pending)) {
    Verdict verdict;
    verdict.fate = Fate::kRefused;
    verdict.refusal = *refusal;
    return verdict;
  }
  if (unique) return *unique;
  Verdict verdict;
  verdict.id = spec.id;
  return verdict;
}

bool Decider::forgets_cancelled(const SharedBytes& name) const {
  const QueueEntry* queue = state_.find_queue(name.view());
  const auto& retention =
      (queue == nullptr ? options_.default_retention : queue->settings.retention)
          .of(State::kCancelled);
  return retention && retention->count() == 0;
}

void Decider::add_pending(const JobSpec& spec, const Verdict& verdict,
                          PendingEffects& pending) const {
  if (verdict.fate != Fate::kCreated) return;
  if (verdict.replaces && forgets_cancelled(spec.queue)) {
    pending.ids.erase(*verdict.replaces);
    pending.forgotten.insert(*verdict.replaces);
  }
  pending.ids[spec.id] = &spec;
  if (spec.key != nullptr) pending.keys[spec.key->key] = &spec;
  const QueueEntry* queue = state_.find_queue(spec.queue.view());
  if (queue == nullptr) pending.queues[std::string(spec.queue.view())] = true;
  const bool bounded = queue != nullptr && queue->settings.max_ready.has_value();
  if (bounded && is_due(spec)) ++pending.ready[std::string(spec.queue.view())];
  if (queue != nullptr && queue->settings.max_ready_per_key && is_due(spec)) {
    const SharedBytes& fair_key = extras_of(spec.extras).fair_key;
    ++pending.ready[unique_name(spec.queue.view(), fair_key.view())];
  }
  if (spec.extras != nullptr && spec.extras->unique) {
    pending.uniques[unique_name(spec.queue.view(), spec.extras->unique->key.view())] = spec.id;
  }
}

// The queue's settings; the first job creates the queue.
const QueueSettings& Decider::queue_for(const SharedBytes& name) {
  const QueueEntry* queue = state_.find_queue(name.view());
  if (queue == nullptr) {
    QueueSettings settings;
    settings.retention = options_.default_retention;
    emit(QueueChanged{name, QueueChange::kCreated, std::move(settings), {}});
    queue = state_.find_queue(name.view());
  }
  return queue->settings;
}

// The job's extras, with its place in the line of its order key.
std::shared_ptr<const JobExtras> placed(const Job& job) {
  JobExtras extras = *job.extras;
  extras.place = job.run_at;
  return std::make_shared<const JobExtras>(std::move(extras));
}

Job Decider::new_job(const JobSpec& spec, const QueueSettings& settings) const {
  Job job;
  job.id = spec.id;
  job.ord = state_.facts.next_ord;
  job.queue = spec.queue;
  job.type = spec.type;
  job.payload = spec.payload;
  if (mutated(Mutant::kPayloadNormalised)) {
    std::string text(spec.payload.view());
    std::erase(text, ' ');
    job.payload = SharedBytes(text);
  }
  job.priority = spec.priority;
  job.max_attempts = spec.max_attempts.value_or(settings.max_attempts);
  job.created_at = now_;
  job.run_at = spec.run_at ? *spec.run_at : add_saturating(now_, spec.delay);
  if (const auto& unique = extras_of(spec.extras).unique; unique && unique->max_wait) {
    job.run_at = std::min(job.run_at, add_saturating(now_, *unique->max_wait));
  }
  job.state = job.run_at > now_ ? State::kScheduled : State::kReady;
  if (spec.expires_at) {
    job.expires_at = spec.expires_at;
  } else if (spec.expires_in) {
    job.expires_at = add_saturating(now_, *spec.expires_in);
  }
  job.lease = spec.lease.value_or(settings.lease);
  job.timeout = spec.timeout;
  job.retry = spec.retry != nullptr ? spec.retry : settings.retry;
  const bool limited = spec.extras != nullptr && !spec.extras->limits.empty();
  job.extras = limited || !settings.limits.empty() ? with_limits(spec) : spec.extras;
  if (job.extras != nullptr && !job.extras->order_key.empty()) job.extras = placed(job);
  return job;
}

// The waiting job takes over the submission's content, and starts when it would have started had
// the submission been the first.
void Decider::debounce(const JobSpec& spec, const JobSlot& slot) {
  Debounced event;
  event.job = to_ref(slot);
  event.payload = spec.payload;
  const Time wanted = spec.run_at ? *spec.run_at : add_saturating(now_, spec.delay);
  event.run_at = wanted;
  for (const auto& max_wait : {slot.unique()->max_wait, spec.extras->unique->max_wait}) {
    if (!max_wait) continue;
    event.run_at = std::min(event.run_at, add_saturating(slot.created_at, *max_wait));
  }
  event.state = slot.state;
  if (slot.state == State::kRetrying) {
    // The job's backoff is never shortened.
    if (!mutated(Mutant::kDebounceShortensBackoff)) {
      event.run_at = std::max(event.run_at, slot.run_at);
    }
  } else if (slot.state != State::kBlocked) {
    event.state = event.run_at > now_ ? State::kScheduled : State::kReady;
  }
  // A ready job keeps its position among the ready ones.
  if (slot.state == State::kReady && event.state == State::kReady) event.run_at = slot.run_at;
  emit(std::move(event));
}

EnqueueReply::Item Decider::submit(const JobSpec& spec, const Enqueue* command, bool judged) {
  const auto own = command == nullptr ? std::nullopt : own_key(*command);
  const SubmissionKey* const key = own ? &*own : spec.key.get();
  PendingEffects pending;
  pending.judged = judged;
  const Verdict verdict = judge(spec, key, pending);
  EnqueueReply::Item item;
  item.fate = verdict.fate;
  item.refusal = verdict.refusal;
  item.id = verdict.id;
  item.state = verdict.state;
  item.deleted = verdict.deleted;
  item.by_key = verdict.by_key;
  if (verdict.fate == Fate::kCreated) {
    if (verdict.replaces) {
      const JobSlot& replaced = state_.slots.at(state_.find(*verdict.replaces));
      emit(Cancelled{to_ref(replaced), SharedBytes("replaced by a job with the same unique key"),
                     keep(replaced, State::kCancelled)});
    }
    Submitted submitted{new_job(spec, queue_for(spec.queue)), std::nullopt};
    if (key != nullptr) {
      submitted.key = IdempotencyKey{key->key, key->body, add_saturating(now_, key->window)};
    }
    item.state = submitted.job.state;
    emit(std::move(submitted));
  }
  if (verdict.debounces) {
    const JobSlot& slot = state_.slots.at(state_.find(verdict.id));
    debounce(spec, slot);
    item.state = slot.state;
  }
  if (command != nullptr && command->detail == Detail::kJobs && verdict.fate != Fate::kRefused) {
    item.job = standing(item.id);
  }
  return item;
}

Reply Decider::operator()(const Enqueue& command) {
  EnqueueReply reply;
  reply.items.reserve(command.jobs.size());
  MILLRACE_CHECK(!command.key || command.jobs.size() == 1);
  for (const JobSpec& spec : command.jobs) state_.by_id.prefetch(spec.id);
  if (command.atomicity == Atomicity::kAll && !mutated(Mutant::kPartialAtomicEnqueue)) {
    const std::optional<SubmissionKey> own = own_key(command);
    PendingEffects pending;
    for (const JobSpec& spec : command.jobs) {
      const Verdict verdict = judge(spec, own ? &*own : spec.key.get(), pending);
      add_pending(spec, verdict, pending);
      reply.items.push_back({verdict.fate, verdict.refusal, verdict.id, verdict.state, nullptr});
      if (verdict.fate == Fate::kRefused) reply.refused_as_one = true;
    }
    if (reply.refused_as_one) return reply;
    reply.items.clear();
  }
  for (const JobSpec& spec : command.jobs) {
    reply.items.push_back(submit(spec, &command, command.atomicity == Atomicity::kAll));
    MILLRACE_CHECK(command.atomicity == Atomicity::kEach ||
                   reply.items.back().fate != Fate::kRefused ||
                   mutated(Mutant::kPartialAtomicEnqueue));
  }
  return reply;
}

}  // namespace millrace::core
