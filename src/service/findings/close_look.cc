#include <algorithm>
#include <chrono>
#include <iterator>
#include <string>
#include <utility>

#include "service/convert.h"
#include "service/findings/look.h"
#include "service/findings/words.h"
#include "service/schedules.h"
#include "terms/job.h"

namespace millrace::service {
namespace {

using core::Comparison;
using core::Condition;
using core::JobField;

Condition is(JobField field, std::vector<std::string> values) {
  Condition condition;
  condition.field = field;
  condition.values = std::move(values);
  return condition;
}

std::string text(core::State state) { return std::string(terms::name_of(state)); }

}  // namespace

bool Look::has_time(Area about) {
  if (caller_.client_gone()) return false;
  if (caller_.services.clock.steady() < search_until_) return true;
  skip(about, "the searches took too long; some were left out");
  return false;
}

Task<std::vector<core::Job>> Look::search(engine::JobFilter filter, Area about) {
  if (caller_.limited()) {
    filter.conditions.push_back(is(JobField::kQueue, caller_.access->settings().queues));
  }
  const auto left =
      std::chrono::duration_cast<Duration>(search_until_ - caller_.services.clock.steady());
  engine::JobQuery query;
  query.filter = std::move(filter);
  query.limit = kMostJobsSeen;
  auto read = [&](const std::stop_token& gone) {
    query.budget = {std::min(std::max(left, Duration{1}), kMostTimeForSearch), gone};
    return caller_.services.reads.list(query);
  };
  auto page = co_await caller_.read(Lane::kSearches, read, Caller::Patience::kWait);
  if (page) co_return std::move(page->jobs);
  skip(about, page.error());
  co_return std::vector<core::Job>();
}

Task<void> Look::untaken(QueueJudge& queues, const std::vector<core::Queue>& waiting,
                         const Takers& takers) {
  for (const core::Queue& queue : waiting) {
    const std::string name(queue.name.view());
    const auto* const types = takers.types_of(name);
    bool explained = false;
    if (types != nullptr && has_time(Area::kQueues)) {
      engine::JobFilter filter;
      filter.conditions = {is(JobField::kState, {text(core::State::kReady)}),
                           is(JobField::kQueue, {name}),
                           is(JobField::kType, {types->begin(), types->end()})};
      filter.conditions.back().negated = true;
      Task<std::vector<core::Job>> searching = search(std::move(filter), Area::kQueues);
      const std::vector<core::Job> jobs = co_await searching;
      if (!jobs.empty()) judge_untaken(judge_, jobs.front());
      explained = jobs.size() >= queue.counts[static_cast<std::size_t>(core::State::kReady)];
    }
    queues.judge(queue, explained);
  }
}

// Memory has them. Without all of them it is unknown when a slot came free last.
Task<void> Look::holders(const core::LimitView& gate) {
  core::GetLimits get;
  get.name = gate.limit.name;
  get.detail = core::LimitDetail::kHolders;
  std::vector<core::LimitHolder> all;
  do {
    auto reply = co_await caller_.ask(get);
    if (!reply) co_return skip(Area::kLimits, reply.error());
    std::ranges::move(reply->holders, std::back_inserter(all));
    get.after = reply->next;
  } while (!get.after.empty() && all.size() < kMostHoldersSeen);
  if (get.after.empty()) judge_holders(judge_, gate, all);
}

Task<void> Look::costs(const core::LimitView& gate) {
  if (!has_time(Area::kLimits)) co_return;
  engine::JobFilter filter;
  filter.conditions = {is(JobField::kState, {text(core::State::kReady)}),
                       is(JobField::kLimit, {std::string(gate.limit.name.view())})};
  Task<std::vector<core::Job>> searching = search(std::move(filter), Area::kLimits);
  const std::vector<core::Job> waiting = co_await searching;
  judge_costs(judge_, gate, waiting);
}

Task<void> Look::runs(const std::vector<std::string>& schedules) {
  for (const std::string& name : schedules) {
    if (!has_time(Area::kSchedules)) co_return;
    auto listed = co_await list_runs(caller_, name);
    if (listed) {
      judge_runs(judge_, name, *listed);
    } else if (listed.error().code != api::ProblemCode::kNotFound) {  // deleted meanwhile
      skip(Area::kSchedules, listed.error());
    }
  }
}

// First the groups whose jobs wait for their next attempt, then the others, each newest first.
Task<void> Look::tried(const std::vector<ErrorGroupAnswer>& groups) {
  const std::int64_t least = std::min(query_.poison_attempts, query_.poison_crashes);
  std::vector<const ErrorGroupAnswer*> chosen;
  for (const bool wait : {true, false}) {
    for (const ErrorGroupAnswer& group : groups) {
      const bool waits = group.group.waiting > group.group.dead;
      if (as_signed(group.group.total) >= least && waits == wait) chosen.push_back(&group);
    }
  }
  if (chosen.size() > kMostGroupsSearched) chosen.resize(kMostGroupsSearched);
  for (const ErrorGroupAnswer* const group : chosen) {
    if (!has_time(Area::kErrors)) co_return;
    Condition tries;
    tries.field = JobField::kAttempt;
    tries.comparison = Comparison::kGreaterEqual;
    tries.number = is_of_lost_leases(*group) ? query_.poison_crashes : query_.poison_attempts;
    engine::JobFilter filter;
    filter.conditions = {
        is(JobField::kState,
           {text(core::State::kRetrying), text(core::State::kReady), text(core::State::kRunning)}),
        std::move(tries), is(JobField::kError, {group->id})};
    Task<std::vector<core::Job>> searching = search(std::move(filter), Area::kErrors);
    const std::vector<core::Job> jobs = co_await searching;
    judge_tried(judge_, *group, jobs);
  }
}

}  // namespace millrace::service
