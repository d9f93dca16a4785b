// The reports of a lease's holder: progress, logs, the outcome. Only the live token changes
// anything.

#include <algorithm>

#include "base/check.h"
#include "base/mutant.h"
#include "base/utf8.h"
#include "core/decider.h"
#include "core/jobs/error_fingerprint.h"
#include "core/jobs/retry.h"

namespace millrace::core {
namespace {

AttemptOutcome to_attempt_outcome(AckOutcome outcome) {
  switch (outcome) {
    case AckOutcome::kSucceeded:
      return AttemptOutcome::kSucceeded;
    case AckOutcome::kFailed:
      return AttemptOutcome::kFailed;
    case AckOutcome::kSnoozed:
      return AttemptOutcome::kSnoozed;
    case AckOutcome::kReleased:
      return AttemptOutcome::kReleased;
    case AckOutcome::kCancelled:
      return AttemptOutcome::kCancelled;
    case AckOutcome::kDead:
      break;
  }
  return AttemptOutcome::kDead;
}

SharedBytes cut(const SharedBytes& text, std::size_t bytes) {
  return text.size() <= bytes ? text : SharedBytes(cut_utf8(text.view(), bytes));
}

// A report without a checkpoint keeps the present one: the next attempt needs it.
std::shared_ptr<const Progress> with_checkpoint(const std::shared_ptr<const Progress>& report,
                                                const std::shared_ptr<const Progress>& before) {
  if (report == nullptr || before == nullptr || before->checkpoint.empty()) return report;
  if (!report->checkpoint.empty()) return report;
  Progress whole = *report;
  whole.checkpoint = before->checkpoint;
  return std::make_shared<const Progress>(std::move(whole));
}

}  // namespace

Keep Decider::keep(const JobSlot& slot, State state) const {
  if (!is_terminal(state)) return Keep::kRetained;
  if (slot.extras != nullptr && slot.extras->member != nullptr && slot.extras->member->kept) {
    return Keep::kRetained;
  }
  const auto& retention = slot.lane->queue->settings.retention.of(state);
  return retention && retention->count() == 0 ? Keep::kForgotten : Keep::kRetained;
}

AttemptEnded Decider::attempt_ended(const JobSlot& slot, AttemptOutcome outcome) const {
  AttemptEnded event;
  event.job = to_ref(slot);
  event.token = slot.activity->token;
  event.worker = slot.activity->latest.worker;
  event.outcome = outcome;
  event.ran = std::max(Duration{0}, now_ - slot.activity->latest.started_at);
  return event;
}

std::shared_ptr<const JobError> Decider::complete_error(const JobError& error,
                                                        const JobSlot& slot) const {
  JobError complete = error;
  complete.message = cut(error.message, kMaxErrorMessageBytes);
  complete.stack = cut(error.stack, kMaxErrorStackBytes);
  complete.fingerprint = error_fingerprint(complete.type.view(), complete.message.view());
  complete.attempt = slot.attempt;
  complete.at = now_;
  return std::make_shared<const JobError>(std::move(complete));
}

void Decider::settle_failure(AttemptEnded& event, const JobSlot& slot, bool retryable,
                             const std::optional<Duration>& delay) const {
  if (slot.cancel_requested) {
    event.state = State::kCancelled;
  } else if (!retryable || slot.attempt >= slot.max_attempts) {
    event.state = State::kDead;
  } else {
    event.state = State::kRetrying;
    event.run_at = add_saturating(
        now_, delay ? *delay : retry_delay(*slot.retry, slot.id, slot.generation, slot.attempt));
  }
}

AttemptEnded Decider::ended(const AckItem& item, const JobSlot& slot) const {
  AttemptEnded event = attempt_ended(slot, to_attempt_outcome(item.outcome));
  if (item.error != nullptr) event.error = complete_error(*item.error, slot);
  switch (item.outcome) {
    case AckOutcome::kSucceeded:
      event.state = State::kSucceeded;
      event.result = item.result;
      event.error = nullptr;
      break;
    case AckOutcome::kFailed:
      settle_failure(event, slot, item.retryable, item.delay);
      break;
    case AckOutcome::kSnoozed:
      event.counted = false;
      event.state = slot.cancel_requested ? State::kCancelled : State::kScheduled;
      if (!slot.cancel_requested)
        event.run_at = add_saturating(now_, item.delay.value_or(Duration{0}));
      break;
    case AckOutcome::kReleased:
      event.counted = false;
      event.state = slot.cancel_requested ? State::kCancelled : State::kReady;
      break;
    case AckOutcome::kCancelled:
      event.state = State::kCancelled;
      break;
    case AckOutcome::kDead:
      event.state = State::kDead;
      break;
  }
  give_way(event, slot);
  event.keep = keep(slot, event.state);
  return event;
}

// A job whose successor waits under its unique key does not wait again itself.
void Decider::give_way(AttemptEnded& event, const JobSlot& slot) {
  if (is_terminal(event.state) || !slot.unique() || !slot.unique()->superseded) return;
  event.state = State::kCancelled;
  event.run_at.reset();
}

void Decider::emit_ended(AttemptEnded event, const JobSlot& slot) {
  const auto good = slot.lane->gated ? counts_as_good(event.outcome) : std::nullopt;
  std::vector<BreakerTurned> turns;
  if (good) {
    const Time started_at = slot.activity->latest.started_at;
    turns = state_.gates.turns_after(*slot.lane, *good, started_at, now_);
  }
  emit(std::move(event));
  for (BreakerTurned& turned : turns) emit(std::move(turned));
}

namespace {

const JobLimit* named_limit(const JobSlot& slot, const SharedBytes& name) {
  if (slot.extras == nullptr) return nullptr;
  const auto found = std::ranges::find(slot.extras->limits, name, &JobLimit::name);
  return found == slot.extras->limits.end() ? nullptr : &*found;
}

}  // namespace

Refusal Decider::judge_slow_down(const std::vector<SlowDown>& wishes, const JobSlot& slot) {
  for (const SlowDown& wish : wishes) {
    const JobLimit* const limit = named_limit(slot, wish.limit);
    if (limit != nullptr && (wish.key.empty() || wish.key == limit->key)) continue;
    return {Rejection::kUnfitLimit, {}, RefusalDetail::kSlowsLimitOfOthers};
  }
  return {};
}

// A request never shortens an earlier one.
void Decider::slow_down(const std::vector<SlowDown>& wishes, const JobSlot& slot) {
  for (const SlowDown& wish : wishes) {
    const LimitEntry* const entry = state_.gates.find(LimitKind::kNamed, wish.limit.view());
    // A deleted limit holds nothing back.
    if (entry == nullptr ||
        entry->limit.incarnation != named_limit(slot, wish.limit)->incarnation) {
      continue;
    }
    const Time until = add_saturating(now_, wish.length);
    const Gate* const gate = entry->find(wish.key.view());
    if (gate != nullptr && gate->is_slowed(until - Duration{1})) continue;
    emit(SlowedDown{LimitKind::kNamed, wish.limit, wish.key, until});
  }
}

void Decider::append_logs(const JobSlot& slot, const std::vector<const LogEntry*>& entries) {
  if (entries.empty()) return;
  const Activity& activity = *slot.activity;
  Logged logged;
  logged.id = slot.id;
  std::uint32_t seq = activity.log_lines;
  const LogSizes nothing;
  const LogSizes& before = activity.log_sizes == nullptr ? nothing : *activity.log_sizes;
  std::uint64_t bytes = before.bytes;
  for (const LogEntry* entry : entries) {
    LogLine line;
    line.seq = ++seq;
    line.n = activity.latest.n;
    line.attempt = slot.attempt;
    line.at = entry->at.value_or(now_);
    line.level = entry->level;
    line.message = cut(entry->message, kMaxLogLineBytes);
    bytes += line.message.size();
    logged.lines.push_back(std::move(line));
  }
  // If the attempt has logged more than its share, its oldest lines are dropped.
  for (const auto& [old_seq, size] : before.lines) {
    if (bytes <= kMaxLogBytesPerAttempt) break;
    bytes -= size;
    logged.drop_below = old_seq + 1;
  }
  for (const LogLine& line : logged.lines) {
    if (bytes <= kMaxLogBytesPerAttempt) break;
    bytes -= line.message.size();
    logged.drop_below = line.seq + 1;
  }
  emit(std::move(logged));
}

// A repeated ack of the same lease gets the same answer as the first one.
ItemReply Decider::repeated_ack(const AckItem& item, Detail detail) const {
  const EndedLease* lease = item.token == kNoToken ? nullptr : state_.ended_leases.find(item.token);
  if (lease == nullptr || lease->job != item.id ||
      lease->outcome != to_attempt_outcome(item.outcome)) {
    return refused(item.id, Rejection::kLeaseLost);
  }
  ItemReply reply;
  reply.id = item.id;
  reply.state = lease->state;
  if (detail == Detail::kJobs) reply.job = standing(item.id);
  reply.deleted = is_deleted(item.id);
  return reply;
}

// Either all jobs in an ack are accepted, or the ack is refused. They are submitted after the acked
// job has ended.
Refusal Decider::judge_nested(const AckItem& item, const JobSlot& slot,
                              const AttemptEnded& event) const {
  if (item.enqueue.empty()) return {};
  PendingEffects pending;
  if (event.state == State::kReady) {
    const std::string_view queue = slot.lane->queue->name.view();
    pending.ready[std::string(queue)] = 1;
    const std::string_view key = slot.extras == nullptr ? "" : slot.extras->fair_key.view();
    pending.ready[unique_name(queue, key)] = 1;
  }
  if (is_terminal(event.state)) {
    const auto& unique = slot.unique();
    const bool held =
        unique && unique->hold_for && add_saturating(slot.created_at, *unique->hold_for) > now_;
    pending.ended = {slot.id, !held};
    if (event.keep == Keep::kForgotten) pending.forgotten.insert(slot.id);
  }
  for (const JobSpec& spec : item.enqueue) {
    const Verdict verdict = judge(spec, spec.key.get(), pending);
    if (verdict.fate == Fate::kRefused) return verdict.refusal;
    add_pending(spec, verdict, pending);
  }
  return {};
}

ItemReply Decider::ack(const AckItem& item, Detail detail) {
  const SlotIndex index = state_.find_leased(item.id, item.token);
  if (mutated(Mutant::kLateAckOverwrites) && index == kNoSlot) {
    const SlotIndex ended = state_.find(item.id);
    if (ended != kNoSlot && is_terminal(state_.slots.at(ended).state)) {
      AckItem late = item;
      late.token = state_.slots.at(ended).activity->token;
      emit(AttemptEnded{to_ref(state_.slots.at(ended)),
                        late.token,
                        {},
                        {},
                        State::kDead,
                        {},
                        true,
                        false,
                        Keep::kRetained,
                        {},
                        {},
                        nullptr});
    }
  }
  if (index == kNoSlot) return repeated_ack(item, detail);
  const JobSlot& slot = state_.slots.at(index);
  AttemptEnded event = ended(item, slot);
  Refusal refusal = judge_slow_down(item.slow_down, slot);
  if (!refusal) refusal = judge_nested(item, slot, event);
  if (refusal) {
    ItemReply reply;
    reply.id = item.id;
    reply.refusal = refusal;
    return reply;
  }
  slow_down(item.slow_down, slot);
  std::vector<const LogEntry*> entries;
  entries.reserve(item.logs.size());
  for (const LogEntry& entry : item.logs) entries.push_back(&entry);
  append_logs(slot, entries);
  ItemReply reply;
  reply.id = item.id;
  reply.state = event.state;
  reply.version = slot.version + 1;
  emit_ended(std::move(event), slot);
  for (const JobSpec& spec : item.enqueue) {
    const auto nested = submit(spec, nullptr, true);
    MILLRACE_CHECK(nested.fate != Fate::kRefused);
  }
  if (detail == Detail::kJobs) reply.job = view(item.id);
  return reply;
}

Reply Decider::operator()(const Ack& command) {
  ItemsReply reply;
  reply.items.reserve(command.items.size());
  state_.prefetch(command.items, [](const AckItem& item) { return item.id; });
  for (const AckItem& item : command.items) {
    switch (command.right) {
      case AckRight::kLease:
        reply.items.push_back(ack(item, command.detail));
        break;
      case AckRight::kFence:
        reply.items.push_back(finish(item, command.detail));
        break;
      case AckRight::kFenceRaised:
        reply.items.push_back(confirm_fence(item));
    }
  }
  return reply;
}

Reply Decider::operator()(const Heartbeat& command) {
  Extended extended;
  ItemsReply reply;
  reply.items.reserve(command.items.size());
  // The effect of an earlier item of this command.
  struct Earlier {
    Time expires_at;
    std::shared_ptr<const Progress> progress;
  };
  absl::flat_hash_map<JobId, Earlier> earlier;
  for (const HeartbeatItem& item : command.items) {
    const SlotIndex index = state_.find_leased(item.id, item.token);
    if (index == kNoSlot) {
      reply.items.push_back(refused(item.id, Rejection::kLeaseLost));
      continue;
    }
    const JobSlot& slot = state_.slots.at(index);
    if (const Refusal refusal = judge_slow_down(item.slow_down, slot)) {
      reply.items.push_back(refused(item.id, refusal.why, refusal.detail));
      continue;
    }
    slow_down(item.slow_down, slot);
    const Activity& activity = *slot.activity;
    Time expires_at = add_saturating(now_, item.extend.value_or(activity.lease_length));
    if (activity.deadline) expires_at = std::min(expires_at, *activity.deadline);
    auto& [latest, progress] =
        earlier.try_emplace(item.id, activity.lease_expires_at.value(), activity.progress)
            .first->second;
    latest = std::max(latest, expires_at);  // an extension never shortens
    const auto report = with_checkpoint(item.progress, progress);
    if (report != nullptr) progress = report;
    extended.items.push_back({item.id, latest, report});
    ItemReply answer;
    answer.id = item.id;
    answer.state = State::kRunning;
    answer.lease_expires_at = latest;
    answer.cancel_requested = slot.cancel_requested;
    answer.version = slot.version;
    reply.items.push_back(std::move(answer));
  }
  if (!extended.items.empty()) emit(std::move(extended));
  if (command.detail == Detail::kJobs) {
    for (ItemReply& item : reply.items) {
      if (!item.refusal) item.job = view(item.id);
    }
  }
  return reply;
}

Reply Decider::operator()(const AppendLogs& command) {
  ItemsReply reply;
  reply.items.reserve(command.items.size());
  std::size_t i = 0;
  while (i < command.items.size()) {
    // Consecutive lines of the same lease go into one event.
    const LogItem& first = command.items[i];
    std::size_t end = i;
    std::vector<const LogEntry*> entries;
    while (end < command.items.size() && command.items[end].id == first.id &&
           command.items[end].token == first.token) {
      entries.push_back(&command.items[end++].entry);
    }
    const SlotIndex index = state_.find_leased(first.id, first.token);
    if (index != kNoSlot) append_logs(state_.slots.at(index), entries);
    for (; i < end; ++i) {
      if (index == kNoSlot) {
        reply.items.push_back(refused(first.id, Rejection::kLeaseLost));
      } else {
        ItemReply answer;
        answer.id = first.id;
        answer.state = State::kRunning;
        reply.items.push_back(std::move(answer));
      }
    }
  }
  return reply;
}

}  // namespace millrace::core
