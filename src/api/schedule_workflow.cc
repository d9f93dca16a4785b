#include "api/schedule_workflow.h"

#include "base/json_writer.h"

namespace millrace::api {
namespace {

void encode_member(JsonWriter& json, const ScheduleMember& member) {
  json.begin_object();
  if (!member.ref.empty()) json.member("ref", member.ref);
  if (!member.needs.empty()) {
    json.key("needs");
    json.begin_array();
    for (const MemberNeed& need : member.needs) {
      json.begin_object();
      json.member("ref", need.ref);
      json.member("on", name_of(need.on));
      json.end_object();
    }
    json.end_array();
  }
  if (member.needs_any) json.member("needs_any", true);
  json.key("job");
  encode(json, member.job);
  json.end_object();
}

}  // namespace

void encode(JsonWriter& json, const ScheduleWorkflow& workflow) {
  json.begin_object();
  json.member("queue", workflow.queue);
  if (!workflow.name.empty()) json.member("name", workflow.name);
  if (!workflow.tags.empty()) {
    json.key("tags");
    json.begin_array();
    for (const std::string_view tag : workflow.tags) json.string(tag);
    json.end_array();
  }
  if (!workflow.meta.empty()) json.key("meta"), encode(json, workflow.meta);
  json.key("members");
  json.begin_array();
  for (const ScheduleMember& member : workflow.members) encode_member(json, member);
  json.end_array();
  json.member("on_member_failed", name_of(workflow.on_member_failed));
  for (const ScheduleCallback& callback : workflow.callbacks) {
    json.key(name_of(callback.role));
    encode(json, callback.job);
  }
  if (workflow.max_active) json.member("max_active", *workflow.max_active);
  if (workflow.timeout) json.member("timeout_ms", *workflow.timeout);
  if (!workflow.result_from.empty()) json.member("result_from", workflow.result_from);
  json.member("keep_members", workflow.keep_members);
  json.end_object();
}

}  // namespace millrace::api
