// A Fake's answers to requests on workflows.
#include <fmt/format.h>

#include <algorithm>

#include "fake_jobs.h"
#include "fake_workflows.h"
#include "json_members.h"
#include "shapes_json.h"
#include "workflow_jobs.h"

namespace millrace::sdk {
namespace {

constexpr std::uint64_t kPageSize = 50;

FakeRefusal no_workflow() { return {.detail = "there is no such workflow"}; }

std::uint64_t number_in(std::string_view query, std::string_view name, std::uint64_t otherwise) {
  return JsonView(parameter(query, name)).natural().value_or(otherwise);
}

void write_next(JsonWriter& json, std::optional<std::uint64_t> next) {
  json.end_array().key("next_cursor");
  next ? json.string(std::to_string(*next)) : json.null();
  json.end_object();
}

void write_counts(JsonWriter& json, const MemberCounts& counts) {
  json.begin_object().key("blocked").integer(counts.blocked);
  json.key("active").integer(counts.active).key("succeeded").integer(counts.succeeded);
  json.key("failed").integer(counts.failed).key("skipped").integer(counts.skipped).end_object();
}

void write_texts(JsonWriter& json, const std::vector<std::string>& texts) {
  json.begin_array();
  for (const std::string& text : texts) json.string(text);
  json.end_array();
}

}  // namespace

Response FakeWorkflows::answer(const Request& request, std::span<const std::string> parts,
                               std::string_view query) {
  const bool is_get = request.method == "GET";
  if (parts.size() == 1) return is_get ? list(query) : create(request);
  const auto found = flows_.find(url_decode(parts[1]));
  if (found == flows_.end()) return refused(no_workflow());
  FakeWorkflow& flow = found->second;
  const std::string_view action = parts.size() > 2 ? parts[2] : std::string_view();
  if (action == "members" && parts.size() > 3) return answer_member(flow, request, parts, query);
  if (action == "members") return is_get ? list_members(flow, query) : add(flow, request);
  std::optional<Refusal> refusal;
  if (action == "cancel") {
    refusal = cancel(flow, JsonView(request.body)["reason"].string().value_or(""));
  } else if (action == "close") {
    flow.version += flow.spec.open.value_or(false);
    flow.spec.open = false;
    advance(flow);
  } else if (!action.empty() || !is_get) {
    return refused({.detail = std::string(kNoSuchCall)});
  }
  if (refusal) return refused(*refusal);
  jobs_.run_released();
  return json_response(200, encode(flow, includes(query, "include", "result")));
}

Response FakeWorkflows::answer_member(FakeWorkflow& flow, const Request& request,
                                      std::span<const std::string> parts, std::string_view query) {
  const auto number = number_of(flow, url_decode(parts[3]));
  if (!number) return refused({.detail = "the workflow has no such member"});
  if (parts.size() == 4) {
    JsonWriter json;
    json.begin_object();
    write_member(json, flow, *number, query);
    const FakeMember& member = flow.members[*number];
    std::vector<std::string> waits_for;
    json.key("needs").begin_array();
    for (std::size_t i = 0; i < member.needs.size(); ++i) {
      const Need& need = member.spec.needs[i];
      json.begin_object().key("ref").string(need.ref);
      json.key("on").string(need.on.empty() ? "succeeded" : need.on).end_object();
      if (!flow.members[member.needs[i]].has_ended()) waits_for.push_back(need.ref);
    }
    json.end_array().key("needs_any").boolean(member.spec.needs_any.value_or(false));
    object(json.key("definition"), member.spec.job);
    write_texts(json.key("waits_for"), waits_for);
    return json_response(200, json.end_object().take());
  }
  if (request.method != "POST") return refused({.detail = std::string(kNoSuchCall)});
  if (auto refusal = skip(flow, *number)) return refused(*refusal);
  jobs_.run_released();
  return json_response(200, encode(flow, false));
}

Response FakeWorkflows::create(const Request& request) {
  NewWorkflow spec = read_new_workflow(JsonView(request.body));
  spec.idempotency_key = header_of(request, "Idempotency-Key");
  if (spec.queue.empty()) spec.queue = "default";
  std::optional<Refusal> refusal;
  if (const FakeWorkflow* same = known(spec, request.body, refusal)) {
    return json_response(200, encode(*same, false));
  }
  if (refusal) return refused(*refusal);
  const NewJob defaults = spec.defaults.value_or(NewJob{});
  for (NewMember& member : spec.members) member.job = with_defaults(member.job, defaults);
  for (auto* const callback : {&spec.on_success, &spec.on_failure, &spec.on_end}) {
    if (!*callback) continue;
    **callback = with_defaults(std::move(**callback), defaults);
    if ((*callback)->queue.empty()) (*callback)->queue = spec.queue;
  }
  Members members = std::move(spec.members);
  auto faults = faults_of({}, members);
  const auto has_ref = [&spec](const NewMember& member) { return member.ref == spec.result_from; };
  if (!spec.result_from.empty() && std::ranges::none_of(members, has_ref)) {
    faults.push_back({"/result_from", "no member has this ref"});
  }
  if (!faults.empty()) return refused(faulty(std::move(faults)));
  if (spec.id.empty()) spec.id = make_id(spec.queue);
  const std::string id = spec.id;
  if (!spec.idempotency_key.empty()) {
    keys_[{spec.queue, spec.idempotency_key}] = {request.body, id};
  }
  FakeWorkflow& flow = flows_[id];
  flow.spec = std::move(spec);
  flow.text = request.body;
  flow.created_at = jobs_.now_;
  order_.push_back(id);
  append(flow, std::move(members));
  flow.version = 1;
  advance(flow);
  jobs_.run_released();
  return json_response(201, encode(flow, false));
}

Response FakeWorkflows::add(FakeWorkflow& flow, const Request& request) {
  const std::string key = header_of(request, "Idempotency-Key");
  const auto earlier = additions_.find({flow.spec.id, key});
  if (!key.empty() && earlier != additions_.end()) return json_response(200, earlier->second);
  const JsonView body(request.body);
  const std::string by = body["by"].string().value_or("");
  const auto number = number_of(flow, by);
  const bool is_by_active = number && flow.members[*number].state == "active";
  if (flow.ended_at || (!flow.spec.open.value_or(false) && !is_by_active)) {
    return refused({409, "invalid_state",
                    "the workflow is closed; only an active member of it adds others, by `by`"});
  }
  Members members = read_new_workflow(body).members;
  if (auto faults = faults_of(flow, members); !faults.empty()) {
    return refused(faulty(std::move(faults)));
  }
  const std::size_t before = flow.members.size();
  const std::size_t existing = append(flow, std::move(members));
  const std::size_t after = flow.members.size();
  if (body["close"].boolean().value_or(false)) flow.spec.open = false;
  advance(flow);
  jobs_.run_released();
  JsonWriter json;
  json.begin_object().key("added").integer(static_cast<std::int64_t>(after - before));
  json.key("existing").integer(static_cast<std::int64_t>(existing));
  json.key("members").integer(static_cast<std::int64_t>(after)).end_object();
  if (!key.empty()) additions_[{flow.spec.id, key}] = json.text();
  return json_response(200, json.take());
}

// Newest first. The cursor counts the workflows that are older than the page.
Response FakeWorkflows::list(std::string_view query) const {
  const std::uint64_t limit = number_in(query, "limit", kPageSize);
  std::uint64_t left =
      std::min<std::uint64_t>(number_in(query, "cursor", order_.size()), order_.size());
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (std::uint64_t count = 0; left > 0 && count < limit; --left) {
    const FakeWorkflow& flow = flows_.at(order_[left - 1]);
    const bool is_wanted =
        matches(query, "state", {flow.state}) && matches(query, "queue", {flow.spec.queue}) &&
        matches(query, "name", {flow.spec.name}) && matches(query, "tag", flow.spec.tags);
    if (!is_wanted) continue;
    json.raw(encode(flow, false));
    ++count;
  }
  write_next(json, left > 0 ? std::optional(left) : std::nullopt);
  return json_response(200, json.take());
}

// The cursor is the next member's number.
Response FakeWorkflows::list_members(const FakeWorkflow& flow, std::string_view query) const {
  const std::uint64_t limit = number_in(query, "limit", kPageSize);
  std::size_t next = number_in(query, "cursor", 0);
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (std::uint64_t count = 0; next < flow.members.size() && count < limit; ++next) {
    if (!matches(query, "state", {flow.members[next].state})) continue;
    json.begin_object();
    write_member(json, flow, next, query);
    json.end_object();
    ++count;
  }
  write_next(json, next < flow.members.size() ? std::optional<std::uint64_t>(next) : std::nullopt);
  return json_response(200, json.take());
}

// The members that a list shows, without brackets.
void FakeWorkflows::write_member(JsonWriter& json, const FakeWorkflow& flow, std::size_t number,
                                 std::string_view query) const {
  const FakeMember& member = flow.members[number];
  json.key("number").integer(static_cast<std::int64_t>(number));
  write(json, "ref", member.spec.ref);
  json.key("state").string(member.state);
  write(json, "reason", member.reason);
  json.key("generation").integer(member.job_id.empty() ? 0 : 1);
  json.key("queue").string(member.spec.job.queue);
  write(json, "job_id", member.job_id);
  const FakeJob* const job = jobs_.find(member.job_id);
  if (job != nullptr && includes(query, "include", "job"))
    json.key("job").raw(encode_fake(*job, {}));
  if (!includes(query, "include", "result")) return;
  json.key("result").raw(job == nullptr ? "null" : job->result.value_or("null"));
}

std::string FakeWorkflows::encode(const FakeWorkflow& flow, bool with_result) const {
  const NewWorkflow& spec = flow.spec;
  JsonWriter json;
  json.begin_object().key("id").string(spec.id);
  write(json, "name", spec.name);
  json.key("queue").string(spec.queue).key("state").string(flow.state);
  write(json, "reason", flow.reason);
  if (!flow.cancel_reason.empty()) json.key("cancel_reason").string(flow.cancel_reason);
  json.key("generation").integer(1).key("version").integer(flow.version);
  json.key("open").boolean(spec.open.value_or(false));
  write(json, "created_at", std::optional(flow.created_at));
  json.key("timeout_at").null();
  write(json, "ended_at", flow.ended_at);
  json.key("members").integer(static_cast<std::int64_t>(flow.members.size())).key("counts");
  write_counts(json, flow.counts);
  json.key("callbacks").begin_object();
  member(json, "on_success", flow.callbacks.on_success);
  member(json, "on_failure", flow.callbacks.on_failure);
  member(json, "on_end", flow.callbacks.on_end);
  json.end_object();
  write_texts(json.key("tags"), spec.tags);
  json.key("meta").begin_object();
  for (const auto& [name, value] : spec.meta) json.key(name).string(value);
  json.end_object().key("on_member_failed");
  json.string(spec.on_member_failed.empty() ? "continue" : spec.on_member_failed);
  json.key("max_active");
  spec.max_active ? json.integer(*spec.max_active) : json.null();
  write(json, "timeout_ms", spec.timeout);
  write(json, "result_from", spec.result_from);
  json.key("keep_members").boolean(spec.keep_members.value_or(true)).key("unique");
  if (spec.unique) {
    json.begin_object().key("key").string(spec.unique->key).end_object();
  } else {
    json.null();
  }
  if (with_result) {
    const auto number = number_of(flow, spec.result_from);
    const FakeJob* const job = number ? jobs_.find(flow.members[*number].job_id) : nullptr;
    json.key("result").raw(job == nullptr ? "null" : job->result.value_or("null"));
  }
  return json.end_object().take();
}

}  // namespace millrace::sdk
