#include "service/findings/look.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "service/administration.h"
#include "service/findings/findings.h"
#include "service/insight.h"
#include "service/peer_admission.h"
#include "service/token_admin.h"
#include "service/visibility.h"
#include "service/workers.h"
#include "service/workflow_reads.h"

namespace millrace::service {

Look::Look(Caller& caller, const api::FindingsQuery& query)
    : caller_(caller),
      query_(query),
      found_(static_cast<std::size_t>(query.limit)),
      judge_{query, caller.now(), found_},
      search_until_(caller.services.clock.steady() + kMostTimeForSearches) {
  answer_.at = judge_.now;
}

void Look::saw(std::string_view name, std::size_t count) {
  answer_.looked_at.push_back({name, static_cast<std::int64_t>(count)});
}

void Look::skip(Area about, std::string why) {
  const bool is_told = std::ranges::any_of(answer_.not_looked_at, [&](const auto& part) {
    return part.about == about && part.why == why;
  });
  if (!is_told) answer_.not_looked_at.push_back({about, std::move(why)});
}

Task<api::Findings> Look::run() {
  const bool looks_at_queues = query_.wants(Area::kQueues);
  Takers takers;
  if (looks_at_queues || query_.wants(Area::kWorkers)) co_await workers(takers);
  if (looks_at_queues) co_await queues(takers);
  if (query_.wants(Area::kLimits)) {
    co_await gates(core::LimitKind::kNamed);
    co_await gates(core::LimitKind::kType);
  }
  if (query_.wants(Area::kErrors)) {
    co_await failures();
    co_await groups();
  }
  if (query_.wants(Area::kSchedules)) co_await schedules();
  if (query_.wants(Area::kWorkflows)) {
    co_await workflows(core::WorkflowState::kRunning);
    co_await workflows(core::WorkflowState::kFailed);
  }
  if (query_.wants(Area::kPushTargets)) co_await targets();
  if (query_.wants(Area::kTokens)) tokens();
  if (query_.wants(Area::kNode)) co_await node();
  if (query_.wants(Area::kCluster)) cluster();
  found_.finish(answer_);
  co_return std::move(answer_);
}

// Whether a queue has workers is a fact of the queue, so all workers count for it.
Task<void> Look::workers(Takers& takers) {
  caller_.services.catalog.snapshot()->each(
      core::CatalogKind::kPushTarget, [&](const core::CatalogEntry& entry) {
        if (const auto target = api::read_stored_push_target(entry.body.view()))
          takers.add(*target);
      });
  auto reply = co_await caller_.ask(engine::ListWorkers{});
  if (!reply) co_return skip(Area::kWorkers, reply.error());
  std::size_t seen = 0;
  for (engine::WorkerView& worker : reply->workers) {
    takers.add(worker);
    if (!query_.wants(Area::kWorkers) || !sees_worker(caller_, worker)) continue;
    ++seen;
    if (caller_.access != nullptr) hide_from(*caller_.access, worker);
    judge_worker(judge_, worker);
  }
  if (query_.wants(Area::kWorkers)) saw("workers", seen);
}

Task<void> Look::queues(const Takers& takers) {
  QueueJudge queue_judge(judge_, takers);
  std::vector<core::Queue> waiting;  // a closer look may explain why they wait
  core::GetQueues get;
  get.limit = core::kMaxQueuesPerPage;
  std::size_t seen = 0;
  do {
    auto reply = co_await caller_.ask(get);
    if (!reply) co_return skip(Area::kQueues, reply.error());
    for (core::Queue& queue : reply->queues) {
      if (!caller_.allows_queue(queue.name.view())) continue;
      ++seen;
      const bool waits = queue.oldest_ready_at && takers.types_of(queue.name.view()) != nullptr;
      if (query_.closely && waits && waiting.size() < kMostQueuesSearched) {
        waiting.push_back(std::move(queue));
      } else {
        queue_judge.judge(queue);
      }
    }
    get.after = reply->next;
  } while (!get.after.empty());
  co_await untaken(queue_judge, waiting, takers);
  queue_judge.finish();
  saw("queues", seen);
}

Task<void> Look::gates(core::LimitKind kind) {
  auto admitted = admits_to_all_queues(caller_);
  if (!admitted) co_return skip(Area::kLimits, admitted.error());
  core::GetLimits get;
  get.kind = kind;
  std::vector<core::LimitView> busy;  // a closer look may say more about them
  std::size_t seen = 0;
  do {
    auto reply = co_await caller_.ask(get);
    if (!reply) co_return skip(Area::kLimits, reply.error());
    for (core::LimitView& gate : reply->limits) {
      ++seen;
      judge_gate(judge_, gate);
      const bool named = kind == core::LimitKind::kNamed && gate.use.waiting > 0 && !gate.use.pause;
      if (named && busy.size() < kMostLimitsSearched) busy.push_back(std::move(gate));
    }
    get.after = reply->next;
  } while (!get.after.empty());
  saw(kind == core::LimitKind::kNamed ? "limits" : "types", seen);
  for (const core::LimitView& gate : busy) {
    if (is_full(gate)) co_await holders(gate);
    if (query_.closely && gate.limit.settings.bounds.rate) co_await costs(gate);
  }
}

Task<void> Look::failures() {
  api::StatsQuery by_type;
  by_type.window = by_type.step = query_.window;
  by_type.by = api::StatsBy::kType;
  auto reply = co_await get_stats(caller_, by_type);
  if (!reply) co_return skip(Area::kErrors, reply.error());
  judge_types(judge_, reply->stats);
}

Task<void> Look::groups() {
  api::ErrorGroupsQuery open;
  open.statuses = {api::ErrorStatus::kOpen};
  open.limit = static_cast<std::int64_t>(engine::kMaxErrorGroups);
  auto page = co_await list_error_groups(caller_, open);
  if (!page) co_return skip(Area::kErrors, page.error());
  saw("error_groups", page->groups.size());
  for (const ErrorGroupAnswer& group : page->groups) judge_dead(judge_, group);
  if (query_.closely) co_await tried(page->groups);
}

Task<void> Look::schedules() {
  core::GetSchedules get;
  std::vector<std::string> active;
  std::int64_t read = 0;
  std::size_t seen = 0;
  do {
    auto reply = co_await caller_.ask(get);
    if (!reply) co_return skip(Area::kSchedules, reply.error());
    for (const core::Schedule& schedule : reply->schedules) {
      if (!caller_.allows_queue(schedule.spec.queue.view())) continue;
      ++seen;
      judge_schedule(judge_, schedule);
      const bool fires = core::state_of(schedule) == core::ScheduleState::kActive;
      if (query_.closely && fires && active.size() < kMostSchedulesSearched) {
        active.emplace_back(schedule.name.view());
      }
    }
    read += static_cast<std::int64_t>(reply->schedules.size());
    get.after = reply->next;
    if (read >= kMostSchedulesLooked && !get.after.empty()) {
      skip(Area::kSchedules, "there are too many schedules: the last names were not looked at");
      break;
    }
  } while (!get.after.empty());
  saw("schedules", seen);
  if (query_.closely) co_await runs(active);
}

// The end of the newest member's job; without one, or if it is gone, the workflow's creation.
Task<Time> Look::idle_since(const core::Workflow& workflow) {
  if (workflow.members == 0) co_return workflow.created_at;
  core::GetWorkflow get;
  get.id = workflow.id;
  get.first = workflow.members - 1;
  get.limit = 1;
  auto reply = co_await caller_.ask(std::move(get));
  if (!reply || reply->members.empty()) co_return workflow.created_at;
  auto job = co_await find_job(caller_, reply->members.front().job, api::Include());
  const bool known = job && (*job)->job.finished_at;
  co_return known ? *(*job)->job.finished_at : workflow.created_at;
}

Task<void> Look::workflows(core::WorkflowState state) {
  api::WorkflowListQuery list;
  list.states = {state};
  list.page.limit = api::kMaxListLimit;
  std::size_t seen = 0;
  std::size_t idle = 0;
  do {
    auto page = co_await list_workflows(caller_, list);
    if (!page) co_return skip(Area::kWorkflows, page.error());
    for (const core::Workflow& workflow : page->workflows) {
      if (state == core::WorkflowState::kFailed) {
        judge_late_success(judge_, workflow);
      } else if (may_be_idle(workflow, judge_.now) && ++idle <= kMostIdleLooked) {
        judge_idle(judge_, workflow, co_await idle_since(workflow));
      }
    }
    seen += page->workflows.size();
    list.page.cursor = page->next;
    if (seen >= kMostWorkflowsLooked && !list.page.cursor.empty()) {
      skip(Area::kWorkflows, "there are too many workflows: the oldest were not looked at");
      break;
    }
  } while (!list.page.cursor.empty());
  if (state == core::WorkflowState::kRunning) saw("workflows", seen);
}

Task<void> Look::targets() {
  api::Page all;
  all.limit = kMostTargetsLooked;
  auto page = co_await list_push_targets(caller_, all);
  if (!page) co_return skip(Area::kPushTargets, page.error());
  saw("push_targets", page->targets.size());
  for (const PushTargetAnswer& target : page->targets) judge_target(judge_, target);
}

namespace {

// The scope that the call for these facts needs.
Answered<> admits_administrator(const Caller& caller) {
  if (caller.access != nullptr && !caller.access->allows(api::Scope::kAdmin)) {
    return refused(lacks_scope(api::Scope::kAdmin));
  }
  return {};
}

}  // namespace

void Look::tokens() {
  auto admitted = admits_administrator(caller_);
  if (!admitted) return skip(Area::kTokens, admitted.error());
  api::Page page;
  page.limit = api::kMaxListLimit;
  std::size_t seen = 0;
  do {
    auto listed = list_tokens(caller_, page);
    if (!listed) return skip(Area::kTokens, listed.error());
    for (const api::TokenInfo& token : listed->tokens) judge_token(judge_, token);
    seen += listed->tokens.size();
    page.cursor = listed->next;
  } while (!page.cursor.empty());
  saw("tokens", seen);
}

Task<void> Look::node() {
  NodeName self{.id = caller_.services.operations.about().node};
  const api::Cluster cluster = caller_.services.operations.cluster();
  if (cluster.nodes.size() > 1) {
    const auto me = std::ranges::find_if(cluster.nodes, &api::NodeInfo::self);
    const bool named = me != cluster.nodes.end() && !me->name.empty();
    self.name = "node " + (named ? me->name : self.id);
  }
  const ReadinessAnswer ready = readiness(caller_);
  if (ready.checks) {
    for (const ReadinessCheck& check : *ready.checks) judge_check(judge_, self, check);
  }
  auto admitted = admits_administrator(caller_);
  if (!admitted) co_return skip(Area::kNode, admitted.error());
  auto facts = co_await diagnosis(caller_);
  if (!facts) co_return skip(Area::kNode, facts.error());
  judge_diagnosis(judge_, self, *facts);
}

void Look::cluster() {
  auto admitted = admits_administrator(caller_);
  if (!admitted) return skip(Area::kCluster, admitted.error());
  const auto known = nodes(caller_);
  if (!known) return skip(Area::kCluster, known.error());
  judge_cluster(judge_, *known);
  saw("nodes", known->nodes.size());
}

Task<Answered<api::Findings>> get_findings(Caller& caller, const api::FindingsQuery& query) {
  Look look(caller, query);
  Task<api::Findings> looking = look.run();
  co_return co_await looking;
}

}  // namespace millrace::service
