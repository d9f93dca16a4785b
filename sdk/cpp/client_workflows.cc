// The client's calls on workflows.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "client_calls.h"
#include "constants.h"
#include "json_encode.h"
#include "json_reader.h"
#include "millrace/client.h"
#include "millrace/json.h"
#include "trace.h"
#include "workflow_jobs.h"

namespace millrace::sdk {
namespace {

std::string workflow_path(std::string_view id, std::string_view rest = {}) {
  return fmt::format("/v1/workflows/{}{}", url_encode(id), rest);
}

std::string member_path(std::string_view id, std::string_view ref, std::string_view rest = {}) {
  return workflow_path(id, fmt::format("/members/{}{}", url_encode(ref), rest));
}

// The members that the first request leaves to later ones, with the defaults that only that one can
// name.
std::vector<NewMember> take_rest(NewWorkflow& workflow) {
  std::vector<NewMember> rest;
  auto& members = workflow.members;
  if (members.size() <= kMostMembers) return rest;
  const auto first = members.begin() + kMostMembers;
  rest.assign(std::move_iterator(first), std::move_iterator(members.end()));
  members.erase(first, members.end());
  if (!workflow.defaults) return rest;
  for (NewMember& member : rest) {
    member.job = with_defaults(std::move(member.job), *workflow.defaults);
  }
  return rest;
}

std::string body_of(NewWorkflow& workflow) {
  if (workflow.defaults) {
    leave_out_null(*workflow.defaults);
    for (NewMember& member : workflow.members) leave_out_null(member.job);
    for (auto* const callback : {&workflow.on_success, &workflow.on_failure, &workflow.on_end}) {
      if (*callback) leave_out_null(**callback);
    }
  }
  return encode_workflow(workflow);
}

// A POST that may be repeated, with the trace context of its submitter.
Request submission(std::string path, std::string body, const std::string& key,
                   const ClientOptions& options) {
  Request request{.method = "POST",
                  .path = std::move(path),
                  .body = std::move(body),
                  .timeout = options.timeout,
                  .repeat = Repeat::kAlways};
  if (!key.empty()) request.headers.emplace_back("Idempotency-Key", key);
  NewJob traced;
  if (options.traceparent) traced.traceparent = options.traceparent();
  traced = with_trace(std::move(traced));
  if (!traced.traceparent.empty()) request.headers.emplace_back("traceparent", traced.traceparent);
  if (!traced.tracestate.empty()) request.headers.emplace_back("tracestate", traced.tracestate);
  return request;
}

bool lacks_ref(std::span<const NewMember> members) {
  return !std::ranges::all_of(members, [](const NewMember& member) { return !member.ref.empty(); });
}

// Adds the members that did not fit into the creation. If it fails, the caller can go on with the
// same id.
Result<void> add_rest(WorkflowCalls& calls, const std::string& id, std::span<const NewMember> rest,
                      bool closes) {
  for (std::size_t at = 0; at < rest.size(); at += kMostMembers) {
    const auto part = rest.subspan(at, std::min(kMostMembers, rest.size() - at));
    AddMembers options{.close = closes && at + part.size() == rest.size()};
    if (lacks_ref(part)) options.idempotency_key = fmt::format("{}-{}", id, at);
    auto added = calls.add_members(id, part, options);
    if (added) continue;
    added.error().message +=
        fmt::format(" (workflow {} has its first {} members; repeat the call with this id)", id,
                    at + kMostMembers);
    return std::unexpected(std::move(added.error()));
  }
  return {};
}

}  // namespace

Client& WorkflowCalls::client() { return static_cast<Client&>(*this); }

Result<CreatedWorkflow> WorkflowCalls::create_workflow(const NewWorkflow& workflow) {
  NewWorkflow sent = workflow;
  if (sent.id.empty() && sent.idempotency_key.empty()) sent.id = make_id(sent.queue);
  const auto rest = take_rest(sent);
  const bool closes = !workflow.open.value_or(false);
  if (!rest.empty()) sent.open = true;
  auto response = client().call(
      submission("/v1/workflows", body_of(sent), sent.idempotency_key, client().options_));
  const bool is_new = response && response->status == 201;
  const bool is_replayed = response && response->header("idempotent-replayed") == "true";
  auto created = then(std::move(response), read_workflow);
  if (!created) return std::unexpected(std::move(created.error()));
  // Otherwise another workflow holds the unique key, or an earlier call has added everything.
  const bool is_own = is_new || is_replayed || created->id == sent.id;
  if (!rest.empty() && is_own && created->open) {
    if (auto added = add_rest(*this, created->id, rest, closes); !added) {
      return std::unexpected(std::move(added.error()));
    }
    created = this->workflow(created->id);
    if (!created) return std::unexpected(std::move(created.error()));
  }
  return CreatedWorkflow{std::move(*created), is_new};
}

Result<Workflow> WorkflowCalls::workflow(std::string_view id, const GetWorkflow& options) {
  QueryString query;
  query.add("include", options.include);
  if (options.until_final) {
    query.add("until", "final");
    query.add("wait_ms", std::to_string(options.wait.count()));
  }
  return then(client().call({.path = workflow_path(id, query.text()),
                             .timeout = client().options_.timeout + options.wait,
                             .stop = options.stop}),
              read_workflow);
}

Result<Workflow> WorkflowCalls::wait_workflow(std::string_view id, Milliseconds timeout) {
  return wait_for_end(
      client().options_, fmt::format("workflow {}", id), timeout, [&](Milliseconds wait) {
        return workflow(id, {.include = {"result"}, .until_final = true, .wait = wait});
      });
}

Result<Page<Workflow>> WorkflowCalls::workflows(const WorkflowFilter& filter) {
  QueryString query;
  query.add("state", filter.states);
  query.add("queue", filter.queue);
  query.add("name", filter.name);
  query.add("tag", filter.tag);
  query.add("created_after", filter.created_after);
  query.add("created_before", filter.created_before);
  if (filter.fresh) query.add("fresh", "true");
  query.add("limit", std::to_string(filter.limit));
  query.add("cursor", filter.cursor);
  return then(
      client().call({.path = "/v1/workflows" + query.text(), .timeout = client().options_.timeout}),
      read_workflows);
}

AllItems<Workflow> WorkflowCalls::all_workflows(WorkflowFilter filter) {
  return AllItems<Workflow>([this, filter = std::move(filter)](const std::string& cursor) {
    WorkflowFilter of_page = filter;
    if (!cursor.empty()) of_page.cursor = cursor;
    return workflows(of_page);
  });
}

Result<Page<Member>> WorkflowCalls::workflow_members(std::string_view id,
                                                     const MemberFilter& filter) {
  QueryString query;
  query.add("state", filter.state);
  query.add("include", filter.include);
  query.add("limit", std::to_string(filter.limit));
  query.add("cursor", filter.cursor);
  return then(client().call({.path = workflow_path(id, "/members" + query.text()),
                             .timeout = client().options_.timeout}),
              read_workflow_members);
}

AllItems<Member> WorkflowCalls::all_workflow_members(std::string id, MemberFilter filter) {
  return AllItems<Member>(
      [this, id = std::move(id), filter = std::move(filter)](const std::string& cursor) {
        MemberFilter of_page = filter;
        if (!cursor.empty()) of_page.cursor = cursor;
        return workflow_members(id, of_page);
      });
}

Result<MemberDetail> WorkflowCalls::workflow_member(std::string_view id, std::string_view ref,
                                                    const GetMember& options) {
  QueryString query;
  query.add("include", options.include);
  if (options.wait > Milliseconds{0}) query.add("wait_ms", std::to_string(options.wait.count()));
  return then(client().call({.path = member_path(id, ref, query.text()),
                             .timeout = client().options_.timeout + options.wait,
                             .stop = options.stop}),
              read_workflow_member);
}

Result<Page<GraphLine>> WorkflowCalls::workflow_graph(std::string_view id,
                                                      std::string_view cursor) {
  QueryString query;
  query.add("cursor", cursor);
  return then(client().call({.path = workflow_path(id, "/graph" + query.text()),
                             .timeout = client().options_.timeout}),
              read_workflow_graph);
}

AllItems<GraphLine> WorkflowCalls::all_graph_lines(std::string id) {
  return AllItems<GraphLine>(
      [this, id = std::move(id)](const std::string& cursor) { return workflow_graph(id, cursor); });
}

Result<WorkflowWhy> WorkflowCalls::why_workflow(std::string_view id) {
  return then(
      client().call({.path = workflow_path(id, "/why"), .timeout = client().options_.timeout}),
      read_workflow_why);
}

Result<AddedMembers> WorkflowCalls::add_members(std::string_view id,
                                                std::span<const NewMember> members,
                                                const AddMembers& options) {
  std::string key = options.idempotency_key;
  if (key.empty() && lacks_ref(members)) key = make_id();
  return then(client().call(submission(workflow_path(id, "/members"),
                                       encode_members(members, options), key, client().options_)),
              read_added_members);
}

Result<Workflow> WorkflowCalls::close_workflow(std::string_view id) {
  return then(client().call({.method = "POST",
                             .path = workflow_path(id, "/close"),
                             .timeout = client().options_.timeout,
                             .repeat = Repeat::kAlways}),
              read_workflow);
}

Result<Workflow> WorkflowCalls::cancel_workflow(std::string_view id, std::string_view reason) {
  Request request{.method = "POST",
                  .path = workflow_path(id, "/cancel"),
                  .timeout = client().options_.timeout,
                  .repeat = Repeat::kAlways};
  if (!reason.empty()) request.body = fmt::format(R"({{"reason":{}}})", json_string(reason));
  int tries = 0;
  auto answer = then(client().send_repeatedly(std::move(request), &tries), read_workflow);
  if (answer || tries < 2 || answer.error().problem() != Problem::kInvalidState) return answer;
  // The workflow has ended, perhaps by an earlier try whose answer was lost.
  auto ended = workflow(id);
  return ended && ended->state == "cancelled" ? ended : answer;
}

Result<Workflow> WorkflowCalls::retry_workflow(std::string_view id, const RetryWorkflow& options) {
  return then(client().call({.method = "POST",
                             .path = workflow_path(id, "/retry"),
                             .body = encode_retry(options),
                             .timeout = client().options_.timeout,
                             .repeat = Repeat::kIfUnbegun}),
              read_workflow);
}

Result<Workflow> WorkflowCalls::skip_member(std::string_view id, std::string_view ref) {
  Request request{.method = "POST",
                  .path = member_path(id, ref, "/skip"),
                  .timeout = client().options_.timeout,
                  .repeat = Repeat::kAlways};
  int tries = 0;
  auto answer = then(client().send_repeatedly(std::move(request), &tries), read_workflow);
  if (answer || tries < 2 || answer.error().problem() != Problem::kInvalidState) return answer;
  // The member no longer waits, perhaps because of an earlier try whose answer was lost.
  const auto member = workflow_member(id, ref);
  return member && member->state == "skipped" ? workflow(id) : answer;
}

Result<void> WorkflowCalls::delete_workflow(std::string_view id,
                                            std::optional<std::int64_t> if_version) {
  auto response = client().call({.method = "DELETE",
                                 .path = workflow_path(id),
                                 .headers = if_match(if_version),
                                 .timeout = client().options_.timeout});
  if (!response) return std::unexpected(std::move(response.error()));
  return {};
}

}  // namespace millrace::sdk
