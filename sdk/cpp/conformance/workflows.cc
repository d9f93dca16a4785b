// Commands that make calls on workflows.
#include "answers.h"
#include "program.h"

namespace millrace::conformance {
namespace {

using sdk::JsonView;
using sdk::JsonWriter;

sdk::Result<std::string> json_of(const sdk::Result<sdk::CreatedWorkflow>& created) {
  if (!created) return std::unexpected(created.error());
  JsonWriter json;
  json.begin_object().key("workflow").raw(created->workflow.json);
  json.key("is_new").boolean(created->is_new).end_object();
  return json.take();
}

// The workflow as an application builds it: member by member.
sdk::Result<std::string> create(sdk::Client& client, JsonView body) {
  sdk::NewWorkflow read = sdk::read_new_workflow(body);
  read.idempotency_key = text_of(body["idempotency_key"]);
  const auto members = std::exchange(read.members, {});
  sdk::WorkflowBuilder flow(std::move(read));
  for (const sdk::NewMember& member : members) {
    const auto needed = member.needs_any.value_or(false) ? sdk::Needed::kAny : sdk::Needed::kAll;
    if (member.ref.empty()) {
      flow.add(member.job, member.needs, needed);
    } else {
      flow.add(member.ref, member.job, member.needs, needed);
    }
  }
  return json_of(client.create_workflow(flow));
}

int limit_of(JsonView command) { return static_cast<int>(command["limit"].integer().value_or(50)); }

sdk::WorkflowFilter workflows_of(JsonView command) {
  const JsonView filter = command["filter"];
  return {.states = texts_of(filter["state"]),
          .queue = text_of(filter["queue"]),
          .name = text_of(filter["name"]),
          .tag = text_of(filter["tag"]),
          .fresh = filter["fresh"].boolean().value_or(false),
          .limit = limit_of(command),
          .cursor = text_of(command["cursor"])};
}

sdk::MemberFilter page_of(JsonView command) {
  return {.state = text_of(command["state"]),
          .include = texts_of(command["include"]),
          .limit = limit_of(command),
          .cursor = text_of(command["cursor"])};
}

sdk::Result<std::string> all_ids(sdk::Client& client, JsonView command) {
  JsonWriter json;
  json.begin_object().key("ids").begin_array();
  for (const auto& workflow : client.all_workflows(workflows_of(command))) {
    if (!workflow) return std::unexpected(workflow.error());
    json.string(workflow->id);
  }
  return json.end_array().end_object().take();
}

sdk::Result<std::string> all_numbers(sdk::Client& client, JsonView command) {
  JsonWriter json;
  json.begin_object().key("numbers").begin_array();
  const std::string id = text_of(command["workflow"]);
  for (const auto& member : client.all_workflow_members(id, page_of(command))) {
    if (!member) return std::unexpected(member.error());
    json.integer(member->number);
  }
  return json.end_array().end_object().take();
}

sdk::Result<std::string> add(sdk::Client& client, const std::string& id, JsonView command) {
  const JsonView request = command["request"];
  const auto members = sdk::read_new_workflow(request).members;
  return json_of(client.add_members(id, members,
                                    {.by = text_of(request["by"]),
                                     .close = request["close"].boolean().value_or(false),
                                     .idempotency_key = text_of(command["idempotency_key"])}));
}

sdk::RetryWorkflow retry_of(JsonView request) {
  return {.refs = texts_of(request["refs"]),
          .reset_attempts = request["reset_attempts"].boolean().value_or(true),
          .drop_limits = request["drop_limits"].boolean().value_or(false)};
}

}  // namespace

std::optional<sdk::Result<std::string>> call_on_workflows(sdk::Client& client,
                                                          std::string_view call, JsonView command) {
  if (call == "create_workflow") return create(client, command["workflow"]);
  if (call == "workflows") return json_of(client.workflows(workflows_of(command)));
  if (call == "all_workflows") return all_ids(client, command);
  const std::string id = text_of(command["workflow"]);
  const std::string ref = text_of(command["ref"]);
  const auto include = texts_of(command["include"]);
  if (call == "workflow") return json_of(client.workflow(id, {.include = include}));
  if (call == "wait_workflow") {
    return json_of(client.wait_workflow(id, ms_of(command["timeout_ms"], 30'000)));
  }
  if (call == "workflow_members") return json_of(client.workflow_members(id, page_of(command)));
  if (call == "all_members") return all_numbers(client, command);
  if (call == "workflow_member") {
    return json_of(client.workflow_member(
        id, ref, {.include = include, .wait = ms_of(command["wait_ms"], 0)}));
  }
  if (call == "workflow_graph") {
    return json_of(client.workflow_graph(id, text_of(command["cursor"])));
  }
  if (call == "why_workflow") return json_of(client.why_workflow(id));
  if (call == "add_members") return add(client, id, command);
  if (call == "close_workflow") return json_of(client.close_workflow(id));
  if (call == "cancel_workflow") {
    return json_of(client.cancel_workflow(id, text_of(command["reason"])));
  }
  if (call == "retry_workflow") {
    return json_of(client.retry_workflow(id, retry_of(command["request"])));
  }
  if (call == "skip_member") return json_of(client.skip_member(id, ref));
  if (call == "delete_workflow") return json_of(client.delete_workflow(id));
  return std::nullopt;
}

}  // namespace millrace::conformance
