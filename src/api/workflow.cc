#include "api/workflow.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/job_decode.h"
#include "api/named_decode.h"
#include "api/parameters.h"
#include "api/text.h"
#include "api/workflow_decode.h"
#include "base/ascii.h"

namespace millrace::api {
namespace {

constexpr std::array<std::string_view, 2> kOnConflict = {"return", "reject"};
constexpr std::size_t kMaxMemberNumberBytes = 8;  // "@" and the digits of a number

// --- Jobs of members and callbacks.

// Takes away what such a job can't have.
void refuse_unfit(Decode& decode, const Path& path, JobSubmission& job) {
  const auto absent = [&](std::string_view name, bool given, std::string_view why) {
    if (given)
      decode.fault(Path{&path, name, 0}, "must be absent in a workflow; " + std::string(why));
  };
  absent("id", job.id.has_value(), "the server makes the ids of its jobs");
  absent("unique", job.unique.has_value(), "set unique of the workflow, or a limit of the job");
  absent("expires_at", job.expires_at.has_value(),
         "set expires_in_ms, which counts from the job's release");
  absent("idempotency_key", !job.idempotency_key.empty(),
         "send the key of the workflow in the header Idempotency-Key");
  job.id.reset();
  job.unique.reset();
  job.expires_at.reset();
  job.idempotency_key.clear();
}

// `queue`: of a job that names none, nor do the defaults.
void read_member_job(Decode& decode, const Path& path, const JobDefaults& defaults,
                     std::string_view queue, JobSubmission& job) {
  job.queue = queue;
  read_job_over(decode, path, defaults, job);
  refuse_unfit(decode, path, job);
}

// --- Members.

bool read_ref_or_number(Decode& decode, const Path& path, std::string& out) {
  std::string text;
  if (!read_string(decode, path, text)) return false;
  const bool number = text.size() > 1 && text.size() <= kMaxMemberNumberBytes && text[0] == '@' &&
                      std::ranges::all_of(text.substr(1), is_digit);
  if (!number && !is_name(text)) {
    decode.fault(path, "must be the ref of a member, or \"@\" and its number");
    return false;
  }
  out = std::move(text);
  return true;
}

constexpr Member<NewNeed> kNeedMembers[] = {
    {"ref", [](Decode& d, const Path& p, NewNeed& need) { read_name(d, p, need.ref); }},
    {"on", [](Decode& d, const Path& p, NewNeed& need) { read_named(d, p, need.on); }},
};

void read_need(Decode& decode, const Path& path, NewNeed& need) {
  if (decode.cursor.type() == JsonType::kString) {
    read_name(decode, path, need.ref);
    return;
  }
  if (decode.cursor.type() != JsonType::kObject) {
    refuse_value(decode, path, "must be the ref of a member, or an object with a ref");
    return;
  }
  const std::optional<Seen> seen = read_object(decode, path, kNeedMembers, need);
  if (seen) require(decode, path, "ref", seen->has(bit_of(kNeedMembers, "ref")));
}

// A member whose job is read later, once the defaults are known.
struct MemberParts {
  NewMember member;
  std::optional<JsonCursor> job;
};
constexpr Member<MemberParts> kMemberMembers[] = {
    {"ref", [](Decode& d, const Path& p, MemberParts& out) { read_name(d, p, out.member.ref); }},
    {"needs",
     [](Decode& d, const Path& p, MemberParts& out) {
       read_array(d, p, 0, kMaxNeedsOfMember, [&](const Path& element) {
         read_need(d, element, out.member.needs.emplace_back());
       });
     }},
    {"needs_any",
     [](Decode& d, const Path& p, MemberParts& out) { read_boolean(d, p, out.member.needs_any); }},
    {"job",
     [](Decode& d, const Path&, MemberParts& out) {
       out.job = d.cursor;
       d.cursor.skip();
     }},
};

void read_member(Decode& decode, const Path& path, const JobDefaults& defaults,
                 std::string_view queue, NewMember& member) {
  MemberParts parts;
  const std::optional<Seen> seen = read_object(decode, path, kMemberMembers, parts);
  if (!seen) return;
  member = std::move(parts.member);
  if (member.needs_any && member.needs.empty()) {
    decode.fault(Path{&path, "needs_any", 0},
                 "requires needs, of which the first that is met counts");
  }
  require(decode, path, "job", parts.job.has_value());
  if (!parts.job) return;
  const JsonCursor after = std::exchange(decode.cursor, *parts.job);
  read_member_job(decode, Path{&path, "job", 0}, defaults, queue, member.job);
  decode.cursor = after;
}

void read_members(Decode& decode, const Path& path, const JobDefaults& defaults,
                  std::string_view queue, std::vector<NewMember>& members,
                  std::size_t most = kMaxMembersPerCall) {
  read_array(decode, path, 0, most, [&](const Path& element) {
    read_member(decode, element, defaults, queue, members.emplace_back());
  });
}

// --- Workflows. Jobs are read last: `defaults` and `queue` may come after them.

constexpr std::array<std::string_view, 3> kCallbacks = {"on_success", "on_failure", "on_end"};
static_assert(static_cast<std::size_t>(MemberRole::kOnEnd) == kCallbacks.size());

struct WorkflowParts {
  NewWorkflow workflow;
  std::optional<JsonCursor> members;
  std::optional<JsonCursor> defaults;
  std::array<std::optional<JsonCursor>, kCallbacks.size()> callbacks;
};
using Parts = WorkflowParts;

template <std::size_t kIndex>
void keep_callback(Decode& decode, const Path&, Parts& parts) {
  std::get<kIndex>(parts.callbacks) = decode.cursor;
  decode.cursor.skip();
}

constexpr Member<WorkflowKey> kKeyMembers[] = {
    {"key", [](Decode& d, const Path& p,
               WorkflowKey& out) { read_text(d, p, 1, kMaxUniqueKeyBytes, out.key); }},
    {"on_conflict",
     [](Decode& d, const Path& p, WorkflowKey& out) {
       std::size_t rule = 0;
       if (read_word(d, p, kOnConflict, rule)) out.reject = rule == 1;
     }},
};

void read_workflow_key(Decode& decode, const Path& path, Parts& parts) {
  WorkflowKey key;
  const std::optional<Seen> seen = read_object(decode, path, kKeyMembers, key);
  if (!seen) return;
  require(decode, path, "key", seen->has(bit_of(kKeyMembers, "key")));
  parts.workflow.unique = std::move(key);
}

void read_workflow_id(Decode& decode, const Path& path, Parts& parts) {
  JobId id;
  if (!read_id(decode, path, id)) return;
  if (!is_uuid_v7(id)) return decode.fault(path, "must be a UUID of version 7");
  parts.workflow.id = id;
}

constexpr Member<Parts> kWorkflowMembers[] = {
    {"queue", [](Decode& d, const Path& p, Parts& out) { read_name(d, p, out.workflow.queue); }},
    {"id", read_workflow_id},
    {"name", [](Decode& d, const Path& p, Parts& out) { read_name(d, p, out.workflow.name); }},
    {"tags", [](Decode& d, const Path& p,
                Parts& out) { read_names(d, p, 0, kMaxTags, out.workflow.tags); }},
    {"meta", [](Decode& d, const Path& p,
                Parts& out) { read_string_map(d, p, kMaxMetaBytes, out.workflow.meta); }},
    {"defaults",
     [](Decode& d, const Path&, Parts& out) {
       out.defaults = d.cursor;
       d.cursor.skip();
     }},
    {"members",
     [](Decode& d, const Path&, Parts& out) {
       out.members = d.cursor;
       d.cursor.skip();
     }},
    {"open", [](Decode& d, const Path& p, Parts& out) { read_boolean(d, p, out.workflow.open); }},
    {"on_member_failed",
     [](Decode& d, const Path& p, Parts& out) { read_named(d, p, out.workflow.on_member_failed); }},
    {"on_success", keep_callback<0>},
    {"on_failure", keep_callback<1>},
    {"on_end", keep_callback<2>},
    {"max_active",
     [](Decode& d, const Path& p, Parts& out) {
       read_into(out.workflow.max_active, read_integer, d, p, std::int64_t{1}, kMaxMaxActive);
     }},
    {"timeout_ms",
     [](Decode& d, const Path& p, Parts& out) {
       read_into(out.workflow.timeout, read_duration, d, p, kMinWorkflowTimeoutMs,
                 kMaxWorkflowTimeoutMs);
     }},
    {"result_from",
     [](Decode& d, const Path& p, Parts& out) { read_name(d, p, out.workflow.result_from); }},
    {"keep_members",
     [](Decode& d, const Path& p, Parts& out) { read_boolean(d, p, out.workflow.keep_members); }},
    {"unique", read_workflow_key},
};

}  // namespace

void read_workflow(Decode& decode, const Path& path, NewWorkflow& workflow) {
  Parts parts;
  if (!read_object(decode, path, kWorkflowMembers, parts)) return;
  const JsonCursor after = decode.cursor;
  workflow = std::move(parts.workflow);
  JobDefaults defaults;
  if (parts.defaults) {
    const Path place{&path, "defaults", 0};
    decode.cursor = *parts.defaults;
    read_defaults(decode, place, defaults);
    refuse_unfit(decode, place, defaults.job);
  }
  if (parts.members) {
    decode.cursor = *parts.members;
    read_members(decode, Path{&path, "members", 0}, defaults, workflow.queue, workflow.members);
  }
  for (std::size_t i = 0; i < kCallbacks.size(); ++i) {
    if (!parts.callbacks.at(i)) continue;
    decode.cursor = *parts.callbacks.at(i);
    NewCallback& callback = workflow.callbacks.emplace_back();
    callback.role = static_cast<MemberRole>(i + 1);
    read_member_job(decode, Path{&path, kCallbacks.at(i), 0}, defaults, workflow.queue,
                    callback.job);
  }
  decode.cursor = after;
}

namespace {

// --- The other bodies.

constexpr Member<MoreMembers> kMoreMembers[] = {
    {"members",
     [](Decode& d, const Path& p, MoreMembers& out) { read_members(d, p, {}, {}, out.members); }},
    {"by", [](Decode& d, const Path& p, MoreMembers& out) { read_ref_or_number(d, p, out.by); }},
    {"close", [](Decode& d, const Path& p, MoreMembers& out) { read_boolean(d, p, out.close); }},
};

constexpr Member<Growth> kGrowthMembers[] = {
    {"members", [](Decode& d, const Path& p,
                   Growth& out) { read_members(d, p, {}, {}, out.members, kMaxGrownMembers); }},
    {"skip",
     [](Decode& d, const Path& p, Growth& out) {
       read_array(d, p, 0, kMaxGrownMembers, [&](const Path& element) {
         read_ref_or_number(d, element, out.skip.emplace_back());
       });
     }},
};

constexpr Member<WorkflowRetry> kRetryMembers[] = {
    {"refs",
     [](Decode& d, const Path& p, WorkflowRetry& out) {
       read_array(d, p, 1, kMaxMembersPerCall, [&](const Path& element) {
         read_ref_or_number(d, element, out.refs.emplace_back());
       });
     }},
    {"reset_attempts",
     [](Decode& d, const Path& p, WorkflowRetry& out) { read_boolean(d, p, out.reset_attempts); }},
    {"drop_limits",
     [](Decode& d, const Path& p, WorkflowRetry& out) { read_boolean(d, p, out.drop_limits); }},
};

// --- Query strings.

template <terms::HasNames T>
void take_states(const Argument& argument, std::vector<T>& out) {
  take_list(argument, [&](const Argument& each) {
    const std::optional<T> state = terms::value_named<T>(each.value);
    if (!state) return each.fault(words_rule(terms::kNames<T>));
    if (std::ranges::find(out, *state) == out.end()) out.push_back(*state);
  });
}

using ListQuery = WorkflowListQuery;
constexpr Parameter<ListQuery> kListParameters[] = {
    {"state", [](const Argument& a, ListQuery& out) { take_states(a, out.states); },
     Repeated::kTaken},
    {"queue", [](const Argument& a, ListQuery& out) { take_name(a, out.queue); }},
    {"name", [](const Argument& a, ListQuery& out) { take_name(a, out.name); }},
    {"tag", [](const Argument& a, ListQuery& out) { take_name(a, out.tag); }},
    {"created_after", [](const Argument& a, ListQuery& out) { take_time(a, out.created_after); }},
    {"created_before", [](const Argument& a, ListQuery& out) { take_time(a, out.created_before); }},
    {"limit",
     [](const Argument& a, ListQuery& out) { take_integer(a, 1, kMaxListLimit, out.page.limit); }},
    {"cursor", [](const Argument& a, ListQuery& out) { take_cursor(a, out.page.cursor); }},
    {"fresh", [](const Argument& a, ListQuery& out) { take_boolean(a, out.page.fresh); }},
};

void take_include(const Argument& argument, std::span<const std::string_view> words,
                  std::span<bool* const> flags) {
  take_list(argument, [&](const Argument& each) {
    const auto found = std::ranges::find(words, each.value);
    if (found == words.end()) return each.fault(words_rule(words));
    *flags[static_cast<std::size_t>(found - words.begin())] = true;
  });
}
constexpr std::array<std::string_view, 2> kOnMember = {"job", "result"};

void include_on_member(const Argument& argument, MemberInclude& include) {
  const std::array<bool*, 2> flags = {&include.job, &include.result};
  take_include(argument, kOnMember, flags);
}

struct GetParts {
  WorkflowGet get;
  bool until_final = false;
};
constexpr Parameter<GetParts> kGetParameters[] = {
    {"include",
     [](const Argument& a, GetParts& out) {
       const std::array<bool*, 1> flags = {&out.get.result};
       take_include(a, std::span(kOnMember).last(1), flags);
     },
     Repeated::kTaken},
    {"wait_ms",
     [](const Argument& a, GetParts& out) { take_duration(a, 0, kMaxWaitMs, out.get.wait); }},
    {"until",
     [](const Argument& a, GetParts& out) {
       out.until_final = a.value == "final";
       if (!out.until_final) a.fault("must be a final state");
     }},
};

void check_get(GetParts& parts, std::vector<FieldError>& faults) {
  if (parts.get.wait > Duration{0} && !parts.until_final) {
    Argument{"until", {}, faults}.fault("must be a final state when wait_ms is given");
  }
}

constexpr Parameter<MemberListQuery> kMemberListParameters[] = {
    {"state",
     [](const Argument& a, MemberListQuery& out) {
       out.state = terms::value_named<MemberState>(a.value);
       if (!out.state) a.fault(words_rule(terms::kNames<MemberState>));
     }},
    {"include", [](const Argument& a, MemberListQuery& out) { include_on_member(a, out.include); },
     Repeated::kTaken},
    {"limit", [](const Argument& a,
                 MemberListQuery& out) { take_integer(a, 1, kMaxListLimit, out.page.limit); }},
    {"cursor", [](const Argument& a, MemberListQuery& out) { take_cursor(a, out.page.cursor); }},
};

constexpr Parameter<MemberGet> kMemberParameters[] = {
    {"include", [](const Argument& a, MemberGet& out) { include_on_member(a, out.include); },
     Repeated::kTaken},
    {"wait_ms",
     [](const Argument& a, MemberGet& out) { take_duration(a, 0, kMaxWaitMs, out.wait); }},
};

constexpr Parameter<GraphQuery> kGraphParameters[] = {
    {"cursor", [](const Argument& a, GraphQuery& out) { take_cursor(a, out.cursor); }},
};

}  // namespace

void read_growth(Decode& decode, const Path& path, Growth& growth) {
  if (!read_object(decode, path, kGrowthMembers, growth)) return;
  const Path members{&path, "members", 0};
  for (std::size_t i = 0; i < growth.members.size(); ++i) {
    const Path member{&members, {}, i};
    require(decode, member, "ref", !growth.members[i].ref.empty());
  }
}

Decoded<NewWorkflow> decode_workflow(std::string_view body, const DecodeLimits& limits) {
  return decode_body<NewWorkflow>(body, limits, EmptyBody::kRefused, read_workflow);
}

Decoded<MoreMembers> decode_more_members(std::string_view body, const DecodeLimits& limits) {
  return decode_body<MoreMembers>(
      body, limits, EmptyBody::kRefused, [](Decode& decode, const Path& path, MoreMembers& out) {
        const std::optional<Seen> seen = read_object(decode, path, kMoreMembers, out);
        if (seen) require(decode, path, "members", seen->has(bit_of(kMoreMembers, "members")));
      });
}

Decoded<WorkflowRetry> decode_workflow_retry(std::string_view body, const DecodeLimits& limits) {
  return decode_members<WorkflowRetry>(body, limits, EmptyBody::kEmptyObject, kRetryMembers);
}

Decoded<WorkflowListQuery> decode_workflow_list_query(std::string_view query_string) {
  return decode_parameters<WorkflowListQuery>(query_string, kListParameters);
}

Decoded<WorkflowGet> decode_workflow_query(std::string_view query_string) {
  auto parts = decode_parameters<GetParts>(query_string, kGetParameters, check_get);
  if (!parts) return std::unexpected(std::move(parts.error()));
  return parts->get;
}

Decoded<MemberListQuery> decode_member_list_query(std::string_view query_string) {
  return decode_parameters<MemberListQuery>(query_string, kMemberListParameters);
}

Decoded<MemberGet> decode_member_query(std::string_view query_string) {
  return decode_parameters<MemberGet>(query_string, kMemberParameters);
}

Decoded<GraphQuery> decode_graph_query(std::string_view query_string) {
  return decode_parameters<GraphQuery>(query_string, kGraphParameters);
}

}  // namespace millrace::api
