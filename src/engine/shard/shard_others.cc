// Requests that are not commands, and the ends of waits.
#include <algorithm>
#include <utility>

#include "base/mutant.h"
#include "core/workflows/workflow_index.h"
#include "engine/shard/shard_impl.h"

namespace millrace::engine {
namespace {

// For Mutant::kRefusalBeforeCommit.
bool refuses(const Answer& answer) {
  const auto* reply = std::get_if<core::Reply>(&answer);
  const auto* items = reply == nullptr ? nullptr : std::get_if<core::ItemsReply>(reply);
  return items != nullptr && !items->items.empty() && items->items.front().refusal;
}

}  // namespace

void Shard::Impl::dispatch() {
  for (Made& made : made_) {
    if (mutated(Mutant::kRefusalBeforeCommit) && refuses(made.answer)) {
      answers_.send(made.reply_to, std::move(made.answer));
    } else {
      answers_.hold(pipeline_.head(), made.reply_to, std::move(made.answer), made.patient);
    }
  }
  made_.clear();
  answers_.release(mutated(Mutant::kReplyBeforeCommit) ? pipeline_.head() : pipeline_.durable());
}

void Shard::Impl::end_wait(Waiters::Entry entry, core::ClaimReply reply) {
  if (entry.item.wants != Waiter::Wants::kJobs) return answer(entry.reply_to, std::monostate{});
  if (!entry.item.poll) return answer(entry.reply_to, core::Reply(std::move(reply)));
  PollReply poll = std::move(*entry.item.poll);
  poll.claim = std::move(reply);
  take_commands(entry.item.claim.worker.view(), poll);
  answer(entry.reply_to, std::move(poll));
}

void Shard::Impl::take_commands(std::string_view worker, PollReply& into) {
  into.news = workers_.has_news(worker);
  into.commands = workers_.take_commands(worker);
}

void Shard::Impl::decide_other(const Task& task) {
  std::visit([&](const auto& request) { decide_other(task.reply_to, request); }, task.other);
}

core::JobReply Shard::Impl::job_reply(const JobId& id) const {
  return {machine_->view(id), machine_->is_tombstone(id)};
}

void Shard::Impl::decide_other(const ReplyAddress& reply_to, const WatchJob& watch) {
  // Like a read: a job that was forgotten within this step does not exist.
  auto reply = std::get<core::JobReply>(decide(core::GetJob{watch.id}, Prefetch{}));
  const bool of_lease = watch.lease != kNoToken;
  const core::WorkflowEntry* const workflow = machine_->workflows().find(watch.id);
  const bool goes_on = workflow != nullptr && !terms::has_ended(workflow->workflow.state);
  if (reply.job == nullptr && goes_on && watch.wait > Duration{} && may_wait()) {
    return watchers_.add(reply_to, add_saturating(now_, watch.wait), watch.id);
  }
  // A job that is not in memory has ended or never existed.
  bool waits = reply.job != nullptr && !core::is_terminal(reply.job->job.state) &&
               watch.wait > Duration{} && may_wait();
  if (waits && of_lease) {
    waits = reply.job->job.token == watch.lease && !reply.job->job.cancel_requested;
  }
  if (!waits) return answer(reply_to, core::Reply(std::move(reply)));
  Watchers& watchers = of_lease ? holders_ : watchers_;
  watchers.add(reply_to, add_saturating(now_, watch.wait), watch.id);
}

void Shard::Impl::decide_other(const ReplyAddress& reply_to, const AwaitProjection&) {
  const Seq target = pipeline_.durable();
  if (projector_.projected().seq >= target) return answer(reply_to, std::monostate{});
  projector_.force();
  projection_waits_.add(reply_to, now_ + kProjectionPatience, target);
}

void Shard::Impl::decide_other(const ReplyAddress& reply_to, const AwaitEvents& wait) {
  const Seq after = wait.after.empty() ? Seq{} : wait.after.front();
  if (pipeline_.durable() > after || wait.wait <= Duration{}) {
    return answer(reply_to, std::monostate{});
  }
  if (!may_wait()) return answer(reply_to, no_hints_here());
  event_waits_.add(reply_to, add_saturating(now_, wait.wait), after);
}

void Shard::Impl::decide_other(const ReplyAddress& reply_to, const AwaitWork& wait) {
  const std::string_view worker = wait.worker.view();
  const bool active = workers_.state(worker) == WorkerState::kActive;
  const auto has_work = [&](const SharedBytes& queue) {
    return machine_->claimable(queue.view(), wait.types, now_, 1) > 0;
  };
  if (!may_wait()) return answer(reply_to, no_hints_here());
  if (hard_overloaded()) return answer(reply_to, Unavailable::kOverloaded);
  if (wait.wait <= Duration{} || (!wait.no_commands && workers_.has_news(worker)) ||
      (active && std::ranges::any_of(wait.queues, has_work))) {
    return answer(reply_to, std::monostate{});
  }
  core::Claim claim;
  claim.types = wait.types;
  claim.worker = wait.worker;
  if (active) claim.queues = wait.queues;
  waiters_.add(reply_to, add_saturating(now_, wait.wait),
               wait.no_commands ? Waiter::Wants::kHint : Waiter::Wants::kHintOrCommand,
               std::move(claim));
}

void Shard::Impl::decide_other(const ReplyAddress& reply_to, const TellOfJob& told) {
  schedules_.told(told, now_);
  answer(reply_to, std::monostate{});
}

void Shard::Impl::decide_other(const ReplyAddress& reply_to, const AwaitJobQuestions& wait) {
  if (!may_wait()) return answer(reply_to, no_hints_here());
  question_waits_.add(reply_to, add_saturating(now_, wait.wait), Seq{});
}

void Shard::Impl::hand_out_questions() {
  if (question_waits_.empty()) return;
  const std::optional<Time> shares = machine_->next_share_message();
  const bool says = shares && *shares <= now_;
  if (!says && !schedules_.has_questions()) return;
  const auto number = question_waits_.all().front();
  JobQuestions questions = schedules_.take_questions();
  if (says) questions.shares = machine_->take_share_messages(now_);
  answer(question_waits_.take(number).reply_to, std::move(questions));
}

void Shard::Impl::decide_other(const ReplyAddress& reply_to, const AwaitOperationWork& wait) {
  if (!may_wait()) return answer(reply_to, no_hints_here());
  operations_.told(wait);
  operation_waits_.add(reply_to, add_saturating(now_, wait.wait), Seq{});
}

// A part begins when the tables show all jobs that it may touch.
void Shard::Impl::hand_out_operations() {
  if (operation_waits_.empty() || hard_overloaded()) return;
  const Seq projected = projector_.projected().seq;
  if (operations_.await_tables(projected)) projector_.force();
  auto work = operations_.next_work(now_, projected);
  if (!work) return;
  answer(operation_waits_.take(operation_waits_.all().front()).reply_to, std::move(*work));
}

void Shard::Impl::decide_other(const ReplyAddress& reply_to, const ListWorkers&) {
  answer(reply_to, WorkersReply{true, workers_.list(*machine_, now_)});
}

void Shard::Impl::decide_other(const ReplyAddress& reply_to, const SetWorkerState& command) {
  const std::string_view worker = command.worker.view();
  if (!workers_.knows(worker)) {
    // The worker may have been active since before a restart.
    const std::vector<core::JobView> running = machine_->running_jobs(command.worker);
    if (running.empty()) return answer(reply_to, WorkersReply{false, {}});
    workers_.introduce(command.worker, running.front().job.latest.started_at);
  }
  workers_.set_state(worker, command.state);
  tell_worker(worker);
  answer(reply_to, WorkersReply{true, {workers_.view(worker, *machine_)}});
}

// Ends the worker's waiting polls. Its plain claims can't carry commands; if the worker is quiet
// they get no more jobs.
void Shard::Impl::tell_worker(std::string_view worker) {
  const bool quiet = workers_.state(worker) != WorkerState::kActive;
  for (const WaitNumber number : waiters_.of_worker(worker)) {
    const Waiter& waiter = waiters_.at(number).item;
    if (waiter.takes_commands()) {
      end_wait(waiters_.take(number), {});
    } else if (quiet) {
      waiters_.stop_offering(number);
    }
  }
}

void Shard::Impl::wake_event_waits() {
  for (const auto number : event_waits_.all()) {
    if (event_waits_.find(number)->item < pipeline_.durable()) {
      answers_.send(event_waits_.take(number).reply_to, std::monostate{});
    }
  }
}

void Shard::Impl::wake_projection_waits() {
  for (const auto number : projection_waits_.all()) {
    if (projection_waits_.find(number)->item <= projector_.projected().seq) {
      answers_.send(projection_waits_.take(number).reply_to, std::monostate{});
    }
  }
}

}  // namespace millrace::engine
