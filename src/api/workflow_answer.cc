// Workflows and their members, encoded.
#include "api/membership.h"
#include "api/workflow.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

template <typename T>
void reason_or_null(JsonWriter& json, T reason) {
  if (reason == T::kNone) {
    json.key("reason"), json.null();
  } else {
    json.member("reason", name_of(reason));
  }
}

void encode_result(JsonWriter& json, const std::optional<std::string_view>& result) {
  if (result) json.raw_member("result", result->empty() ? "null" : *result);
}

void encode_texts(JsonWriter& json, std::string_view name,
                  const std::vector<std::string_view>& texts) {
  json.key(name);
  json.begin_array();
  for (const std::string_view text : texts) json.string(text);
  json.end_array();
}

void encode_needs(JsonWriter& json, const std::vector<MemberNeed>& needs) {
  json.key("needs");
  json.begin_array();
  for (const MemberNeed& need : needs) {
    json.begin_object();
    json.member("ref", need.ref);
    json.member("on", name_of(need.on));
    json.end_object();
  }
  json.end_array();
}

// What the owner has set.
void encode_settings(JsonWriter& json, const Workflow& workflow) {
  encode_texts(json, "tags", workflow.tags);
  json.key("meta");
  encode(json, workflow.meta);
  json.member("on_member_failed", name_of(workflow.on_member_failed));
  json.member("max_active", workflow.max_active);
  json.member("timeout_ms", workflow.timeout);
  json.text_or_null("result_from", workflow.result_from);
  json.member("keep_members", workflow.keep_members);
  json.key("unique");
  if (workflow.unique_key.empty()) return json.null();
  json.begin_object();
  json.member("key", workflow.unique_key);
  json.end_object();
}

}  // namespace

void encode(JsonWriter& json, const Workflow& workflow) {
  json.begin_object();
  json.member("id", workflow.id);
  json.text_or_null("name", workflow.name);
  json.member("queue", workflow.queue);
  json.member("state", name_of(workflow.state));
  reason_or_null(json, workflow.reason);
  if (!workflow.cancel_reason.empty()) json.member("cancel_reason", workflow.cancel_reason);
  json.member("generation", workflow.generation);
  json.member("version", workflow.version);
  json.member("open", workflow.open);
  json.member("created_at", workflow.created_at);
  json.member("timeout_at", workflow.timeout_at);
  json.member("ended_at", workflow.ended_at);
  json.member("members", workflow.members);
  json.key("counts");
  encode_counts(json, workflow.counts);
  json.key("callbacks");
  json.begin_object();
  for (const Workflow::Callback& callback : workflow.callbacks) {
    json.member(name_of(callback.role), callback.job);
  }
  json.end_object();
  encode_settings(json, workflow);
  encode_result(json, workflow.result);
  if (workflow.redacted) json.member("redacted", true);
  json.end_object();
}

void encode(JsonWriter& json, const WorkflowMember& member) {
  json.begin_object();
  json.member("number", member.number);
  json.text_or_null("ref", member.ref);
  json.member("state", name_of(member.state));
  reason_or_null(json, member.reason);
  json.member("generation", member.generation);
  if (member.closed || member.redacted) json.member("redacted", true);
  if (!member.closed) {
    json.member("queue", member.queue);
    json.member("job_id", member.job_id);
    if (member.job != nullptr) json.key("job"), encode(json, *member.job);
    encode_result(json, member.result);
  }
  if (member.definition) {
    encode_needs(json, member.definition->needs);
    json.member("needs_any", member.definition->needs_any);
    if (!member.closed) json.key("definition"), encode(json, member.definition->job);
    encode_texts(json, "waits_for", member.definition->waits_for);
  }
  json.end_object();
}

void encode(JsonWriter& json, const GraphLine& line) {
  json.begin_object();
  json.member("number", line.number);
  json.text_or_null("ref", line.ref);
  json.member("kind", "job");
  json.member("state", name_of(line.state));
  encode_needs(json, line.needs);
  json.end_object();
}

void encode(JsonWriter& json, const MembersAnswer& answer) {
  json.begin_object();
  json.member("added", answer.added);
  json.member("existing", answer.existing);
  json.member("members", answer.members);
  json.end_object();
}

void encode(JsonWriter& json, const WorkflowWhy& why) {
  json.begin_object();
  json.member("id", why.id);
  json.member("state", name_of(why.state));
  json.member("at", why.at);
  json.member("summary", std::string_view(why.summary));
  json.key("blocking");
  json.begin_array();
  for (const WorkflowBlocking& blocking : why.blocking) {
    json.begin_object();
    json.member("code", blocking.code);
    if (blocking.shard) json.member("shard", *blocking.shard);
    if (blocking.count) json.member("count", *blocking.count);
    if (blocking.jobs) {
      json.key("jobs");
      json.begin_array();
      for (const JobId& job : *blocking.jobs) json.id(job);
      json.end_array();
    }
    json.end_object();
  }
  json.end_array();
  if (why.redacted) json.member("redacted", true);
  json.end_object();
}

}  // namespace millrace::api
