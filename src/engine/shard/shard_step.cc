// The decisions of a step.
#include <algorithm>
#include <functional>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/check.h"
#include "core/bounds.h"
#include "core/workflows/workflow_index.h"
#include "engine/shard/outbox.h"
#include "engine/shard/row_budget.h"
#include "engine/shard/shard_impl.h"

namespace millrace::engine {
namespace {

constexpr std::size_t kMaxTasksPerStep = 4'096;
constexpr std::size_t kMaxIdsPerPart = 64;
constexpr std::size_t kMaxIdsPerStep = 2'048;
constexpr std::size_t kMaxWorkflowsPerStep = 16;  // that are read whole
constexpr std::size_t kMaxTicksPerStep = 8;
// How many jobs one step examines for a payload that may leave memory.
constexpr std::size_t kLetGoPerStep = 8'192;
constexpr Duration kWorkersSweepPause{60'000};
// If the claim that received a hint has not come within this time, another waiter gets one.
constexpr Duration kHintPatience{50};

}  // namespace

void Shard::Impl::decide_step() {
  if (hard_overloaded()) {
    if (!refusing_since_) refusing_since_ = now_;
  } else {
    give_grace();
    tick();
    fire_schedules(kRowBudgetBytes / 4);  // the rest of the row is for requests
    sweep();
  }
  answer_endings();
  decide_tasks(take_tasks());
  // A new schedule is planned in the row that creates it, and an instant may await a job that
  // ended.
  if (!hard_overloaded()) fire_schedules(kRowBudgetBytes);
  advance_workflows();
  report_members();
  // A claim may find that jobs have expired.
  do {
    serve_waiters();
  } while (report_members());
  tell_workers();
  answer_endings();
  hand_out_questions();
  hand_out_operations();
  end_waits();
  machine_->end_step();
  if (letting_go_) letting_go_ = machine_->let_go_of_payloads(kLetGoPerStep);
  if (!events_.empty()) seal();
  dispatch();
}

// Leases must not end because of an outage in which their holders could not be heard: a stalled
// journal, refused completions, a process that was stopped.
void Shard::Impl::give_grace() {
  std::optional<Time> since = std::exchange(stalled_since_, std::nullopt);
  if (refusing_since_) since = std::min(since.value_or(*refusing_since_), *refusing_since_);
  refusing_since_.reset();
  if (!since || now_ - *since <= core::kStallGrace || machine_->live_leases() == 0) return;
  machine_->extend_leases(now_ - *since, now_, events_);
  grace_ = {next(pipeline_.head()), grace_ ? std::min(grace_->since, *since) : *since};
  measure();
}

void Shard::Impl::tick() {
  const auto due = [this] {
    const std::optional<Time> timer = machine_->next_timer();
    return timer && *timer <= now_;
  };
  for (std::size_t round = 0; round < kMaxTicksPerStep && due() && !row_is_full(); ++round) {
    machine_->tick(now_, events_);
    measure();
  }
  tick_behind_ = due();
  if (now_ - workers_swept_at_ >= kWorkersSweepPause) {
    workers_swept_at_ = now_;
    workers_.forget_stale(*machine_, now_);
  }
}

std::optional<Unavailable> Shard::Impl::refusal_of(const Task& task) const {
  if (reads_only(task)) return std::nullopt;
  if (hard_overloaded()) return Unavailable::kOverloaded;
  if (draining_ && !finishes_work(task)) return Unavailable::kDraining;
  return std::nullopt;
}

Shard::Impl::Intake Shard::Impl::take_tasks() {
  Intake intake;
  std::vector<Prefetch::Wanted> wanted_until;  // by task
  std::size_t bytes = 0;
  while (!waiting_tasks_.empty() && intake.tasks.size() < kMaxTasksPerStep &&
         intake.prefetched.wanted().jobs < kMaxIdsPerStep &&
         intake.prefetched.wanted().workflows < kMaxWorkflowsPerStep && bytes < kRowBudgetBytes) {
    Task task = std::move(waiting_tasks_.front());
    waiting_tasks_.pop_front();
    if (is_refused(task)) continue;
    if (const std::optional<Unavailable> why = refusal_of(task)) {
      refuse(task, *why);
      continue;
    }
    std::optional<Task> part = split_ids(task, kMaxIdsPerPart);
    if (!part && engine::row_bytes(task) > kRowBudgetBytes)
      part = split_jobs(task, kRowBudgetBytes);
    if (part) waiting_tasks_.push_front(std::exchange(task, std::move(*part)));
    for (const core::Command& command : task.commands) {
      intake.prefetched.want(*machine_, command);
    }
    wanted_until.push_back(intake.prefetched.wanted());
    bytes += engine::row_bytes(task);
    intake.tasks.push_back(std::move(task));
  }
  if (intake.prefetched.wanted() != Prefetch::Wanted{}) fetch_needed(intake, wanted_until);
  raise_fences(intake);
  return intake;
}

// The jobs that the command retries.
std::vector<JobId> Shard::Impl::retried_by(const core::Command& command) const {
  if (const auto* const retry = std::get_if<core::Retry>(&command)) return retry->ids;
  if (const auto* const member = std::get_if<core::RetryMember>(&command)) {
    return {member->spec->id};
  }
  const auto* const step = std::get_if<core::StepOperation>(&command);
  if (step == nullptr || !operations_.retries(step->id)) return {};
  std::vector<JobId> ids;
  for (const core::StepOperation::Item& item : step->items) ids.push_back(item.id);
  return ids;
}

namespace {

// A repeated message begins none.
bool begins_round(const core::JobSpec& spec, const core::Job& job) {
  const auto round_of = [](const auto& extras) {
    return extras == nullptr || extras->member == nullptr ? 0 : extras->member->round;
  };
  return round_of(spec.extras) > round_of(job.extras);
}

}  // namespace

// For the jobs about to be retried. A job that ends only within this step is not among them, and
// its retry waits for a later step.
void Shard::Impl::raise_fences(Intake& intake) {
  store::Fences* const fences = tables_.fences();
  if (fences == nullptr) return;
  bool retries = false;
  std::vector<JobId> ended;
  for (const Task& task : intake.tasks) {
    if (task.kind != Task::Kind::kCommand) continue;
    const std::vector<JobId> ids = retried_by(task.commands.front());
    if (ids.empty()) continue;
    retries = true;
    for (const JobId& id : ids) {
      const auto view = machine_->view(id);
      const core::Job* const job = view != nullptr ? &view->job : intake.prefetched.find(id);
      if (job == nullptr || !core::is_terminal(job->state)) continue;
      const auto* const retry = std::get_if<core::Retry>(&task.commands.front());
      if (retry != nullptr && !retry->states.contains(job->state)) continue;
      const auto* const member = std::get_if<core::RetryMember>(&task.commands.front());
      if (member != nullptr && !begins_round(*member->spec, *job)) continue;
      ended.push_back(id);
    }
  }
  if (!retries) return;
  intake.prefetched.raise_fences(*fences, ended, LeaseToken{machine_->facts().next_token});
}

// Reads at least the jobs of the first task; otherwise that task would stay first for ever.
void Shard::Impl::fetch_needed(Intake& intake, const std::vector<Prefetch::Wanted>& wanted_until) {
  const Status workflows = intake.prefetched.load_workflows(tables_);
  const Result<std::size_t> settled = intake.prefetched.load(tables_, wanted_until.front().jobs);
  std::vector<Task> kept;
  std::vector<Task> later;
  Prefetch::Wanted wanted_before;
  for (std::size_t i = 0; i < intake.tasks.size(); ++i) {
    Task& task = intake.tasks[i];
    const bool lacks_jobs = !settled && wanted_until[i].jobs > wanted_before.jobs;
    const bool lacks_workflows = !workflows && wanted_until[i].workflows > wanted_before.workflows;
    if (lacks_jobs || lacks_workflows) {
      refuse(task, Unavailable::kStorage);
    } else if (settled && wanted_until[i].jobs > *settled) {
      later.push_back(std::move(task));
    } else {
      kept.push_back(std::move(task));
    }
    wanted_before = wanted_until[i];
  }
  intake.tasks = std::move(kept);
  put_back(std::move(later));
}

void Shard::Impl::put_back(std::vector<Task> tasks) {
  waiting_tasks_.insert(waiting_tasks_.begin(), std::make_move_iterator(tasks.begin()),
                        std::make_move_iterator(tasks.end()));
}

void Shard::Impl::decide_tasks(Intake intake) {
  for (auto task = intake.tasks.begin(); task != intake.tasks.end(); ++task) {
    if (row_is_full()) {
      put_back({std::make_move_iterator(task), std::make_move_iterator(intake.tasks.end())});
      return;
    }
    if (is_refused(*task)) continue;
    std::vector<Task> rests;
    if (!make_fit(*task, intake.prefetched, rests)) {
      refuse(*task, Unavailable::kOverloaded);
      continue;
    }
    decide_task(std::move(*task), intake.prefetched);
    answer_endings();
    measure();
    if (!rests.empty()) {
      // The following tasks may be later parts of the same request.
      put_back({std::make_move_iterator(task + 1), std::make_move_iterator(intake.tasks.end())});
      put_back(std::move(rests));
      return;
    }
  }
}

// A part that is still too large for a row is split again; the remaining parts, in order, wait for
// a later step.
bool Shard::Impl::make_fit(Task& task, const core::Prefetched& prefetched,
                           std::vector<Task>& rests) {
  const auto too_big = [&] {
    return engine::row_bytes(task) + retried_bytes(task, prefetched) > kMaxCommandBytes;
  };
  bool fits = !too_big();
  for (std::size_t ids = kMaxIdsPerPart / 2; !fits && ids > 0; ids /= 2) {
    if (std::optional<Task> part = split_ids(task, ids)) {
      const bool more = task.more;
      rests.push_back(std::exchange(task, std::move(*part)));
      rests.back().more = more;
      fits = !too_big();
    }
  }
  std::ranges::reverse(rests);
  return fits;
}

std::size_t Shard::Impl::retried_bytes(const Task& task, const core::Prefetched& prefetched) const {
  if (task.kind != Task::Kind::kCommand) return 0;
  std::size_t bytes = 0;
  for (const JobId& id : retried_by(task.commands.front())) {
    const core::Job* stored = prefetched.find(id);
    if (const auto view = machine_->view(id)) {
      bytes += engine::row_bytes(view->job);
      if (view->job.payload.empty() && stored != nullptr) bytes += stored->payload.size();
    } else if (stored != nullptr) {
      bytes += engine::row_bytes(*stored);
    }
  }
  return bytes;
}

core::Admission Shard::Impl::admission() const {
  if (memory_room_ == MemoryRoom::kNone) return core::Admission::kMemoryFull;
  const bool behind = machine_->unprojected() > options_.max_unprojected ||
                      machine_->bytes_held() > options_.max_bytes_held;
  return behind ? core::Admission::kClosed : core::Admission::kOpen;
}

core::Reply Shard::Impl::decide(const core::Command& command, const core::Prefetched& prefetched) {
  return machine_->decide(command, now_, prefetched, admission(), events_);
}

void Shard::Impl::fire_schedules(std::size_t row_bytes) {
  using Pace = ShardSchedules::Pace;
  const std::function<bool()> is_full = [this, row_bytes] {
    measure();
    return row_bytes_ >= row_bytes;
  };
  // In eighths of what refuses submissions. Payloads fill up to half of their bytes at any time:
  // MachineOptions::keep_bytes.
  const auto beyond = [this](std::uint64_t rows, std::uint64_t bytes) {
    return machine_->unprojected() > options_.max_unprojected * rows / 8 ||
           machine_->bytes_held() > options_.max_bytes_held * bytes / 8;
  };
  const std::function<Pace()> pace = [this, &beyond] {
    if (memory_room_ >= MemoryRoom::kScarce || beyond(2, 6)) return Pace::kHeld;
    return memory_room_ == MemoryRoom::kTight || beyond(1, 5) ? Pace::kSlow : Pace::kFull;
  };
  schedules_.fire({now_, admission(), events_, is_full, pace});
  measure();
}

namespace {

// The list of queues is for users. With several shards their answers are merged without it.
void leave_out_outbox(const core::Command& command, core::Reply& reply) {
  const auto* const get = std::get_if<core::GetQueues>(&command);
  if (get == nullptr || !get->queue.empty() || get->counts_only) return;
  std::erase_if(std::get<core::QueueReply>(reply).queues,
                [](const core::Queue& queue) { return queue.name.view() == kOutboxQueue; });
}

}  // namespace

// One at a time: a release may carry a job of a megabyte, and an end the record and callbacks.
void Shard::Impl::advance_workflows() {
  workflows_behind_ = false;
  workflows_advanced_at_ = now_;
  // The next term goes on.
  if (hard_overloaded() || !may_wait()) return;
  for (std::size_t done = 0; machine_->has_pending_workflows(); ++done) {
    if (done == core::kMaxAdvancedPerStep || row_is_full()) {
      workflows_behind_ = true;
      return;
    }
    const std::size_t before = events_.size();
    machine_->advance_workflows(1, now_, admission(), events_);
    if (events_.size() == before) return;
    measure();
  }
}

// Whatever holds the shard back: the messages must be in the row of the ends. False: there is none.
bool Shard::Impl::report_members() {
  const std::size_t before = events_.size();
  machine_->report_members(now_, events_);
  measure();
  return events_.size() > before;
}

void Shard::Impl::decide_task(Task task, const core::Prefetched& prefetched) {
  if (task.kind == Task::Kind::kOther) return decide_other(task);
  if (is_put_off(task)) return refuse(task, Unavailable::kOverloaded);
  note_worker(task);
  const bool claim_is_empty =
      task.claims && (draining_ || workers_.state(task.worker.id.view()) != WorkerState::kActive);
  std::vector<core::Reply> replies;
  const std::size_t events_before = events_.size();
  for (core::Command& command : task.commands) {
    schedules_.stamp(command);
    operations_.stamp(command);
    if (claim_is_empty && std::holds_alternative<core::Claim>(command)) {
      replies.emplace_back(core::ClaimReply{});
    } else {
      replies.push_back(decide(command, prefetched));
      if (options_.shards == 1) leave_out_outbox(command, replies.back());
    }
  }
  if (task.from_inbox) {
    if (events_.size() > events_before) taken_.push_back(task.from_inbox->row);
    if (engine::is_put_off(replies[0])) put_off(task);
  }
  switch (task.kind) {
    case Task::Kind::kClaim:
      return conclude_claim(std::move(task), std::get<core::ClaimReply>(std::move(replies[0])));
    case Task::Kind::kPoll:
      return conclude_poll(std::move(task), std::move(replies));
    default:
      break;
  }
  // The reader of the inbox must not offer again a row that may have been taken.
  if (task.gather == nullptr) {
    return answer(task.reply_to, std::move(replies[0]), task.from_inbox.has_value());
  }
  gather_into(task.gather->reply, std::move(replies[0]));
  if (!task.more) answer(task.reply_to, std::move(task.gather->reply));
}

// An inbox row that is offered again later.
void Shard::Impl::put_off(const Task& task) {
  const std::string_view queue = brings_job_of(task);
  if (!queue.empty()) inbox_order_.put_off(queue, task.from_inbox->round);
}

bool Shard::Impl::is_put_off(const Task& task) {
  const std::string_view queue = brings_job_of(task);
  return !queue.empty() && inbox_order_.is_put_off(queue, task.from_inbox->round);
}

void Shard::Impl::conclude_claim(Task task, core::ClaimReply reply) {
  if (!reply.jobs.empty() || task.wait <= Duration{} || !may_wait()) {
    return answer(task.reply_to, core::Reply(std::move(reply)));
  }
  const WaitNumber number =
      waiters_.add(task.reply_to, add_saturating(now_, task.wait), Waiter::Wants::kJobs,
                   std::get<core::Claim>(std::move(task.commands[0])));
  if (workers_.state(task.worker.id.view()) != WorkerState::kActive) waiters_.stop_offering(number);
}

void Shard::Impl::conclude_poll(Task task, std::vector<core::Reply> replies) {
  const std::string_view worker = task.worker.id.view();
  PollReply poll;
  poll.acks = std::get<core::ItemsReply>(std::move(replies[0]));
  poll.heartbeats = std::get<core::ItemsReply>(std::move(replies[1]));
  poll.logs = std::get<core::ItemsReply>(std::move(replies[2]));
  if (task.claims) poll.claim = std::get<core::ClaimReply>(std::move(replies[3]));
  if (!task.claims || !poll.claim.jobs.empty() || task.wait <= Duration{} || !may_wait() ||
      workers_.has_news(worker)) {
    take_commands(worker, poll);
    if (task.goodbye) workers_.leaves(worker);
    return answer(task.reply_to, std::move(poll));
  }
  const WaitNumber number =
      waiters_.add(task.reply_to, add_saturating(now_, task.wait), Waiter::Wants::kJobs,
                   std::get<core::Claim>(std::move(task.commands[3])), std::move(poll));
  if (workers_.state(worker) != WorkerState::kActive) waiters_.stop_offering(number);
}

void Shard::Impl::note_worker(const Task& task) {
  if (task.kind != Task::Kind::kCommand) {
    if (workers_.seen(task.worker, now_)) {
      const WorkerInfo& worker = task.worker;
      observer_.worker_seen(worker.id.view(), worker.version, worker.sdk, now_);
    }
    if (task.claims) workers_.claims(std::get<core::Claim>(task.commands.back()));
    return;
  }
  // A heartbeat does not name its worker; its first job does.
  const auto* heartbeat = std::get_if<core::Heartbeat>(&task.commands.front());
  if (heartbeat == nullptr || heartbeat->items.empty()) return;
  const core::HeartbeatItem& item = heartbeat->items.front();
  const auto view = machine_->view(item.id);
  if (view != nullptr && view->job.token == item.token) {
    workers_.alive(view->job.latest.worker.view(), now_);
  }
}

void Shard::Impl::serve_waiters() {
  for (SharedBytes& queue : machine_->take_woken_queues()) woken_.push_back(std::move(queue));
  look_again_at_hinted();
  if (hard_overloaded()) return;
  while (!woken_.empty() && serve_queue(woken_.front())) woken_.pop_front();
}

void Shard::Impl::look_again_at_hinted() {
  for (; !hinted_.empty() && hinted_.front().again_at <= now_; hinted_.pop_front()) {
    SharedBytes& queue = hinted_.front().queue;
    if (waiters_.next_of(queue.view(), 0)) woken_.push_back(std::move(queue));
  }
}

// False: the row is full, and more waiters may be servable.
bool Shard::Impl::serve_queue(const SharedBytes& queue) {
  const Prefetch nothing;
  absl::flat_hash_set<std::string> fruitless;
  absl::flat_hash_set<std::string> all_told;
  std::size_t told = 0;  // the number of waiters that may come for a job
  for (auto number = waiters_.next_of(queue.view(), 0); number;
       number = waiters_.next_of(queue.view(), *number)) {
    if (row_is_full()) return false;
    const Waiter& waiter = waiters_.at(*number).item;
    if (waiter.wants != Waiter::Wants::kJobs) {
      if (all_told.contains(waiter.types_key)) continue;
      if (machine_->claimable(queue.view(), waiter.claim.types, now_, told + 1) > told) {
        if (told++ == 0) hinted_.push_back({now_ + kHintPatience, queue});
        end_wait(waiters_.take(*number), {});
      } else {
        all_told.insert(waiter.types_key);
      }
      continue;
    }
    if (fruitless.contains(waiter.types_key)) continue;
    auto reply = std::get<core::ClaimReply>(decide(waiter.claim, nothing));
    measure();
    if (!reply.jobs.empty()) {
      end_wait(waiters_.take(*number), std::move(reply));
    } else if (waiter.types_key.empty()) {
      return true;  // it takes any type: nothing is left
    } else {
      fruitless.insert(waiter.types_key);
    }
  }
  return true;
}

// Reports the step's events to workers, and to callers that wait for the end of a lease.
void Shard::Impl::tell_workers() {
  SharedBytes alive;  // the last worker reported: a worker's jobs mostly end together
  for (const core::Event& event : events_) {
    if (const auto* cancel = std::get_if<core::CancelRequested>(&event)) {
      workers_.add_command(cancel->worker.view(),
                           {WorkerCommand::Kind::kCancel, cancel->job.id, cancel->token});
      tell_worker(cancel->worker.view());
      tell_holders(cancel->job.id);
    } else if (const auto* ended = std::get_if<core::AttemptEnded>(&event)) {
      tell_holders(ended->job.id);
      const bool by_itself = ended->outcome != core::AttemptOutcome::kLeaseExpired &&
                             ended->outcome != core::AttemptOutcome::kTimedOut;
      if (!by_itself || ended->worker == alive) continue;
      alive = ended->worker;
      workers_.alive(alive.view(), now_);
    } else if (const auto* finished = std::get_if<core::Finished>(&event)) {
      tell_holders(finished->job.id);
    }
  }
}

void Shard::Impl::tell_holders(const JobId& job) {
  if (holders_.empty()) return;
  for (const ReplyAddress& reply_to : holders_.take_of(job))
    answer(reply_to, core::Reply(job_reply(job)));
}

// Do this before the next task, which may revive the job, or wait for another end of it.
void Shard::Impl::answer_endings() {
  for (const core::Ending& ending : machine_->take_endings()) {
    if (watchers_.empty()) continue;
    for (const ReplyAddress& reply_to : watchers_.take_of(ending.id)) {
      answer(reply_to, core::Reply(ended_job(ending)));
    }
  }
}

// The job for callers that waited for its end: in its current state; in its final state, if it is
// no longer kept; or deleted. For a workflow there is no job.
core::JobReply Shard::Impl::ended_job(const core::Ending& ending) {
  if (machine_->workflows().find(ending.id) != nullptr) return {};
  auto standing = std::get<core::JobReply>(decide(core::GetJob{ending.id}, Prefetch{}));
  if (standing.job != nullptr && core::is_terminal(standing.job->job.state)) return standing;
  core::JobReply last = job_reply(ending.id);
  const bool shown = last.job != nullptr && core::is_terminal(last.job->job.state);
  if (ending.deleted || !shown) return {nullptr, true};
  return last;
}

void Shard::Impl::end_waits() {
  for (const auto number : waiters_.expired(now_)) end_wait(waiters_.take(number), {});
  for (Watchers* watchers : {&watchers_, &holders_}) {
    for (const auto number : watchers->expired(now_)) {
      const Watchers::Entry entry = watchers->take(number);
      answer(entry.reply_to, core::Reply(job_reply(entry.item)));
    }
  }
  for (const auto number : event_waits_.expired(now_)) {
    answer(event_waits_.take(number).reply_to, std::monostate{});
  }
  for (const auto number : question_waits_.expired(now_)) {
    answer(question_waits_.take(number).reply_to, JobQuestions{});
  }
  for (const auto number : operation_waits_.expired(now_)) {
    answer(operation_waits_.take(number).reply_to, OperationWork{});
  }
  for (const auto number : projection_waits_.expired(now_)) {
    answer(projection_waits_.take(number).reply_to, Unavailable::kStorage);
  }
}

void Shard::Impl::measure() {
  for (; measured_ < events_.size(); ++measured_) {
    row_bytes_ += engine::row_bytes(events_[measured_]);
  }
}

bool Shard::Impl::row_is_full() const { return row_bytes_ >= kRowBudgetBytes; }

void Shard::Impl::seal() {
  core::EventBatch batch{now_, std::exchange(events_, {})};
  events_.reserve(batch.events.size());  // the next row is of about the same size
  measured_ = 0;
  row_bytes_ = 0;
  retention_.learn(batch);
  operations_.learn(batch, next(pipeline_.head()));
  projector_.row_decided(now_);
  pipeline_.seal(std::move(batch), std::exchange(taken_, {}));
}

}  // namespace millrace::engine
