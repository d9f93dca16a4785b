#include "api/membership.h"

#include "base/json_writer.h"

namespace millrace::api {
namespace {

void encode_place(JsonWriter& json, const Membership& membership) {
  json.member("id", membership.workflow);
  json.text_or_null("name", membership.name);
  json.text_or_null("ref", membership.ref);
  json.key("number");
  if (membership.role == terms::MemberRole::kMember) {
    json.number(membership.number);
  } else {
    json.null();
  }
}

std::string_view role_of(const Membership& membership) {
  return membership.role == terms::MemberRole::kMember ? "member" : "callback";
}

}  // namespace

void encode_counts(JsonWriter& json,
                   const std::array<std::uint64_t, terms::kMemberStates>& counts) {
  json.begin_object();
  for (std::size_t i = 0; i < counts.size(); ++i) {
    json.member(name_of(static_cast<terms::MemberState>(i)), counts.at(i));
  }
  json.end_object();
}

void encode_workflow_of_job(JsonWriter& json, const Membership& membership) {
  json.key("workflow");
  json.begin_object();
  encode_place(json, membership);
  json.member("role", role_of(membership));
  json.end_object();
}

void encode_workflow_of_claim(JsonWriter& json, const Membership& membership) {
  json.key("workflow");
  json.begin_object();
  encode_place(json, membership);
  json.member("generation", membership.generation);
  json.member("role", role_of(membership));
  json.member("state", name_of(membership.state));
  if (membership.role != terms::MemberRole::kMember) {
    json.key("counts");
    encode_counts(json, membership.counts);
    json.key("failed");
    json.begin_array();
    for (const std::string_view ref : membership.failed) json.string(ref);
    json.end_array();
  }
  json.end_object();
}

void encode_parents(JsonWriter& json, const std::vector<Parent>& parents) {
  json.key("parents");
  json.begin_object();
  for (const Parent& parent : parents) {
    json.text_key(parent.ref);
    json.begin_object();
    json.member("id", parent.id);
    json.member("state", name_of(parent.state));
    if (parent.reason == terms::MemberReason::kNone) {
      json.key("reason"), json.null();
    } else {
      json.member("reason", name_of(parent.reason));
    }
    if (parent.result) json.raw_member("result", parent.result->empty() ? "null" : *parent.result);
    if (!parent.omitted.empty()) json.member("omitted", parent.omitted);
    json.end_object();
  }
  json.end_object();
}

}  // namespace millrace::api
