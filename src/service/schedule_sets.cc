// All schedules of one owner at once.
#include <algorithm>
#include <map>
#include <utility>

#include "service/convert.h"
#include "service/schedule_spec.h"
#include "service/schedules.h"
#include "service/visibility.h"

namespace millrace::service {
namespace {

// The most pending requests at once.
constexpr std::size_t kAtOnce = 500;

std::string pointer_to(std::string_view name) {
  std::string pointer = "/schedules/";
  for (const char c : name) {
    if (c == '/') {
      pointer += "~1";
    } else if (c == '~') {
      pointer += "~0";
    } else {
      pointer += c;
    }
  }
  return pointer;
}

using Standing = std::map<std::string, core::Schedule, std::less<>>;

// Sends all, kAtOnce at a time. The first answer that is not a reply refuses the whole set.
Task<Answered<std::vector<core::ScheduleReply>>> ask_each(Caller& caller,
                                                          std::vector<core::Command> commands) {
  std::vector<core::ScheduleReply> replies;
  for (std::size_t begin = 0; begin < commands.size(); begin += kAtOnce) {
    std::vector<engine::Request> requests;
    const std::size_t end = std::min(begin + kAtOnce, commands.size());
    for (std::size_t i = begin; i < end; ++i) requests.emplace_back(std::move(commands[i]));
    auto all = caller.answers_to(std::move(requests));
    std::vector<engine::Answer> answers = co_await all;
    for (engine::Answer& answer : answers) {
      auto* const reply = reply_in<core::ScheduleReply>(answer);
      if (reply == nullptr) co_return refused(caller.problem_of(answer));
      replies.push_back(std::move(*reply));
    }
  }
  co_return replies;
}

// The owner's schedules, and those with a name in the set.
Task<Answered<Standing>> look_at(Caller& caller, const api::ScheduleSet& set) {
  Standing standing;
  core::GetSchedules get;
  get.of_owner = true;
  get.managed_by = SharedBytes(set.managed_by);
  do {
    auto reply = co_await caller.ask(get);
    if (!reply) co_return refused(reply);
    for (core::Schedule& schedule : reply->schedules) {
      std::string name(schedule.name.view());
      standing.insert_or_assign(std::move(name), std::move(schedule));
    }
    get.after = reply->next;
  } while (!get.after.empty());
  std::vector<core::Command> questions;
  for (const auto& [name, spec] : set.schedules) {
    if (standing.contains(name)) continue;
    core::GetSchedules one;
    one.name = SharedBytes(name);
    questions.emplace_back(std::move(one));
  }
  auto replies = co_await ask_each(caller, std::move(questions));
  if (!replies) co_return refused(replies);
  for (core::ScheduleReply& reply : *replies) {
    if (reply.schedules.empty()) continue;
    std::string name(reply.schedules.front().name.view());
    standing.insert_or_assign(std::move(name), std::move(reply.schedules.front()));
  }
  co_return standing;
}

struct Plan {
  std::vector<core::Command> commands;
  api::SetOutcome outcome;
};

Answered<Plan> plan_set(Caller& caller, const api::ScheduleSet& set, const Standing& standing) {
  Plan plan;
  for (const auto& [name, spec] : set.schedules) {
    const std::string where = pointer_to(name);
    if (auto admitted = admits_schedule_name(name); !admitted) {
      return refused(
          api::make_fault(api::FieldError::Place::kPointer, where, admitted.error().detail));
    }
    if (!allows_schedule(caller, spec)) return refused(no_queue_for_token());
    auto made = to_core(*caller.services.zones, caller.now(), spec, where);
    if (!made) return refused(made);
    const auto found = standing.find(name);
    core::SetSchedule command;
    command.name = SharedBytes(name);
    command.spec = std::move(*made);
    command.paused = spec.paused;
    command.incarnation = caller.ids.random();
    command.if_version = 0;
    if (found == standing.end()) {
      plan.outcome.created.push_back(name);
      plan.commands.emplace_back(std::move(command));
      continue;
    }
    const core::Schedule& now = found->second;
    const std::string_view owner = now.spec.managed_by.view();
    if (!allows_schedule(caller, now.spec)) return refused(no_queue_for_token());
    if (!owner.empty() && owner != set.managed_by && !set.force) {
      return refused(api::ProblemCode::kInvalidState,
                     "schedule " + name + " is managed by " + std::string(owner) +
                         "; choose another name, or send \"force\": true to take it over");
    }
    if (now.spec == command.spec && spec.paused.value_or(now.paused) == now.paused) {
      plan.outcome.unchanged.push_back(name);
      continue;
    }
    command.if_version = now.version;
    plan.outcome.updated.push_back(name);
    plan.commands.emplace_back(std::move(command));
  }
  if (set.prune) {
    std::vector<std::string_view> named;
    for (const auto& [name, spec] : set.schedules) named.push_back(name);
    std::ranges::sort(named);
    for (const auto& [name, schedule] : standing) {
      if (schedule.spec.managed_by.view() != set.managed_by) continue;
      if (std::ranges::binary_search(named, std::string_view(name))) continue;
      if (!allows_schedule(caller, schedule.spec)) continue;
      plan.outcome.deleted.push_back(name);
      plan.commands.emplace_back(core::DeleteSchedule{schedule.name, schedule.version});
    }
  }
  for (auto* names : {&plan.outcome.created, &plan.outcome.updated, &plan.outcome.unchanged}) {
    std::ranges::sort(*names);
  }
  return plan;
}

}  // namespace

Task<Answered<api::SetOutcome>> apply_schedules(Caller& caller, const api::ScheduleSet& set) {
  auto standing = co_await look_at(caller, set);
  if (!standing) co_return refused(standing);
  auto plan = plan_set(caller, set, *standing);
  if (!plan) co_return refused(plan);
  if (set.dry_run) co_return std::move(plan->outcome);
  auto replies = co_await ask_each(caller, std::move(plan->commands));
  if (!replies) co_return refused(replies);
  for (const core::ScheduleReply& reply : *replies) {
    if (reply.refusal) co_return refused(to_problem(reply.refusal, "schedule"));
  }
  co_return std::move(plan->outcome);
}

}  // namespace millrace::service
