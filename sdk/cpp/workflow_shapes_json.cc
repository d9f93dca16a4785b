// Made by tools/types from docs/reference/openapi.yaml; do not edit.
#include "json_members.h"
#include "shapes_json.h"

namespace millrace::sdk {

bool read_members(JsonValue value, Need& out) {
  if (value.type() == JsonType::kString) {
    read(value, out.ref);
    return true;
  }
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "ref") read(content, out.ref);
    if (name == "on") read(content, out.on);
  });
}

bool read_members(JsonValue value, NewMember& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "ref") read(content, out.ref);
    if (name == "job") read(content, out.job);
    if (name == "needs") read(content, out.needs);
    if (name == "needs_any") read(content, out.needs_any);
  });
}

bool read_members(JsonValue value, WorkflowUnique& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "key") read(content, out.key);
    if (name == "on_conflict") read(content, out.on_conflict);
  });
}

bool read_members(JsonValue value, NewWorkflow& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "name") read(content, out.name);
    if (name == "queue") read(content, out.queue);
    if (name == "members") read(content, out.members);
    if (name == "on_success") read(content, out.on_success);
    if (name == "on_failure") read(content, out.on_failure);
    if (name == "on_end") read(content, out.on_end);
    if (name == "on_member_failed") read(content, out.on_member_failed);
    if (name == "max_active") read(content, out.max_active);
    if (name == "timeout_ms") read(content, out.timeout);
    if (name == "result_from") read(content, out.result_from);
    if (name == "unique") read(content, out.unique);
    if (name == "defaults") read(content, out.defaults);
    if (name == "open") read(content, out.open);
    if (name == "keep_members") read(content, out.keep_members);
    if (name == "tags") read(content, out.tags);
    if (name == "meta") read(content, out.meta);
    if (name == "id") read(content, out.id);
  });
}

bool read_members(JsonValue value, WorkflowCallbacks& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "on_success") read(content, out.on_success);
    if (name == "on_failure") read(content, out.on_failure);
    if (name == "on_end") read(content, out.on_end);
  });
}

bool read_members(JsonValue value, Workflow& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "id") read(content, out.id);
    if (name == "name") read(content, out.name);
    if (name == "queue") read(content, out.queue);
    if (name == "state") read(content, out.state);
    if (name == "reason") read(content, out.reason);
    if (name == "cancel_reason") read(content, out.cancel_reason);
    if (name == "generation") read(content, out.generation);
    if (name == "version") read(content, out.version);
    if (name == "open") read(content, out.open);
    if (name == "created_at") read(content, out.created_at);
    if (name == "timeout_at") read(content, out.timeout_at);
    if (name == "ended_at") read(content, out.ended_at);
    if (name == "members") read(content, out.members);
    if (name == "counts") read(content, out.counts);
    if (name == "callbacks") read(content, out.callbacks);
    if (name == "tags") read(content, out.tags);
    if (name == "meta") read(content, out.meta);
    if (name == "on_member_failed") read(content, out.on_member_failed);
    if (name == "max_active") read(content, out.max_active);
    if (name == "timeout_ms") read(content, out.timeout);
    if (name == "result_from") read(content, out.result_from);
    if (name == "keep_members") read(content, out.keep_members);
    if (name == "unique") read(content, out.unique);
    if (name == "result") out.result = raw_text(content);
    if (name == "redacted") read(content, out.redacted);
  });
}

bool read_members(JsonValue value, Member& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "number") read(content, out.number);
    if (name == "ref") read(content, out.ref);
    if (name == "state") read(content, out.state);
    if (name == "reason") read(content, out.reason);
    if (name == "generation") read(content, out.generation);
    if (name == "queue") read(content, out.queue);
    if (name == "job_id") read(content, out.job_id);
    if (name == "job") read(content, out.job);
    if (name == "result") out.result = raw_text(content);
    if (name == "redacted") read(content, out.redacted);
  });
}

bool read_members(JsonValue value, MemberDetail& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "number") read(content, out.number);
    if (name == "ref") read(content, out.ref);
    if (name == "state") read(content, out.state);
    if (name == "reason") read(content, out.reason);
    if (name == "generation") read(content, out.generation);
    if (name == "queue") read(content, out.queue);
    if (name == "job_id") read(content, out.job_id);
    if (name == "job") read(content, out.job);
    if (name == "result") out.result = raw_text(content);
    if (name == "redacted") read(content, out.redacted);
    if (name == "needs") read(content, out.needs);
    if (name == "needs_any") read(content, out.needs_any);
    if (name == "definition") out.definition = raw_text(content);
    if (name == "waits_for") read(content, out.waits_for);
  });
}

bool read_members(JsonValue value, GraphLine& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "number") read(content, out.number);
    if (name == "ref") read(content, out.ref);
    if (name == "kind") read(content, out.kind);
    if (name == "state") read(content, out.state);
    if (name == "needs") read(content, out.needs);
  });
}

bool read_members(JsonValue value, WorkflowBlocking& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "code") read(content, out.code);
    if (name == "shard") read(content, out.shard);
    if (name == "count") read(content, out.count);
    if (name == "jobs") read(content, out.jobs);
  });
}

bool read_members(JsonValue value, WorkflowWhy& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "id") read(content, out.id);
    if (name == "state") read(content, out.state);
    if (name == "at") read(content, out.at);
    if (name == "summary") read(content, out.summary);
    if (name == "blocking") read(content, out.blocking);
    if (name == "redacted") read(content, out.redacted);
  });
}

bool read_members(JsonValue value, AddedMembers& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "added") read(content, out.added);
    if (name == "existing") read(content, out.existing);
    if (name == "members") read(content, out.members);
  });
}

void write_members(JsonWriter& json, const Need& from) {
  json.key("ref").string(from.ref);
  member(json, "on", from.on);
}

void write_members(JsonWriter& json, const NewMember& from) {
  member(json, "ref", from.ref);
  object(json.key("job"), from.job);
  member(json, "needs", from.needs);
  member(json, "needs_any", from.needs_any);
}

void write_members(JsonWriter& json, const WorkflowUnique& from) {
  json.key("key").string(from.key);
  member(json, "on_conflict", from.on_conflict);
}

void write_members(JsonWriter& json, const NewWorkflow& from) {
  member(json, "id", from.id);
  member(json, "name", from.name);
  member(json, "queue", from.queue);
  member(json, "members", from.members);
  member(json, "on_success", from.on_success);
  member(json, "on_failure", from.on_failure);
  member(json, "on_end", from.on_end);
  member(json, "on_member_failed", from.on_member_failed);
  member(json, "max_active", from.max_active);
  member(json, "timeout_ms", from.timeout);
  member(json, "result_from", from.result_from);
  member(json, "unique", from.unique);
  member(json, "defaults", from.defaults);
  member(json, "open", from.open);
  member(json, "keep_members", from.keep_members);
  member(json, "tags", from.tags);
  member(json, "meta", from.meta);
}

}  // namespace millrace::sdk
