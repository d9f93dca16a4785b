#include "api/workflow.h"

#include <utility>

#include "http/handlers/common.h"
#include "http/handlers/handlers.h"
#include "service/workflow_reads.h"
#include "service/workflows.h"

namespace millrace::http {
namespace {

// The workflow's id in the path; none: the call is answered with 404.
std::optional<JobId> workflow_id(Call& call) {
  const std::optional<JobId> id = parse_job_id(call.parameter());
  if (!id) call.refuse(service::no_such_workflow());
  return id;
}

// What every change of a workflow brings; none: the call is answered.
struct Change {
  JobId id;
  service::IfVersion if_version;
};
std::optional<Change> take_change(Call& call) {
  const auto id = workflow_id(call);
  if (!id || !accepted(call, api::decode_no_query(call.query()))) return std::nullopt;
  Change change{*id, {}};
  if (!take_if_match(call, change.if_version)) return std::nullopt;
  return change;
}

void answer_workflow(Call& call, const service::WorkflowFound& found) {
  JsonWriter json(call.response.body);
  api::encode(json, service::to_api(call.caller, found));
  call.response.version = found.workflow->version;
}
void answer_workflow(Call& call, const service::Answered<service::SharedWorkflow>& answer) {
  if (!answer) return call.refuse(answer.error());
  answer_workflow(call, service::WorkflowFound{*answer, {}, false});
}

void answer_members(Call& call, const service::MemberPage& page,
                    const api::MemberInclude& include) {
  JsonWriter json(call.response.body);
  json.begin_object();
  json.key("items");
  json.begin_array();
  for (const service::MemberFound& member : page.members) {
    const service::MemberShape shape(call.caller, member, include, false);
    api::encode(json, shape.member());
  }
  json.end_array();
  json.text_or_null("next_cursor", page.next);
  json.end_object();
}

}  // namespace

void answer_made(Call& call, const service::WorkflowMade& made) {
  if (made.workflow != nullptr) {
    answer_workflow(call, service::WorkflowFound{made.workflow, {}, false});
  } else {
    JsonWriter json(call.response.body);
    api::encode_pruned_job(json, made.id);
  }
  if (made.created) call.response.status = 201;
  call.response.replayed = made.replayed;
}

Task<void> create_workflow(Call& call) {
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto workflow = accepted(call, api::decode_workflow(call.body, call.services.limits));
  if (!workflow) co_return;
  service::WorkflowRequest request{*workflow, {}, call.body, trace_of(call)};
  if (!take_key(call, request.key)) co_return;
  const auto made = co_await service::create_workflow(call.caller, request);
  if (!made) co_return call.refuse(made.error());
  answer_made(call, *made);
}

Task<void> list_workflows(Call& call) {
  const auto query = accepted(call, api::decode_workflow_list_query(call.query()));
  if (!query) co_return;
  auto page = co_await service::list_workflows(call.caller, *query);
  if (!page) co_return call.refuse(page.error());
  JsonWriter json(call.response.body);
  json.begin_object();
  json.key("items");
  json.begin_array();
  for (core::Workflow& workflow : page->workflows) {
    const service::WorkflowFound found{
        std::make_shared<const core::Workflow>(std::move(workflow)), {}, false};
    api::encode(json, service::to_api(call.caller, found));
  }
  json.end_array();
  json.text_or_null("next_cursor", page->next);
  json.end_object();
}

Task<void> get_workflow(Call& call) {
  const auto id = workflow_id(call);
  if (!id) co_return;
  const auto query = accepted(call, api::decode_workflow_query(call.query()));
  if (!query) co_return;
  const auto found = co_await service::get_workflow(call.caller, *id, *query);
  if (!found) co_return call.refuse(found.error());
  call.response.holds_secrets = query->result;
  answer_workflow(call, *found);
}

Task<void> list_members(Call& call) {
  const auto id = workflow_id(call);
  if (!id) co_return;
  const auto query = accepted(call, api::decode_member_list_query(call.query()));
  if (!query) co_return;
  const auto page = co_await service::list_members(call.caller, *id, *query);
  if (!page) co_return call.refuse(page.error());
  call.response.holds_secrets = query->include.result;
  answer_members(call, *page, query->include);
}

Task<void> get_member(Call& call) {
  const auto id = workflow_id(call);
  if (!id) co_return;
  const auto query = accepted(call, api::decode_member_query(call.query()));
  if (!query) co_return;
  const auto found = co_await service::get_member(call.caller, *id, call.route.second, *query);
  if (!found) co_return call.refuse(found.error());
  call.response.holds_secrets = true;  // the definition has a payload
  const service::MemberShape shape(call.caller, *found, query->include, true);
  JsonWriter json(call.response.body);
  api::encode(json, shape.member());
}

Task<void> get_graph(Call& call) {
  const auto id = workflow_id(call);
  if (!id) co_return;
  const auto query = accepted(call, api::decode_graph_query(call.query()));
  if (!query) co_return;
  const auto page = co_await service::get_graph(call.caller, *id, *query);
  if (!page) co_return call.refuse(page.error());
  std::vector<api::GraphLine> lines;
  lines.reserve(page->members.size());
  for (const service::MemberFound& each : page->members) {
    lines.push_back(service::to_graph_line(each.member));
  }
  JsonWriter json(call.response.body);
  api::encode_list(json, lines, page->next);
}

Task<void> why_workflow(Call& call) {
  const auto id = workflow_id(call);
  if (!id) co_return;
  if (!accepted(call, api::decode_no_query(call.query()))) co_return;
  const auto why = co_await service::why_workflow(call.caller, *id);
  if (!why) co_return call.refuse(why.error());
  JsonWriter json(call.response.body);
  api::encode(json, *why);
}

Task<void> add_members(Call& call) {
  const auto change = take_change(call);
  if (!change) co_return;
  const auto more = accepted(call, api::decode_more_members(call.body, call.services.limits));
  if (!more) co_return;
  service::MembersRequest request{*more, {}, call.body, trace_of(call), change->if_version};
  if (!take_key(call, request.key)) co_return;
  const auto added = co_await service::add_members(call.caller, change->id, request);
  if (!added) co_return call.refuse(added.error());
  JsonWriter json(call.response.body);
  api::encode(json, added->answer);
  call.response.version = added->version;
}

Task<void> close_workflow(Call& call) {
  const auto change = take_change(call);
  if (!change) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const auto answer = co_await service::close_workflow(call.caller, change->id, change->if_version);
  answer_workflow(call, answer);
}

Task<void> cancel_workflow(Call& call) {
  const auto change = take_change(call);
  if (!change) co_return;
  const auto cancel = accepted(call, api::decode_cancel(call.body, call.services.limits));
  if (!cancel) co_return;
  const auto answer =
      co_await service::cancel_workflow(call.caller, change->id, *cancel, change->if_version);
  answer_workflow(call, answer);
}

Task<void> retry_workflow(Call& call) {
  const auto change = take_change(call);
  if (!change) co_return;
  const auto retry = accepted(call, api::decode_workflow_retry(call.body, call.services.limits));
  if (!retry) co_return;
  const auto answer =
      co_await service::retry_workflow(call.caller, change->id, *retry, change->if_version);
  answer_workflow(call, answer);
}

Task<void> skip_member(Call& call) {
  const auto change = take_change(call);
  if (!change) co_return;
  if (!accepted(call, api::decode_nothing(call.body, call.services.limits))) co_return;
  const auto answer =
      co_await service::skip_member(call.caller, change->id, call.route.second, change->if_version);
  answer_workflow(call, answer);
}

Task<void> delete_workflow(Call& call) {
  const auto change = take_change(call);
  if (!change) co_return;
  const auto gone = co_await service::delete_workflow(call.caller, change->id, change->if_version);
  if (!gone) co_return call.refuse(gone.error());
  call.no_content();
}

}  // namespace millrace::http
