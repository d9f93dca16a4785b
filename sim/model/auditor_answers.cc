// The expected answer of each request.
#include <fmt/format.h>

#include <algorithm>

#include "base/check.h"
#include "engine/shard/inbox_order.h"
#include "sim/model/auditor.h"
#include "sim/model/difference.h"
#include "sim/violation.h"

namespace millrace::sim {

using core::Fate;
using core::Rejection;

namespace {

core::AttemptOutcome outcome_of(core::AckOutcome outcome) {
  switch (outcome) {
    case core::AckOutcome::kSucceeded:
      return core::AttemptOutcome::kSucceeded;
    case core::AckOutcome::kFailed:
      return core::AttemptOutcome::kFailed;
    case core::AckOutcome::kSnoozed:
      return core::AttemptOutcome::kSnoozed;
    case core::AckOutcome::kReleased:
      return core::AttemptOutcome::kReleased;
    case core::AckOutcome::kCancelled:
      return core::AttemptOutcome::kCancelled;
    case core::AckOutcome::kDead:
      break;
  }
  return core::AttemptOutcome::kDead;
}

}  // namespace

std::string rejection_name(Rejection why) {
  return fmt::format("rejection {}", static_cast<int>(why));
}

std::string difference(const core::Job& is, const core::Job& should_be) {
  if (is == should_be) return {};
  std::string text;
  const auto number = [&](const char* what, auto a, auto b) {
    if (a != b) text += fmt::format(" {} {} for {}", what, a, b);
  };
  const auto time = [&](const char* what, std::optional<Time> a, std::optional<Time> b) {
    number(what, a ? to_ms(*a) : 0, b ? to_ms(*b) : 0);
  };
  const auto bytes = [&](const char* what, const SharedBytes& a, const SharedBytes& b) {
    if (a != b) text += fmt::format(" {} '{}' for '{}'", what, a.view(), b.view());
  };
  number("state", name_of(is.state), name_of(should_be.state));
  number("version", is.version, should_be.version);
  number("ord", is.ord, should_be.ord);
  bytes("queue", is.queue, should_be.queue);
  bytes("type", is.type, should_be.type);
  bytes("payload", is.payload, should_be.payload);
  bytes("result", is.result, should_be.result);
  number("priority", is.priority, should_be.priority);
  number("attempt", is.attempt, should_be.attempt);
  number("max_attempts", is.max_attempts, should_be.max_attempts);
  number("crashes", is.crashes, should_be.crashes);
  number("generation", is.generation, should_be.generation);
  number("token", to_number(is.token), to_number(should_be.token));
  time("created_at", is.created_at, should_be.created_at);
  time("run_at", is.run_at, should_be.run_at);
  time("expires_at", is.expires_at, should_be.expires_at);
  time("finished_at", is.finished_at, should_be.finished_at);
  time("lease_expires_at", is.lease_expires_at, should_be.lease_expires_at);
  time("deadline", is.deadline, should_be.deadline);
  number("lease_length", is.lease_length.count(), should_be.lease_length.count());
  number("lease", is.lease.count(), should_be.lease.count());
  number("log_lines", is.log_lines, should_be.log_lines);
  number("cancel_requested", is.cancel_requested, should_be.cancel_requested);
  bytes("cancel_reason", is.cancel_reason, should_be.cancel_reason);
  number("starts", is.latest.n, should_be.latest.n);
  number("outcome", name_of(is.latest.outcome), name_of(should_be.latest.outcome));
  time("attempt's end", is.latest.finished_at, should_be.latest.finished_at);
  return text.empty() ? " some member that is rarely used" : text;
}

// --- Finding the answer.

const engine::Answer* Auditor::answer_of(Ticket ticket) {
  const auto found = answers_.find(ticket);
  if (found != answers_.end()) return &found->second;
  if (given_up_.contains(ticket)) {  // its caller was told that the outcome is unknown
    marks_.hit(Mark::kToldUnknown);
    return nullptr;
  }
  demand(!answers_known_, "LV1", "request {} was decided and never answered",
         static_cast<std::uint64_t>(ticket));
  return nullptr;
}

template <typename T>
const T* Auditor::reply_of(Ticket ticket, const char* what) {
  const engine::Answer* answer = answer_of(ticket);
  if (answer == nullptr) return nullptr;
  kept_ = *answer;
  answers_.erase(ticket);
  if constexpr (std::is_same_v<T, engine::PollReply>) {
    const T* reply = std::get_if<T>(&kept_);
    demand(reply != nullptr, "R4", "{} was answered with something else", what);
    return reply;
  } else {
    const auto* reply = std::get_if<core::Reply>(&kept_);
    demand(reply != nullptr && std::holds_alternative<T>(*reply), "R4",
           "{} was answered with something else", what);
    return &std::get<T>(*reply);
  }
}

template const core::JobReply* Auditor::reply_of<core::JobReply>(Ticket, const char*);
template const core::QueueReply* Auditor::reply_of<core::QueueReply>(Ticket, const char*);
template const core::ScheduleReply* Auditor::reply_of<core::ScheduleReply>(Ticket, const char*);
template const core::CatalogReply* Auditor::reply_of<core::CatalogReply>(Ticket, const char*);
template const core::OperationReply* Auditor::reply_of<core::OperationReply>(Ticket, const char*);
template const core::LimitReply* Auditor::reply_of<core::LimitReply>(Ticket, const char*);
template const core::WhyReply* Auditor::reply_of<core::WhyReply>(Ticket, const char*);

Auditor::Item Auditor::item_of(const JobId& id, Rejection why) const {
  Item item{id, why, {}, {}, {}, {}, {}};
  if (why != Rejection::kNone) return item;
  if (const core::Job* job = model_.find(id)) {
    item.state = job->state;
    item.version = job->version;
  }
  return item;
}

void Auditor::show_job(Item& item, core::Detail detail) const {
  if (detail == core::Detail::kIds || item.why != Rejection::kNone) return;
  if (const core::Job* job = model_.find(item.id)) item.job = *job;
}

void Auditor::check_items(const std::vector<Item>& expected, const core::ItemsReply& actual,
                          const char* what) const {
  demand(actual.items.size() == expected.size(), "R4", "{}: {} items for {}", what,
         actual.items.size(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    const Item& should = expected[i];
    const core::ItemReply& is = actual.items[i];
    // Near a limit, an observer can't tell which of two reasons is reported.
    const bool overloaded =
        limits_ == Limits::kTight && is.refusal && should.why != Rejection::kNone &&
        (is.refusal.why == Rejection::kOverloaded || should.why == Rejection::kOverloaded);
    demand(is.refusal.why == should.why || overloaded, "L3", "{} of {}: {}, should be {}", what,
           to_string(should.id), rejection_name(is.refusal.why), rejection_name(should.why));
    if (should.why != Rejection::kNone) continue;
    demand(!should.state || !is.state || *is.state == *should.state, "S2",
           "{} of {} says {}, it is {}", what, to_string(should.id),
           name_of(is.state.value_or(core::State::kBlocked)),
           name_of(should.state.value_or(core::State::kBlocked)));
    demand(!should.version || is.version == 0 || is.version == *should.version, "S2",
           "{} of {} says version {}, it is {}", what, to_string(should.id), is.version,
           should.version.value_or(0));
    demand(!should.lease_expires_at || is.lease_expires_at == should.lease_expires_at, "L4",
           "{} of {} says another end of the lease", what, to_string(should.id));
    if (should.job && is.job != nullptr) {
      const std::string wrong = difference(whole(is.job->job, *should.job), *should.job);
      demand(wrong.empty(), "H11", "{} shows {}:{}", what, to_string(should.id), wrong);
    }
    demand(!should.cancel_requested || is.cancel_requested == *should.cancel_requested, "X2",
           "{} of {} hides a cancellation", what, to_string(should.id));
  }
}

void Auditor::expect_items(Ticket ticket, const std::vector<Item>& items) {
  if (const auto* reply = reply_of<core::ItemsReply>(ticket, "a command")) {
    check_items(items, *reply, "a command");
  }
}

// --- Commands.

void Auditor::follow_command(Ticket ticket, const core::Command& command, const Choices& choices) {
  if (const auto* enqueue = std::get_if<core::Enqueue>(&command)) {
    return expect(ticket, *enqueue, choices);
  }
  if (const auto* claim = std::get_if<core::Claim>(&command)) {
    return follow_claim(ticket, *claim, Duration{}, Closing::kOpen, choices);
  }
  if (const auto* acks = std::get_if<core::Ack>(&command)) {
    return expect_items(ticket, acks->right == core::AckRight::kLease
                                    ? follow_acks(ticket, *acks, choices)
                                    : follow_finishes(*acks, choices));
  }
  if (const auto* beats = std::get_if<core::Heartbeat>(&command)) {
    return expect_items(ticket, follow_heartbeats(*beats));
  }
  if (const auto* logs = std::get_if<core::AppendLogs>(&command)) {
    return expect_items(ticket, follow_logs(*logs));
  }
  if (follow_schedule_command(ticket, command)) return;
  if (follow_catalog_command(ticket, command)) return;
  if (follow_operation_command(ticket, command, choices)) return;
  if (follow_limit_command(ticket, command)) return;
  if (follow_queue_command(ticket, command, choices)) return;
  if (const auto* get = std::get_if<core::GetJob>(&command)) return expect_job(ticket, get->id);
  expect_items(ticket, follow_operator(ticket, command, choices));
}

std::vector<Auditor::Item> Auditor::follow_retry(Ticket ticket, const core::Retry& retry,
                                                 const Choices& choices) {
  std::vector<Item> items;
  const core::ItemsReply* actual = items_in_answer(ticket);
  for (const JobId& id : retry.ids) {
    const bool always = limits_ == Limits::kWide && !place_.fences;
    const auto retried = choices.retried.find(id);
    // In a dead life, an unheard retry may have been refused; the first ones were accepted.
    bool admitted =
        always || (retried != choices.retried.end() && retries_followed_[id] < retried->second);
    if (actual != nullptr && items.size() < actual->items.size()) {
      const core::Refusal& refusal = actual->items[items.size()].refusal;
      const bool held = refusal.detail == core::RefusalDetail::kFinishUnderWay && place_.fences;
      marks_.hit_if(held, Mark::kRetryHeld);
      admitted = refusal.why != Rejection::kOverloaded || (limits_ == Limits::kWide && !held);
    }
    const bool in_memory = fold_->view(id) != nullptr;
    items.push_back(item_of(id, model_.retry(id, retry, admitted)));
    if (items.back().why == Rejection::kNone) ++retries_followed_[id];
    marks_.hit_if(items.back().why == Rejection::kNone && !in_memory, Mark::kRetriedFromTables);
  }
  return items;
}

// An operator's command on jobs by id.
std::vector<Auditor::Item> Auditor::follow_operator(Ticket ticket, const core::Command& command,
                                                    const Choices& choices) {
  std::vector<Item> items;
  if (const auto* cancel = std::get_if<core::Cancel>(&command)) {
    for (const JobId& id : cancel->ids) items.push_back(item_of(id, model_.cancel(id, *cancel)));
  } else if (const auto* retry = std::get_if<core::Retry>(&command)) {
    return follow_retry(ticket, *retry, choices);
  } else if (const auto* edit = std::get_if<core::Edit>(&command)) {
    for (const JobId& id : edit->ids) {
      items.push_back(item_of(id, model_.edit(id, *edit)));
      marks_.hit_if(items.back().why != Rejection::kNone, Mark::kEditRefused);
    }
  } else if (const auto* deletion = std::get_if<core::Delete>(&command)) {
    for (const JobId& id : deletion->ids) {
      Item before = item_of(id, Rejection::kNone);
      before.version.reset();
      before.why = model_.erase(id, *deletion);
      items.push_back(before);
    }
  }
  return items;
}

// False: the command is not about queues.
bool Auditor::follow_queue_command(Ticket ticket, const core::Command& command,
                                   const Choices& choices) {
  if (const auto* set = std::get_if<core::SetQueue>(&command)) {
    const bool admitted = admits_queue(ticket, set->queue, choices);
    expect_queues(ticket, model_.set_queue(*set, admitted), set->queue);
  } else if (const auto* pause = std::get_if<core::PauseQueue>(&command)) {
    const bool admitted = admits_queue(ticket, pause->queue, choices);
    expect_queues(ticket, model_.pause(*pause, admitted), pause->queue);
  } else if (const auto* resume = std::get_if<core::ResumeQueue>(&command)) {
    expect_queues(ticket, model_.resume(*resume), resume->queue);
  } else if (const auto* gone = std::get_if<core::DeleteQueue>(&command)) {
    // The answer shows the queue's last state.
    const Rejection why = model_.may_delete(*gone);
    expect_queues(ticket, why, gone->queue);
    if (why == Rejection::kNone) model_.delete_queue(*gone);
  } else if (const auto* queues = std::get_if<core::GetQueues>(&command)) {
    const bool known = queues->queue.empty() || model_.queue(queues->queue.view()) != nullptr;
    expect_queues(ticket, known ? Rejection::kNone : Rejection::kNotFound, queues->queue,
                  queues->after.view(), queues->limit, queues);
  } else {
    return false;
  }
  return true;
}

// The answer must show the job as it is when the item is decided.
void Auditor::check_shown(const core::EnqueueReply* reply, std::size_t i,
                          const Verdict& verdict) const {
  if (reply == nullptr || reply->items[i].job == nullptr) return;
  const core::Job* should = model_.find(verdict.id);
  demand(should != nullptr, "H2", "a submission shows {}, which is gone", to_string(verdict.id));
  const std::string wrong = difference(whole(reply->items[i].job->job, *should), *should);
  demand(wrong.empty(), "H11", "a submission shows {}:{}", to_string(verdict.id), wrong);
}

// A limit that has no room for keys still accepts the known ones.
void Auditor::check_refused_key(const core::Refusal& refusal, const core::JobSpec& spec) {
  if (refusal.detail != core::RefusalDetail::kTooManyLimitKeys) return;
  marks_.hit(Mark::kLimitKeysFull);
  demand(model_.gates().brings_new_key(spec), "S6", "{} is refused, and all its keys are known",
         to_string(spec.id));
}

void Auditor::expect(Ticket ticket, const core::Enqueue& command, const Choices& choices) {
  const auto* reply = reply_of<core::EnqueueReply>(ticket, "a submission");
  demand(reply == nullptr || reply->items.size() == command.jobs.size(), "I4",
         "a submission of {} jobs got another number of answers", command.jobs.size());
  // Near a limit any new job may be refused, as the answer or else the batch tells. The same holds
  // for an inbox row, which may have been behind a row that was put off.
  const bool may_close =
      limits_ == Limits::kTight || (reply == nullptr && rounds_.contains(ticket));
  const auto closed = [&](const Verdict& verdict, std::size_t i, std::size_t ahead) {
    if (!may_close || verdict.fate != Fate::kCreated) return false;
    return reply != nullptr ? reply->items[i].refusal.why == Rejection::kOverloaded
                            : !model_.is_stored(command.jobs[i], choices, ahead);
  };
  std::vector<Verdict> verdicts;
  bool refused_as_one = false;
  if (command.atomicity == core::Atomicity::kAll) {
    std::vector<const core::JobSpec*> before;
    for (const core::JobSpec& spec : command.jobs) {
      Verdict verdict = model_.judge(spec, command.key, before);
      if (closed(verdict, verdicts.size(), before.size())) {
        verdict = {Fate::kRefused, Rejection::kOverloaded, {}, {}};
      }
      if (verdict.fate == Fate::kCreated) before.push_back(&spec);
      refused_as_one = refused_as_one || verdict.fate == Fate::kRefused;
      verdicts.push_back(verdict);
    }
    marks_.hit_if(refused_as_one, Mark::kAtomicRefused);
  }
  if (!refused_as_one) {
    verdicts.clear();
    for (const core::JobSpec& spec : command.jobs) {
      Verdict verdict = model_.judge(spec, command.key, {});
      if (closed(verdict, verdicts.size(), 0)) {
        marks_.hit(Mark::kRefusedOverload);
        if (reply != nullptr) check_refused_key(reply->items[verdicts.size()].refusal, spec);
        verdict = {Fate::kRefused, Rejection::kOverloaded, {}, {}};
      } else {
        const bool judged = command.atomicity == core::Atomicity::kAll;
        if (verdict.fate == Fate::kCreated && !judged && limits_ == Limits::kTight) {
          model_.gates().check_room_for_keys(spec, options_.max_limit_keys);
        }
        verdict = model_.submit(spec, &command);
      }
      check_shown(reply, verdicts.size(), verdict);
      verdicts.push_back(verdict);
    }
  }
  if (of_relays_.contains(ticket)) {
    place_.effects->passed_on(command.jobs.front(), verdicts.front());
  }
  if (reply == nullptr) return;
  if (engine::is_put_off(*reply)) note_put_off(ticket, core::Command(command));
  check_verdicts(*reply, command, verdicts, refused_as_one);
}

void Auditor::check_verdicts(const core::EnqueueReply& reply, const core::Enqueue& command,
                             const std::vector<Verdict>& verdicts, bool refused_as_one) const {
  demand(reply.refused_as_one == refused_as_one, "I4", "a submission was {}refused as one",
         refused_as_one ? "not " : "");
  for (std::size_t i = 0; i < verdicts.size(); ++i) {
    const Verdict& should = verdicts[i];
    const core::EnqueueReply::Item& is = reply.items[i];
    // An observer can't tell which of two reasons is reported.
    const bool overloaded = limits_ == Limits::kTight && is.refusal.why == Rejection::kOverloaded;
    if (overloaded && should.fate == Fate::kRefused) continue;
    const bool other_body = should.why == Rejection::kIdempotencyMismatch ||
                            is.refusal.why == Rejection::kIdempotencyMismatch;
    // A key forgotten too early or too late makes a second job, or none.
    const char* const id = other_body ? "I2" : command.key ? "I3" : "I1";
    demand(is.fate == should.fate && is.refusal.why == should.why, id,
           "the submission of {}: fate {} with {}, should be {} with {}",
           to_string(command.jobs[i].id), static_cast<int>(is.fate), rejection_name(is.refusal.why),
           static_cast<int>(should.fate), rejection_name(should.why));
    if (should.fate == Fate::kRefused) continue;
    demand(is.id == should.id, "I1", "the submission of {} is answered with {}, should be {}",
           to_string(command.jobs[i].id), to_string(is.id), to_string(should.id));
  }
}

void Auditor::check_job(const core::JobReply& reply, const JobId& id, const char* what) {
  const core::Job* should = model_.find(id);
  if (reply.job != nullptr) {
    if (should == nullptr) {
      demand(core::is_terminal(reply.job->job.state) || reply.deleted, "H2",
             "{} shows {}, which is gone", what, to_string(id));
      return;
    }
    const std::string wrong = difference(whole(reply.job->job, *should), *should);
    demand(wrong.empty(), "H11", "{} of {}:{}", what, to_string(id), wrong);
    return;
  }
  if (should == nullptr) return;
  demand(!reply.deleted && core::is_terminal(should->state), "H1",
         "{} does not find {} ({}) in memory", what, to_string(id), name_of(should->state));
  const auto rows = stored_.fetch({id});
  demand(rows && rows->size() == 1, "H1", "{} finds {} neither in memory nor in the tables", what,
         to_string(id));
  marks_.hit(Mark::kReadFromTables);
  const std::string wrong = difference(rows->front(), *should);
  demand(wrong.empty(), "H11", "{} of {}, from the tables:{}", what, to_string(id), wrong);
}

void Auditor::expect_job(Ticket ticket, const JobId& id) {
  if (const auto* reply = reply_of<core::JobReply>(ticket, "a read")) {
    check_job(*reply, id, "a read");
  }
}

// --- Leases.

// Null: the answer is unknown, or of another kind.
const core::ItemsReply* Auditor::items_in_answer(Ticket ticket) const {
  const auto found = answers_.find(ticket);
  if (found == answers_.end()) return nullptr;
  if (const auto* poll = std::get_if<engine::PollReply>(&found->second)) return &poll->acks;
  const auto* reply = std::get_if<core::Reply>(&found->second);
  return reply == nullptr ? nullptr : std::get_if<core::ItemsReply>(reply);
}

std::vector<Auditor::Item> Auditor::follow_acks(Ticket ticket, const core::Ack& command,
                                                const Choices& choices) {
  const core::ItemsReply* actual = items_in_answer(ticket);
  // Near a limit the answer, or else the batch, tells whether there was room.
  const auto admitted = [&](std::size_t i) -> std::optional<bool> {
    if (limits_ == Limits::kWide) return true;
    if (actual == nullptr || i >= actual->items.size()) return std::nullopt;
    return actual->items[i].refusal.why != Rejection::kOverloaded;
  };
  std::vector<Item> items;
  for (const core::AckItem& ack : command.items) {
    const core::EndedLease* before = model_.ended_lease(ack.token);
    Item item{ack.id, Rejection::kNone, {}, {}, {}, {}, {}};
    if (before != nullptr) {
      // A repeated identical ack gets the first one's answer; a different one is too late (L3).
      const bool same = before->job == ack.id && before->outcome == outcome_of(ack.outcome);
      if (same) {
        item.state = before->state;
        marks_.hit(Mark::kRepeatedAck);
        marks_.hit_if(to_number(ack.token) < term_first_token_, Mark::kRepeatedAckAfterRestart);
      } else {
        item.why = Rejection::kLeaseLost;
        marks_.hit(Mark::kStaleToken);
      }
    } else {
      item.why = follow_ack(ack, choices, admitted(items.size()));
      if (item.why == Rejection::kNone) item.state = model_.ended_lease(ack.token)->state;
    }
    show_job(item, command.detail);
    items.push_back(std::move(item));
  }
  return items;
}

std::vector<Auditor::Item> Auditor::follow_finishes(const core::Ack& command,
                                                    const Choices& choices) {
  std::vector<Item> items;
  for (const core::AckItem& ack : command.items) {
    if (command.right == core::AckRight::kFenceRaised) {
      items.push_back({ack.id, model_.confirm_fence(ack), {}, {}, {}, {}, {}});
      continue;
    }
    const core::Rejection why = model_.finish(ack, choices);
    items.push_back(item_of(ack.id, why));
    if (why == Rejection::kNone) items.back().state = core::State::kSucceeded;
  }
  return items;
}

std::vector<Auditor::Item> Auditor::follow_heartbeats(const core::Heartbeat& command) {
  std::vector<Item> items;
  for (const core::HeartbeatItem& beat : command.items) {
    Item item = item_of(beat.id, model_.heartbeat(beat));
    if (item.why == Rejection::kNone) {
      const core::Job& job = *model_.find(beat.id);
      item.lease_expires_at = job.lease_expires_at;
      item.cancel_requested = job.cancel_requested;
    }
    items.push_back(std::move(item));
  }
  // All are extended in one event, and shown after it.
  for (Item& item : items) show_job(item, command.detail);
  return items;
}

std::vector<Auditor::Item> Auditor::follow_logs(const core::AppendLogs& command) {
  std::vector<Item> items;
  for (const core::LogItem& log : command.items) {
    items.push_back({log.id, model_.log(log), {}, {}, {}, {}, {}});
  }
  return items;
}

// The jobs that the model gives to a claim; the batch's next claim must match.
std::vector<JobId> Auditor::model_claim(const core::Claim& claim, const Choices& choices) {
  std::vector<core::Job*> expired;
  std::vector<JobId> ids;
  for (const core::Job* job : model_.claimable(claim, expired)) ids.push_back(job->id);
  const core::Claimed* event =
      ids.empty() || next_claim_ >= choices.claims.size() ? nullptr : choices.claims[next_claim_];
  if (!ids.empty()) ++next_claim_;
  model_.claim(claim, event);
  return ids;
}

void Auditor::check_claim(const core::ClaimReply& reply, const std::vector<JobId>& ids) const {
  if (reply.jobs.size() > ids.size()) {
    std::vector<JobId> given;
    for (const auto& item : reply.jobs) given.push_back(item.job.id);
    model_.check_gates(given);
  }
  demand(reply.jobs.size() == ids.size(), "O1", "a claim was answered with {} jobs, not {}",
         reply.jobs.size(), ids.size());
  for (std::size_t i = 0; i < ids.size(); ++i) {
    const core::Job* should = model_.find(ids[i]);
    MILLRACE_CHECK(should != nullptr);
    const std::string wrong = difference(whole(reply.jobs[i].job, *should), *should);
    demand(wrong.empty(), "L1", "a claim's {}:{}", to_string(ids[i]), wrong);
  }
}

void Auditor::follow_claim(Ticket ticket, const core::Claim& claim, Duration wait, Closing closing,
                           const Choices& choices) {
  const std::vector<JobId> ids = model_claim(claim, choices);
  if (ids.empty() && wait > Duration{} && closing == Closing::kOpen) {
    if (given_up_.erase(ticket) > 0) return;
    Parked parked;
    parked.ticket = ticket;
    parked.claim = claim;
    parked.deadline = add_saturating(model_.now(), wait);
    parked_.push_back(std::move(parked));
    return;
  }
  if (const auto* reply = reply_of<core::ClaimReply>(ticket, "a claim")) check_claim(*reply, ids);
}

void Auditor::check_orders(const engine::PollReply& reply) const {
  for (const engine::WorkerCommand& order : reply.commands) {
    demand(cancel_orders_.contains({order.job, to_number(order.token)}), "X2",
           "a worker is told to stop {}, and nobody asked for that", to_string(order.job));
    marks_.hit(Mark::kOrderDelivered);
  }
}

void Auditor::follow_poll(Ticket ticket, const engine::Poll& poll, Closing closing,
                          const Choices& choices) {
  Parked parked;
  parked.ticket = ticket;
  parked.poll = true;
  parked.acks = follow_acks(ticket, poll.acks, choices);
  parked.heartbeats = follow_heartbeats(poll.heartbeats);
  parked.logs = follow_logs(poll.logs);
  std::vector<JobId> ids;
  if (poll.claim) {
    parked.claim = *poll.claim;
    parked.claim.worker = poll.worker.id;
    if (closing != Closing::kDraining) ids = model_claim(parked.claim, choices);
    // The poll is answered at once if there are orders for its worker, as its answer tells.
    const auto answer = answers_.find(ticket);
    const auto* reply =
        answer == answers_.end() ? nullptr : std::get_if<engine::PollReply>(&answer->second);
    const bool told = reply != nullptr && !reply->commands.empty();
    if (ids.empty() && poll.wait > Duration{} && closing == Closing::kOpen && !told) {
      if (given_up_.erase(ticket) > 0) return;
      parked.deadline = add_saturating(model_.now(), poll.wait);
      parked_.push_back(std::move(parked));
      return;
    }
  }
  check_parked(parked, ids);
}

void Auditor::check_parked(const Parked& parked, const std::vector<JobId>& ids) {
  if (!parked.poll) {
    if (const auto* reply = reply_of<core::ClaimReply>(parked.ticket, "a waiting claim")) {
      check_claim(*reply, ids);
    }
    return;
  }
  const auto* reply = reply_of<engine::PollReply>(parked.ticket, "a poll");
  if (reply == nullptr) return;
  check_items(parked.acks, reply->acks, "an ack");
  check_items(parked.heartbeats, reply->heartbeats, "a heartbeat");
  check_items(parked.logs, reply->logs, "a log line");
  check_claim(reply->claim, ids);
  check_orders(*reply);
}

}  // namespace millrace::sim
