#include "api/error_group.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/decode.h"
#include "api/operation.h"
#include "api/parameters.h"

namespace millrace::api {
namespace {

constexpr std::array<std::string_view, 3> kStatuses = {"open", "muted", "resolved"};
constexpr std::array<std::string_view, 3> kOrders = {"last_seen", "count", "first_seen"};
constexpr std::array<std::string_view, 3> kCanaryStates = {"running", "succeeded", "failed"};
constexpr std::array<std::string_view, 2> kModes = {"canary", "all"};

void read_status(const Argument& argument, ErrorGroupsQuery& out) {
  take_list(argument, [&](const Argument& each) {
    const auto at = std::ranges::find(kStatuses, each.value);
    if (at == kStatuses.end()) return each.fault("must be one of open, muted, resolved");
    out.statuses.push_back(static_cast<ErrorStatus>(at - kStatuses.begin()));
  });
}

void read_order(const Argument& argument, ErrorGroupsQuery& out) {
  const auto at = std::ranges::find(kOrders, argument.value);
  if (at == kOrders.end()) return argument.fault("must be one of last_seen, count, first_seen");
  out.order = static_cast<ErrorOrder>(at - kOrders.begin());
}

constexpr Parameter<ErrorGroupsQuery> kParameters[] = {
    {"status", read_status, Repeated::kTaken},
    {"queue", [](const Argument& a, ErrorGroupsQuery& out) { take_name(a, out.queue); }},
    {"type", [](const Argument& a, ErrorGroupsQuery& out) { take_name(a, out.type); }},
    {"order", read_order},
    {"limit", [](const Argument& a,
                 ErrorGroupsQuery& out) { take_integer(a, 1, kMaxListLimit, out.limit); }},
    {"cursor", [](const Argument& a, ErrorGroupsQuery& out) { take_cursor(a, out.cursor); }},
};

constexpr Member<ErrorGroupPatch> kPatchMembers[] = {
    {"status",
     [](Decode& d, const Path& p, ErrorGroupPatch& out) {
       std::size_t word = 0;
       if (read_word(d, p, kStatuses, word)) out.status = static_cast<ErrorStatus>(word);
     }},
    {"muted_until",
     [](Decode& d, const Path& p, ErrorGroupPatch& out) {
       out.has_muted_until = true;
       if (d.cursor.type() == JsonType::kNull) {
         d.cursor.skip();
       } else {
         read_into(out.muted_until, read_time, d, p);
       }
     },
     NullMember::kValue},
    {"note",
     [](Decode& d, const Path& p, ErrorGroupPatch& out) {
       out.has_note = true;
       if (d.cursor.type() == JsonType::kNull) {
         d.cursor.skip();
       } else {
         read_text(d, p, 0, kMaxReasonBytes, out.note);
       }
     },
     NullMember::kValue},
};

void read_rate(Decode& d, const Path& p, ErrorGroupRetry& out) {
  read_into(out.rate_per_s, read_integer, d, p, std::int64_t{1}, kMaxOperationRate);
}

constexpr Member<ErrorGroupRetry> kRetryMembers[] = {
    {"mode",
     [](Decode& d, const Path& p, ErrorGroupRetry& out) {
       std::size_t word = 0;
       if (read_word(d, p, kModes, word)) out.all = word == 1;
     }},
    {"rate_per_s", read_rate},
};
constexpr Member<ErrorGroupRetry> kDeleteMembers[] = {{"rate_per_s", read_rate}};

template <typename Text>
void encode_texts(JsonWriter& json, std::string_view name, const std::vector<Text>& texts) {
  json.key(name);
  json.begin_array();
  for (const auto& text : texts) json.string(text);
  json.end_array();
}

void encode_versions(JsonWriter& json, const std::vector<ErrorGroup::Version>& versions) {
  json.key("versions");
  json.begin_array();
  for (const ErrorGroup::Version& version : versions) {
    json.begin_object();
    json.member("version", version.version);
    json.member("first_seen", version.first_seen);
    json.member("last_seen", version.last_seen);
    json.member("count", version.count);
    json.end_object();
  }
  json.end_array();
}

void encode_canary(JsonWriter& json, const std::optional<Canary>& canary) {
  json.key("canary");
  if (!canary) return json.null();
  json.begin_object();
  json.member("job", canary->job);
  json.member("state", kCanaryStates.at(static_cast<std::size_t>(canary->state)));
  json.member("at", canary->at);
  json.end_object();
}

}  // namespace

std::string_view name_of(ErrorStatus status) {
  return kStatuses.at(static_cast<std::size_t>(status));
}

Decoded<ErrorGroupsQuery> decode_error_groups_query(std::string_view query_string) {
  return decode_parameters<ErrorGroupsQuery>(query_string, kParameters);
}

Decoded<ErrorGroupPatch> decode_error_group_patch(std::string_view body,
                                                  const DecodeLimits& limits) {
  return decode_body<ErrorGroupPatch>(
      body, limits, EmptyBody::kRefused, [](Decode& d, const Path& p, ErrorGroupPatch& out) {
        if (!read_object(d, p, kPatchMembers, out)) return;
        if (!out.status && !out.has_muted_until && !out.has_note) {
          return d.fault(p, "must have one of status, muted_until, note");
        }
        const Path until{&p, "muted_until"};
        if (out.muted_until && !out.status) out.status = ErrorStatus::kMuted;
        if (out.muted_until && out.status != ErrorStatus::kMuted) {
          d.fault(until, "goes only with the status muted");
        }
      });
}

Decoded<ErrorGroupRetry> decode_error_group_retry(std::string_view body,
                                                  const DecodeLimits& limits) {
  return decode_body<ErrorGroupRetry>(
      body, limits, EmptyBody::kRefused, [](Decode& d, const Path& p, ErrorGroupRetry& out) {
        const auto seen = read_object(d, p, kRetryMembers, out);
        if (!seen) return;
        require(d, p, "mode", seen->has(bit_of(kRetryMembers, "mode")));
        if (out.rate_per_s && !out.all) {
          d.fault(Path{&p, "rate_per_s"}, "goes only with the mode all: a canary is one job");
        }
      });
}

Decoded<ErrorGroupRetry> decode_error_group_delete(std::string_view body,
                                                   const DecodeLimits& limits) {
  auto decoded = decode_members(body, limits, EmptyBody::kEmptyObject, kDeleteMembers);
  if (decoded) decoded->all = true;
  return decoded;
}

void encode(JsonWriter& json, const ErrorGroup& group) {
  json.begin_object();
  json.member("id", group.id);
  json.member("error_type", group.error_type);
  if (group.redacted) {
    json.text_or_null("message", {});
  } else {
    json.member("message", group.message);
  }
  json.member("status", name_of(group.status));
  json.member("muted_until", group.muted_until);
  json.text_or_null("note", group.note);
  encode_texts(json, "queues", group.queues);
  encode_texts(json, "types", group.types);
  json.member("waiting", group.waiting);
  json.member("dead", group.dead);
  json.member("total", group.total);
  json.member("first_seen", group.first_seen);
  json.member("last_seen", group.last_seen);
  json.key("trend");
  json.begin_array();
  for (const std::uint64_t failures : group.trend) json.number(failures);
  json.end_array();
  encode_versions(json, group.versions);
  json.key("sample");
  json.begin_array();
  for (const JobId& job : group.sample) json.id(job);
  json.end_array();
  encode_canary(json, group.canary);
  json.member("reopened_at", group.reopened_at);
  json.end_object();
}

void encode_error_groups(JsonWriter& json, const std::vector<ErrorGroup>& groups,
                         std::string_view next_cursor, Time as_of) {
  json.begin_object();
  json.key("items");
  json.begin_array();
  for (const ErrorGroup& group : groups) encode(json, group);
  json.end_array();
  json.text_or_null("next_cursor", next_cursor);
  json.member("as_of", as_of);
  json.end_object();
}

}  // namespace millrace::api
