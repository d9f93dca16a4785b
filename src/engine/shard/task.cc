#include "engine/shard/task.h"

#include <algorithm>
#include <concepts>
#include <utility>

#include "base/check.h"
#include "engine/kinds.h"
#include "engine/schedules/planner.h"
#include "engine/shard/row_budget.h"
#include "store/submission_codec.h"

namespace millrace::engine {
namespace {

template <typename T>
std::vector<T> take_front(std::vector<T>& items, std::size_t count) {
  const auto end = items.begin() + static_cast<std::ptrdiff_t>(count);
  std::vector<T> front(std::make_move_iterator(items.begin()), std::make_move_iterator(end));
  items.erase(items.begin(), end);
  return front;
}

// The part has all of the whole except the list.
Task part_of(Task& task, core::Command command) {
  if (task.gather == nullptr) task.gather = std::make_shared<Gather>();
  Task part;
  part.kind = task.kind;
  part.reply_to = task.reply_to;
  part.commands.push_back(std::move(command));
  part.gather = task.gather;
  part.more = true;
  return part;
}

template <typename Command>
concept NamesIds = HasItems<Command> && requires(Command& c) {
  { c.ids } -> std::same_as<std::vector<JobId>&>;
};

template <NamesIds Command>
std::optional<Task> split_ids_of(Task& task, Command& command, std::size_t ids) {
  if (command.ids.size() <= ids) return std::nullopt;
  std::vector<JobId> rest = std::exchange(command.ids, {});
  Command part = command;
  part.ids = take_front(rest, ids);
  command.ids = std::move(rest);
  return part_of(task, std::move(part));
}

// Each part begins where the previous one ends.
std::optional<Task> split_ids_of(Task& task, core::StepOperation& step, std::size_t items) {
  if (step.items.size() <= items) return std::nullopt;
  std::vector<core::StepOperation::Item> rest = std::exchange(step.items, {});
  core::StepOperation part = step;
  part.items = take_front(rest, items);
  part.next = part.items.back().ord;
  part.ends = false;
  step.items = std::move(rest);
  step.below = part.next;
  return part_of(task, std::move(part));
}

Task poll_task(Poll poll, ReplyAddress reply_to) {
  Task task{.kind = Task::Kind::kPoll,
            .reply_to = reply_to,
            .wait = poll.wait,
            .worker = std::move(poll.worker),
            .goodbye = poll.goodbye};
  task.commands.emplace_back(std::move(poll.acks));
  task.commands.emplace_back(std::move(poll.heartbeats));
  task.commands.emplace_back(std::move(poll.logs));
  if (poll.claim) {
    poll.claim->worker = task.worker.id;
    task.commands.emplace_back(std::move(*poll.claim));
    task.claims = true;
  }
  return task;
}

}  // namespace

Task make_task(Request request, ReplyAddress reply_to) {
  if (auto* command = std::get_if<core::Command>(&request)) {
    Task task{.kind = Task::Kind::kCommand, .reply_to = reply_to};
    task.commands.push_back(std::move(*command));
    return task;
  }
  if (auto* claim = std::get_if<WaitingClaim>(&request)) {
    Task task{.kind = Task::Kind::kClaim,
              .reply_to = reply_to,
              .wait = claim->wait,
              .worker = std::move(claim->worker),
              .claims = true};
    claim->claim.worker = task.worker.id;
    task.commands.emplace_back(std::move(claim->claim));
    return task;
  }
  if (auto* poll = std::get_if<Poll>(&request)) return poll_task(std::move(*poll), reply_to);
  if (const auto* find = std::get_if<FindJob>(&request)) {
    return make_task(core::Command(core::GetJob{find->id}), reply_to);
  }
  return {.kind = Task::Kind::kOther, .reply_to = reply_to, .other = std::move(request)};
}

std::optional<Task> split_ids(Task& task, std::size_t ids) {
  if (task.kind != Task::Kind::kCommand) return std::nullopt;
  return std::visit(
      [&]<typename Command>(Command& command) -> std::optional<Task> {
        if constexpr (NamesIds<Command> || std::same_as<Command, core::StepOperation>) {
          return split_ids_of(task, command, ids);
        } else {
          return std::nullopt;
        }
      },
      task.commands.front());
}

std::optional<Task> split_jobs(Task& task, std::size_t bytes) {
  if (task.kind != Task::Kind::kCommand) return std::nullopt;
  auto* enqueue = std::get_if<core::Enqueue>(&task.commands.front());
  if (enqueue == nullptr || enqueue->atomicity == core::Atomicity::kAll) return std::nullopt;
  std::size_t fitting = 0;
  std::size_t taken = 0;
  for (const core::JobSpec& spec : enqueue->jobs) {
    taken += row_bytes(spec);
    if (fitting > 0 && taken > bytes) break;
    ++fitting;
  }
  if (fitting == enqueue->jobs.size()) return std::nullopt;
  std::vector<core::JobSpec> rest = std::exchange(enqueue->jobs, {});
  core::Enqueue part = *enqueue;
  part.jobs = take_front(rest, fitting);
  enqueue->jobs = std::move(rest);
  return part_of(task, std::move(part));
}

bool refuse_once(Task& task) {
  return task.gather == nullptr || !std::exchange(task.gather->refused, true);
}

Unavailable told_of(const Task& task, Unavailable why) {
  const bool begun =
      task.gather != nullptr && !std::holds_alternative<std::monostate>(task.gather->reply);
  return begun ? Unavailable::kUnknown : why;
}

bool is_refused(const Task& task) { return task.gather != nullptr && task.gather->refused; }

void gather_into(core::Reply& whole, core::Reply part) {
  if (auto* items = std::get_if<core::ItemsReply>(&whole)) {
    auto& more = std::get<core::ItemsReply>(part).items;
    std::move(more.begin(), more.end(), std::back_inserter(items->items));
  } else if (auto* enqueued = std::get_if<core::EnqueueReply>(&whole)) {
    auto& more = std::get<core::EnqueueReply>(part).items;
    std::move(more.begin(), more.end(), std::back_inserter(enqueued->items));
  } else if (std::holds_alternative<core::OperationReply>(whole)) {
    // After a refusal the later parts do nothing.
    auto& reply = std::get<core::OperationReply>(whole);
    if (!reply.refusal) reply = std::get<core::OperationReply>(std::move(part));
  } else {
    MILLRACE_CHECK(std::holds_alternative<std::monostate>(whole));
    whole = std::move(part);
  }
}

std::size_t row_bytes(const Task& task) {
  std::size_t bytes = 0;
  for (const core::Command& command : task.commands) bytes += row_bytes(command);
  return bytes;
}

std::string_view brings_job_of(const Task& task) {
  if (!task.from_inbox) return {};
  const core::Command& command = task.commands.front();
  if (const auto* const create = std::get_if<core::CreateWorkflow>(&command)) {
    return create->spec.queue.view();
  }
  const auto* const enqueue = std::get_if<core::Enqueue>(&command);
  return enqueue == nullptr ? std::string_view() : enqueue->jobs.front().queue.view();
}

namespace {

store::EventFormat format_of(const std::vector<core::JobSpec>& jobs) {
  store::EventFormat format = store::EventFormat::kFirst;
  for (const core::JobSpec& spec : jobs) format = std::max(format, store::format_of(spec));
  return format;
}

// One that cannot be read is refused later.
store::EventFormat format_of(const SharedBytes& submission) {
  const auto job = read_template(submission);
  return job ? store::format_of(*job) : store::EventFormat::kFirst;
}

// Of members or callbacks.
template <typename Member>
store::EventFormat format_of(const std::vector<Member>& members) {
  store::EventFormat format = store::EventFormat::kFirst;
  for (const Member& member : members) format = std::max(format, format_of(member.job));
  return format;
}

store::EventFormat format_of(const core::CreateWorkflow& create) {
  return std::max({store::EventFormat::kWorkflows, format_of(create.members),
                   format_of(create.spec.callbacks)});
}

store::EventFormat format_of(const core::AckItem& item) {
  store::EventFormat format = format_of(item.enqueue);
  for (const core::CreateWorkflow& create : item.workflows) {
    format = std::max(format, format_of(create));
  }
  if (item.grow == nullptr) return format;
  return std::max({format, store::EventFormat::kWorkflows, format_of(item.grow->members)});
}

store::EventFormat format_of(const core::ScheduleSpec& spec) {
  if (spec.workflow.empty()) return format_of(spec.job);
  const auto workflow = read_workflow_template(spec.workflow);
  return workflow ? format_of(*workflow) : store::EventFormat::kWorkflows;
}

store::EventFormat format_of(const core::Command& command) {
  store::EventFormat format = facts_of(command).format;
  if (const auto* enqueue = std::get_if<core::Enqueue>(&command)) {
    format = std::max(format, format_of(enqueue->jobs));
  } else if (const auto* ack = std::get_if<core::Ack>(&command)) {
    for (const core::AckItem& item : ack->items) format = std::max(format, format_of(item));
  } else if (const auto* schedule = std::get_if<core::SetSchedule>(&command)) {
    format = std::max(format, format_of(schedule->spec));
  } else if (const auto* note = std::get_if<core::NoteScheduleRun>(&command)) {
    if (note->workflow) format = std::max(format, store::EventFormat::kWorkflows);
  } else if (const auto* create = std::get_if<core::CreateWorkflow>(&command)) {
    format = std::max(format, format_of(*create));
  } else if (const auto* add = std::get_if<core::AddMembers>(&command)) {
    format = std::max(format, format_of(add->members));
  }
  return format;
}

}  // namespace

store::EventFormat format_of(const Task& task) {
  store::EventFormat format = store::EventFormat::kFirst;
  for (const core::Command& command : task.commands) format = std::max(format, format_of(command));
  return format;
}

bool reads_only(const Task& task) {
  if (task.kind == Task::Kind::kOther) return facts_of(task.other).effect == Effect::kReads;
  return std::ranges::all_of(task.commands, [](const core::Command& command) {
    return facts_of(command).effect == Effect::kReads;
  });
}

bool finishes_work(const Task& task) {
  if (task.kind == Task::Kind::kPoll) return facts_of_kind<Poll>().effect == Effect::kEnds;
  return task.kind == Task::Kind::kCommand &&
         facts_of(task.commands.front()).effect == Effect::kEnds;
}

}  // namespace millrace::engine
