// Workflows and their members in the shapes of the API, and why a workflow has not ended.
#include <fmt/format.h>

#include <utility>

#include "engine/schedules/planner.h"
#include "service/schedules.h"
#include "service/workflow_reads.h"

namespace millrace::service {
namespace {

std::vector<api::MemberNeed> needs_of(const core::MemberView& member) {
  std::vector<api::MemberNeed> needs;
  for (std::size_t i = 0; i < member.spec.needs.size(); ++i) {
    needs.push_back({member.need_refs[i].view(), member.spec.needs[i].on});
  }
  return needs;
}

std::string jobs(std::uint64_t count) {
  return fmt::format("{} job{}", count, count == 1 ? "" : "s");
}

void add(api::WorkflowWhy& why, api::WorkflowBlocking blocking, const std::string& sentence) {
  why.blocking.push_back(std::move(blocking));
  if (!why.summary.empty()) why.summary += ' ';
  why.summary += sentence;
}

void describe(const Caller& caller, const core::WorkflowWhy& found, api::WorkflowWhy& why) {
  if (found.open) {
    add(why, {.code = "open"}, "The workflow is open: it ends only after it is closed.");
  }
  if (found.active > 0) {
    api::WorkflowBlocking& active = why.blocking.emplace_back();
    active.code = "active";
    active.count = found.active;
    // Some may be in queues that the token does not open.
    why.redacted = caller.limited();
    if (!why.redacted) active.jobs = found.active_jobs;
    why.summary += fmt::format("{}{} of members {} not ended.", why.summary.empty() ? "" : " ",
                               jobs(found.active), found.active == 1 ? "has" : "have");
  }
  if (found.at_max_active) {
    add(why, {.code = "max_active"}, "Other members wait, because max_active of them are active.");
  }
  if (found.releasing > 0 && !found.at_max_active) {
    add(why, {.code = "releasing", .count = found.releasing},
        fmt::format("{} of members {} about to be submitted.", jobs(found.releasing),
                    found.releasing == 1 ? "is" : "are"));
  }
  for (const core::InTransit& shard : found.in_transit) {
    add(why, {.code = "in_transit", .count = shard.count, .shard = shard.shard},
        fmt::format("{} {} on the way to shard {}.", jobs(shard.count),
                    shard.count == 1 ? "is" : "are", shard.shard));
  }
  if (found.overloaded) {
    add(why, {.code = "overloaded"},
        "The server's memory is full, and members are released as others end.");
  }
}

}  // namespace

api::Workflow to_api(const Caller& caller, const WorkflowFound& found) {
  const core::Workflow& workflow = *found.workflow;
  const core::WorkflowSpec& spec = workflow.spec;
  api::Workflow made;
  made.id = workflow.id;
  made.name = spec.name.view();
  made.queue = spec.queue.view();
  made.state = workflow.state;
  made.reason = workflow.reason;
  made.cancel_reason = workflow.cancel_reason.view();
  made.generation = workflow.generation;
  made.version = workflow.version;
  made.open = workflow.open;
  made.created_at = workflow.created_at;
  made.timeout_at = workflow.timeout_at;
  made.ended_at = workflow.ended_at;
  made.members = workflow.members;
  made.counts = workflow.counts;
  made.redacted = found.redacted;
  for (const core::CallbackRun& run : workflow.callbacks) {
    for (const core::Callback& callback : spec.callbacks) {
      if (callback.role != run.role) continue;
      if (caller.allows_queue(callback.queue.view())) {
        made.callbacks.push_back({run.role, run.job});
      } else {
        made.redacted = true;
      }
    }
  }
  for (const SharedBytes& tag : spec.tags) made.tags.push_back(tag.view());
  for (const auto& [key, value] : spec.meta) made.meta.emplace_back(key.view(), value.view());
  made.on_member_failed = spec.on_member_failed;
  if (spec.max_active > 0) made.max_active = spec.max_active;
  made.timeout = spec.timeout;
  made.result_from = spec.result_from.view();
  made.keep_members = spec.keep_members;
  made.unique_key = spec.unique_key.view();
  if (found.result) made.result = found.result->view();
  return made;
}

MemberShape::MemberShape(const Caller& caller, const MemberFound& found,
                         const api::MemberInclude& include, bool whole) {
  const core::MemberView& member = found.member;
  shape_.number = member.number;
  shape_.ref = member.spec.ref.view();
  shape_.state = member.fate.state;
  shape_.reason = member.fate.reason;
  shape_.generation = member.fate.round;
  shape_.closed = !found.open;
  shape_.queue = member.spec.queue.view();
  if (member.job != core::kNoJob) shape_.job_id = member.job;
  if (include.result) {
    shape_.redacted = !caller.sees_payloads();
    if (!shape_.redacted) shape_.result = found.job == nullptr ? "" : found.job->job.result.view();
  }
  if (include.job && found.job != nullptr) {
    job_ = std::make_unique<JobShape>(found.job->job, shown_to(caller, api::Include{}));
    shape_.job = &job_->job();
  }
  if (whole) define(caller, member);
}

void MemberShape::define(const Caller& caller, const core::MemberView& member) {
  api::MemberDefinition& definition = shape_.definition.emplace();
  definition.needs = needs_of(member);
  definition.needs_any = member.spec.any;
  for (const SharedBytes& ref : member.waits_for) definition.waits_for.push_back(ref.view());
  auto spec = engine::read_template(member.spec.job);
  if (!spec) return;
  spec_ = std::move(*spec);
  fill_job(spec_, definition.job);
  definition.job.redacted = !caller.sees_payloads();
}

api::GraphLine to_graph_line(const core::MemberView& member) {
  return {member.number, member.spec.ref.view(), member.fate.state, needs_of(member)};
}

Task<Answered<api::WorkflowWhy>> why_workflow(Caller& caller, const JobId& id) {
  core::GetWorkflow get;
  get.id = id;
  get.why = true;
  auto reply = co_await find_workflow(caller, get);
  if (!reply) co_return refused(reply);
  api::WorkflowWhy why;
  why.id = id;
  why.state = reply->workflow->state;
  why.at = caller.now();
  if (terms::has_ended(why.state)) {
    add(why, {.code = "ended"}, "The workflow has ended.");
  } else if (reply->why) {
    describe(caller, *reply->why, why);
    if (why.blocking.empty()) why.summary = "Nothing holds the workflow back: it is about to end.";
  }
  co_return why;
}

}  // namespace millrace::service
