#include "engine/shard/shard.h"

#include <algorithm>
#include <utility>

#include "base/check.h"
#include "base/mutant.h"
#include "core/audit/audit_scribe.h"
#include "core/bounds.h"
#include "engine/shard/outbox.h"
#include "engine/shard/recovery.h"
#include "engine/shard/shard_impl.h"

namespace millrace::engine {
namespace {

void keep_earliest(std::optional<Time>& earliest, std::optional<Time> other) {
  if (other && (!earliest || *other < *earliest)) earliest = other;
}

Epoch epoch_after(Epoch last, Time now) {
  const auto seconds = std::max<std::int64_t>(0, to_ms(now) / 1000);
  return Epoch{std::max(to_number(last) + 1, static_cast<std::uint64_t>(seconds))};
}

}  // namespace

Shard::Impl::Impl(ShardOptions options, store::Tables& tables, Recovered recovered, Epoch epoch,
                  Time now, DurableObserver& observer)
    : options_(options),
      tables_(tables),
      observer_(observer),
      epoch_(epoch),
      machine_(std::move(recovered.machine)),
      pipeline_(options_.shard, epoch, recovered.head, recovered.head_checksum),
      projector_(options_.flush_after, options_.flush_rows, recovered.projected, recovered.base,
                 std::move(recovered.outstanding)),
      workers_(options_.max_worker_bytes),
      retention_(options_.machine.default_retention),
      schedules_(options_, *machine_),
      operations_(options_, *machine_, recovered.head),
      now_(now),
      workers_swept_at_(now) {}

void Shard::Impl::begin_term(Duration grace) {
  if (pipeline_.head() != projector_.projected().seq) projector_.row_decided(now_);
  const core::Reply queues = [&] {
    std::vector<core::Event> none;
    return machine_->decide(core::GetQueues{}, now_, Prefetch{}, core::Admission::kOpen, none);
  }();
  store::WorkflowQuery any;
  any.limit = 1;
  const Result<store::WorkflowPage> stored = tables_.list_workflows(any);
  const bool has_workflows = !stored || !stored->workflows.empty() || stored->next_after ||
                             machine_->workflows().size() > 0;
  for (const core::Queue& queue : std::get<core::QueueReply>(queues).queues) {
    retention_.restart(queue, has_workflows);
  }
  machine_->start_epoch(epoch_, now_, events_);
  // Even without live leases: a row of the former leader that is still on its way may add some.
  grace_ = {next(pipeline_.head()), now_ - grace};
  if (grace > core::kStallGrace) machine_->extend_leases(grace, now_, events_);
  machine_->end_step();
  seal();
}

void Shard::Impl::offer(Task task) {
  if (ended_) {
    answers_.send(task.reply_to, told_since_end_);
    return;
  }
  if (is_too_new(task)) {
    put_off(task);
    answers_.send(task.reply_to, Unavailable::kUpgrading);
    return;
  }
  for (core::Command& command : task.commands) {
    auto* const ack = std::get_if<core::Ack>(&command);
    if (ack != nullptr) put_in_outbox(*ack, options_.shard, options_.shards);
  }
  waiting_tasks_.push_back(std::move(task));
}

// Checked before any part goes into the outbox, where its level is no longer visible.
bool Shard::Impl::is_too_new(const Task& task) const {
  const StoreFormat* const store = options_.store_format.get();
  return store != nullptr && format_of(task) > store->level() && !mutated(Mutant::kFormatGateOpen);
}

void Shard::Impl::cancel(const ReplyAddress& reply_to) {
  if (waiters_.cancel(reply_to) || watchers_.cancel(reply_to) || holders_.cancel(reply_to)) return;
  for (auto* waits : {&projection_waits_, &event_waits_, &question_waits_, &operation_waits_}) {
    if (const auto number = waits->number_of(reply_to)) {
      waits->take(*number);
      return;
    }
  }
  const auto found = std::ranges::find_if(
      waiting_tasks_, [&](const Task& task) { return task.reply_to == reply_to; });
  if (found == waiting_tasks_.end()) return;
  // A command that was sent is executed; parts that only its caller would use are not.
  if (found->kind == Task::Kind::kPoll && found->claims) {
    found->commands.pop_back();
    found->claims = false;
  } else if (found->kind == Task::Kind::kClaim || found->kind == Task::Kind::kOther) {
    waiting_tasks_.erase(found);
  }
}

void Shard::Impl::move_clock(Time now) {
  now = std::max(now, now_);
  // A long overdue timer shows that the process was stopped, at some time since the last call.
  const std::optional<Time> due = machine_->next_timer();
  if (due && !tick_behind_ && now - *due > core::kStallGrace) stalled_since(now_);
  now_ = now;
}

bool Shard::Impl::may_decide() const {
  if (!pipeline_.can_seal()) return false;
  if (!pipeline_.in_flight()) return true;
  // Leases that end while the journal stalls must wait for the extension that follows.
  return waiting_tasks_.size() >= kDecideAheadAt && !pipeline_.failing_since() &&
         now_ - pipeline_.in_flight_since() <= core::kStallGrace;
}

std::optional<Time> Shard::Impl::refuses_all_at() const {
  if (!pipeline_.in_flight()) return std::nullopt;
  const Time stalled = pipeline_.in_flight_since() + kRefuseAfterStalling;
  if (!pipeline_.failing_since()) return stalled;
  return std::min(stalled, *pipeline_.failing_since() + kRefuseAfterFailing);
}

std::optional<Time> Shard::Impl::gives_up_at() const {
  if (!pipeline_.in_flight() || gave_up_) return std::nullopt;
  const Time stalled = pipeline_.in_flight_since() + kGiveUpAfterStalling;
  if (!pipeline_.failing_since()) return stalled;
  return std::min(stalled, *pipeline_.failing_since() + kGiveUpAfterFailing);
}

bool Shard::Impl::refuses_all() const {
  const std::optional<Time> at = refuses_all_at();
  return at && now_ >= *at;
}

void Shard::Impl::refuse_waiting_tasks(Unavailable why) {
  for (Task& task : waiting_tasks_) {
    put_off(task);
    if (refuse_once(task)) answers_.send(task.reply_to, told_of(task, why));
  }
  waiting_tasks_.clear();
}

void Shard::Impl::refuse_all(Unavailable why) {
  refuse_waiting_tasks(why);
  refuse_expired_waits(now_, why);
}

void Shard::Impl::refuse_waits(Unavailable why) { refuse_expired_waits(Time::max(), why); }

void Shard::Impl::refuse_expired_waits(Time at, Unavailable why) {
  for (const WaitNumber number : waiters_.expired(at)) {
    const Waiters::Entry entry = waiters_.take(number);
    answers_.send(entry.reply_to, told_of(entry.item, why));
  }
  for (Watchers* watchers : {&watchers_, &holders_}) {
    for (const WaitNumber number : watchers->expired(at)) {
      answers_.send(watchers->take(number).reply_to, why);
    }
  }
  for (auto* waits : {&projection_waits_, &event_waits_, &question_waits_, &operation_waits_}) {
    for (const WaitNumber number : waits->expired(at)) {
      answers_.send(waits->take(number).reply_to, why);
    }
  }
}

std::optional<Time> Shard::Impl::next_deadline() const {
  std::optional<Time> earliest = waiters_.next_deadline();
  keep_earliest(earliest, watchers_.next_deadline());
  keep_earliest(earliest, holders_.next_deadline());
  keep_earliest(earliest, projection_waits_.next_deadline());
  keep_earliest(earliest, event_waits_.next_deadline());
  keep_earliest(earliest, question_waits_.next_deadline());
  keep_earliest(earliest, operation_waits_.next_deadline());
  return earliest;
}

bool Shard::Impl::step(Time now) {
  move_clock(now);
  if (ended_) return false;
  if (refuses_all()) {
    refuse_all(Unavailable::kStorage);
    if (const auto at = gives_up_at(); at && now_ >= *at) {
      answers_.give_up_held(Unavailable::kUnknown);
      gave_up_ = true;
    }
    return false;
  }
  if (!may_decide()) return false;
  decide_step();
  return true;
}

void Shard::Impl::append_done(const store::AppendResult& result, Time now) {
  move_clock(now);
  switch (result.outcome) {
    case store::AppendOutcome::kDurable:
      release_durable();
      return;
    case store::AppendOutcome::kUnknown:
    case store::AppendOutcome::kFailed:
      pipeline_.retry(now_);
      return;
    case store::AppendOutcome::kFenced:
      depose("another node leads this shard and writes its journal: " + result.message);
      return;
    case store::AppendOutcome::kBroken:
      end("the shard can't trust its journal any more, and stops: " + result.message,
          Unavailable::kStorage, Unavailable::kStorage);
      return;
  }
}

void Shard::Impl::release_durable() {
  const Pipeline::Durable durable = pipeline_.settle(now_);
  if (grace_ && grace_->row <= durable.seq) grace_.reset();
  if (durable.took > core::kStallGrace) stalled_since(now_ - durable.took);
  observer_.share(durable.seq, durable.batch);
  schedules_.count(*durable.batch);
  answers_.release(durable.seq);
  gave_up_ = false;
  wake_event_waits();
}

// No caller could be answered since then.
void Shard::Impl::stalled_since(Time since) { keep_earliest(stalled_since_, since); }

std::optional<Time> Shard::Impl::owed_since() const {
  std::optional<Time> since = stalled_since_;
  keep_earliest(since, refusing_since_);
  if (grace_) keep_earliest(since, grace_->since);
  if (pipeline_.in_flight()) keep_earliest(since, pipeline_.in_flight_since());
  return since;
}

void Shard::Impl::end(std::string why, Unavailable decided, Unavailable waiting) {
  if (ended_) return;
  ended_ = std::move(why);
  told_since_end_ = waiting;
  answers_.replace_held(decided);
  refuse_waiting_tasks(waiting);
  refuse_waits(waiting);
}

void Shard::Impl::depose(std::string why) {
  end(std::move(why), Unavailable::kUnknown, Unavailable::kNoLeader);
}

void Shard::Impl::set_memory_room(MemoryRoom room) {
  if (room == memory_room_) return;
  if (memory_room_ == MemoryRoom::kWide) {
    machine_->set_keep_bytes(0);
    machine_->restart_letting_go();
    letting_go_ = true;
  } else if (room == MemoryRoom::kWide) {
    machine_->set_keep_bytes(options_.machine.keep_bytes);
  }
  memory_room_ = room;
}

bool Shard::Impl::flush_due(Time now) {
  move_clock(now);
  if (ended_) return false;
  if (draining_) projector_.force();
  return projector_.is_due(now_, pipeline_.head(), machine_->rows_to_flush());
}

std::optional<Flush> Shard::Impl::next_flush(Time now) {
  if (!flush_due(now)) return std::nullopt;
  if (!projector_.outstanding()) {
    projector_.take(machine_->take_changes(), pipeline_.head(), pipeline_.head_checksum());
  }
  return projector_.hand_out(pipeline_.durable(), now_);
}

void Shard::Impl::flush_done(const Status& status, Time now) {
  move_clock(now);
  if (projector_.done(status, now_)) {
    machine_->changes_stored();
  }
  if (!ended_) wake_projection_waits();
}

std::optional<Time> Shard::Impl::next_wakeup(bool may_flush) const {
  if (ended_) return std::nullopt;
  std::optional<Time> earliest;
  if (may_flush) {
    earliest = projector_.next_time(now_, pipeline_.head(), pipeline_.durable(),
                                    machine_->rows_to_flush());
  }
  if (!may_decide()) {
    // append_done() comes first, unless it takes too long for the callers.
    if (!refuses_all()) {
      keep_earliest(earliest, refuses_all_at());
    } else {
      if (!waiting_tasks_.empty()) keep_earliest(earliest, now_);
      keep_earliest(earliest, next_deadline());
      keep_earliest(earliest, gives_up_at());
    }
    return earliest;
  }
  if (!waiting_tasks_.empty() || letting_go_) return now_;
  if (!hard_overloaded()) {
    if (!woken_.empty()) return now_;
    keep_earliest(earliest, machine_->next_timer());
    if (!hinted_.empty()) keep_earliest(earliest, hinted_.front().again_at);
    keep_earliest(earliest, next_sweep());
    keep_earliest(earliest, schedules_.next_wakeup(now_));
    if (machine_->has_pending_workflows() && may_wait()) {
      const bool at_once = workflows_behind_ || admission() == core::Admission::kOpen;
      keep_earliest(earliest, at_once ? now_ : workflows_advanced_at_ + kWorkflowsPause);
    }
    if (!question_waits_.empty()) keep_earliest(earliest, machine_->next_share_message());
    if (!operation_waits_.empty()) {
      keep_earliest(earliest, operations_.next_work_at(now_, projector_.projected().seq));
    }
  }
  keep_earliest(earliest, next_deadline());
  return earliest;
}

void Shard::Impl::drain() {
  draining_ = true;
  end_all_waits();
}

void Shard::Impl::resign() {
  resigning_ = true;
  end_all_waits();
}

void Shard::Impl::end_all_waits() {
  for (const auto number : waiters_.all()) {
    Waiters::Entry entry = waiters_.take(number);
    if (entry.item.wants == Waiter::Wants::kJobs) {
      end_wait(std::move(entry), {});
    } else {
      answer(entry.reply_to, no_hints_here());
    }
  }
  for (Watchers* watchers : {&watchers_, &holders_}) {
    for (const auto number : watchers->all()) {
      const Watchers::Entry entry = watchers->take(number);
      answer(entry.reply_to, core::Reply(job_reply(entry.item)));
    }
  }
  for (const auto number : event_waits_.all()) {
    answer(event_waits_.take(number).reply_to, no_hints_here());
  }
  for (const auto number : question_waits_.all()) {
    answer(question_waits_.take(number).reply_to, no_hints_here());
  }
  for (const auto number : operation_waits_.all()) {
    answer(operation_waits_.take(number).reply_to, no_hints_here());
  }
  dispatch();
}

bool Shard::Impl::quiet() const {
  return waiting_tasks_.empty() && pipeline_.empty() && answers_.empty();
}

bool Shard::Impl::idle() const {
  return waiting_tasks_.empty() && pipeline_.empty() &&
         projector_.projected().seq == pipeline_.head();
}

Shard::Figures Shard::Impl::figures() const {
  return {.counts = machine_->counts(),
          .jobs_in_memory = machine_->jobs_in_memory(),
          .live_leases = machine_->live_leases(),
          .waiting_claims = waiters_.size() - waiters_.of_worker(kOutboxQueue).size(),
          .keys = machine_->keys_held(),
          .schedules = machine_->schedules(),
          .broken_schedules = machine_->broken_schedules(),
          .schedule_due = machine_->next_schedule(core::kAtOnce),
          .schedule_runs = schedules_.runs(),
          .operations = operations_.counts(),
          .operation_jobs_changed = operations_.changed(),
          .operation_jobs_failed = operations_.failed(),
          .workflows = machine_->workflows().totals(),
          .audited = machine_->audited(),
          .unprojected = machine_->unprojected(),
          .payload_bytes = machine_->bytes_held(),
          .applied = pipeline_.head(),
          .durable = pipeline_.durable(),
          .projected = projector_.projected().seq,
          .behind_since = projector_.behind_since(),
          .epoch = epoch_,
          .owed_since = owed_since()};
}

// --- The public interface.

Shard::Shard(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
Shard::~Shard() = default;

Result<std::unique_ptr<Shard>> Shard::recover(ShardOptions options, store::Store& store, Time now,
                                              std::optional<Time> alive_until,
                                              DurableObserver& observer) {
  Result<Recovered> recovered = recover_state(options.shard, options.machine, store);
  if (!recovered) return std::unexpected(recovered.error());
  const bool first = recovered->head == Seq{};
  now = std::max(now, recovered->machine->facts().at);
  const Time last = first ? now : recovered->machine->facts().at;
  // May be earlier than the last row, which was decided while nothing could be committed.
  const Duration silent_for = now - std::min(alive_until.value_or(last), now);
  return lead(options, *store.tables, std::move(*recovered), Epoch{}, now, silent_for, observer);
}

std::unique_ptr<Shard> Shard::lead(ShardOptions options, store::Tables& tables, Recovered recovered,
                                   Epoch at_least, Time now, Duration silent_for,
                                   DurableObserver& observer) {
  // The shard's clock never goes back, whatever the wall clock says.
  now = std::max(now, recovered.machine->facts().at);
  if (mutated(Mutant::kLeasesExpiredAtRestart)) silent_for = Duration{0};
  const Epoch epoch = std::max(epoch_after(recovered.last_epoch, now), at_least);
  auto impl = std::make_unique<Impl>(options, tables, std::move(recovered), epoch, now, observer);
  impl->begin_term(silent_for);
  return std::unique_ptr<Shard>(new Shard(std::move(impl)));
}

void Shard::offer(Request request, ReplyPort& port, Ticket ticket) {
  impl_->offer(make_task(std::move(request), {&port, ticket}));
}
void Shard::offer(core::Command command, FromInbox from, ReplyPort& port, Ticket ticket) {
  Task task = make_task(std::move(command), {&port, ticket});
  task.from_inbox = from;
  impl_->offer(std::move(task));
}
void Shard::cancel(ReplyPort& port, Ticket ticket) { impl_->cancel({&port, ticket}); }
bool Shard::step(Time now) { return impl_->step(now); }
void Shard::stood_still() { impl_->stood_still(); }
const store::JournalRow* Shard::next_append() { return impl_->next_append(); }
void Shard::append_done(const store::AppendResult& result, Time now) {
  impl_->append_done(result, now);
}
bool Shard::flush_due(Time now) { return impl_->flush_due(now); }
std::optional<Flush> Shard::next_flush(Time now) { return impl_->next_flush(now); }
void Shard::flush_done(const Status& status, Time now) { impl_->flush_done(status, now); }
std::vector<Outgoing> Shard::take_answers() { return impl_->take_answers(); }
std::optional<Time> Shard::next_wakeup(bool may_flush) const {
  return impl_->next_wakeup(may_flush);
}
void Shard::drain() { impl_->drain(); }
void Shard::resign() { impl_->resign(); }
bool Shard::quiet() const { return impl_->quiet(); }
void Shard::depose(std::string why) { impl_->depose(std::move(why)); }
void Shard::turn_away(Unavailable why) { impl_->refuse_all(why); }
void Shard::refuse_waits(Unavailable why) { impl_->refuse_waits(why); }
bool Shard::idle() const { return impl_->idle(); }
void Shard::set_memory_room(MemoryRoom room) { impl_->set_memory_room(room); }
void Shard::request_flush() { impl_->request_flush(); }
const std::optional<std::string>& Shard::ended() const { return impl_->ended(); }
bool Shard::broken() const { return impl_->broken(); }
Shard::Figures Shard::figures() const { return impl_->figures(); }
const core::Machine& Shard::machine() const { return impl_->machine(); }

}  // namespace millrace::engine
