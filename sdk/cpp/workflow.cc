#include "millrace/workflow.h"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "json_members.h"
#include "millrace/codec.h"
#include "shapes_json.h"
#include "workflow_jobs.h"

namespace millrace::sdk {

bool Workflow::is_final() const {
  return state == "succeeded" || state == "failed" || state == "cancelled" || state == "pruned";
}

WorkflowBuilder::WorkflowBuilder(NewWorkflow options) : NewWorkflow(std::move(options)) {
  for (const NewMember& member : members) {
    if (!member.ref.empty()) refs_.insert(member.ref);
  }
}

Need WorkflowBuilder::add(std::string ref, NewJob job, std::vector<Need> needs, Needed needed) {
  if (ref.empty()) throw std::invalid_argument("a member's ref is empty; add it without a ref");
  if (!refs_.insert(ref).second) {
    throw std::invalid_argument(
        fmt::format("the workflow has a member {} already; refs are unique", ref));
  }
  Need need(ref);
  members.push_back(new_member(std::move(ref), std::move(job), std::move(needs), needed));
  return need;
}

void WorkflowBuilder::add(NewJob job, std::vector<Need> needs, Needed needed) {
  members.push_back(new_member({}, std::move(job), std::move(needs), needed));
}

NewMember new_member(std::string ref, NewJob job, std::vector<Need> needs, Needed needed) {
  NewMember member{.ref = std::move(ref), .job = std::move(job), .needs = std::move(needs)};
  if (needed == Needed::kAny) member.needs_any = true;
  return member;
}

void leave_out_null(NewJob& job) {
  if (job.payload == "null") job.payload.clear();
}

NewJob with_defaults(NewJob job, NewJob defaults) {
  leave_out_null(job);
  leave_out_null(defaults);
  JsonWriter own_text, default_text, merged;
  object(own_text, job);
  object(default_text, defaults);
  const JsonView own(own_text.text());
  merged.begin_object();
  for (const auto& [name, value] : JsonView(default_text.text()).members()) {
    if (!own[name]) merged.key(name).raw(value.text());
  }
  for (const auto& [name, value] : own.members()) merged.key(name).raw(value.text());
  merged.end_object();
  return read_new_job(JsonView(merged.text()));
}

NewWorkflow read_new_workflow(JsonView json) {
  NewWorkflow workflow;
  with_document(json.text(), [&workflow](JsonValue root) { return read_members(root, workflow); });
  return workflow;
}

}  // namespace millrace::sdk
