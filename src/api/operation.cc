#include "api/operation.h"

#include <algorithm>

#include "api/change_decode.h"
#include "api/decode.h"
#include "api/parameters.h"

namespace millrace::api {
namespace {

constexpr Parameter<OperationListQuery> kListParameters[] = {
    {"state",
     [](const Argument& a, OperationListQuery& out) {
       out.state = terms::value_named<OperationState>(a.value);
       if (!out.state) a.fault("must be running, paused, completed, cancelled or failed");
     }},
    {"limit", [](const Argument& a,
                 OperationListQuery& out) { take_integer(a, 1, kMaxListLimit, out.limit); }},
    {"cursor", [](const Argument& a, OperationListQuery& out) { take_cursor(a, out.cursor); }},
};

constexpr Member<OperationPatch> kPatchMembers[] = {
    {"rate_per_s",
     [](Decode& d, const Path& p, OperationPatch& out) {
       read_change(out.rate_per_s, read_integer, d, p, std::int64_t{1}, kMaxOperationRate);
     },
     NullMember::kValue},
};

}  // namespace

Decoded<OperationListQuery> decode_operation_list_query(std::string_view query_string) {
  return decode_parameters<OperationListQuery>(query_string, kListParameters);
}

Decoded<OperationPatch> decode_operation_patch(std::string_view body, const DecodeLimits& limits) {
  return decode_members<OperationPatch>(body, limits, EmptyBody::kRefused, kPatchMembers);
}

void encode(JsonWriter& json, const Operation& operation) {
  json.begin_object();
  json.member("id", operation.id);
  json.member("kind", operation.kind);
  json.text_or_null("action", operation.action);
  json.text_or_null("query", operation.query);
  json.text_or_null("queue", operation.queue);
  json.text_or_null("error_group", operation.error_group);
  json.member("state", operation.state);
  json.member("matched", operation.matched);
  json.member("done", operation.changed + operation.failed);
  json.member("changed", operation.changed);
  json.member("failed", operation.failed);
  json.member("rate_per_s", operation.rate_per_s);
  json.member("created_at", operation.created_at);
  json.text_or_null("created_by", operation.created_by);
  json.member("updated_at", operation.updated_at);
  json.member("ended_at", operation.ended_at);
  json.member("estimated_end_at", operation.estimated_end_at);
  json.text_or_null("reason", operation.reason);
  json.end_object();
}

}  // namespace millrace::api
