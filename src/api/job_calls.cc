#include "api/job_calls.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "api/job_decode.h"
#include "api/named_decode.h"
#include "api/operation.h"
#include "api/parameters.h"
#include "api/text.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

// --- Query strings.

constexpr std::array<std::string_view, 5> kIncludable = {"payload", "result", "attempts", "logs",
                                                         "events"};
constexpr std::span<const std::string_view> kIncludableInLists = std::span(kIncludable).first(2);

void include_words(const Argument& argument, std::span<const std::string_view> words,
                   Include& include) {
  bool* const flags[] = {&include.payload, &include.result, &include.attempts, &include.logs,
                         &include.events};
  take_list(argument, [&](const Argument& each) {
    const auto found = std::ranges::find(words, each.value);
    if (found == words.end()) {
      each.fault(words_rule(words));
    } else {
      *flags[found - words.begin()] = true;
    }
  });
}

constexpr Parameter<Include> kIncludeParameters[] = {
    {"include", [](const Argument& a, Include& out) { include_words(a, kIncludable, out); },
     Repeated::kTaken},
};

struct JobQueryParts {
  JobQuery query;
  bool until_final = false;
};
constexpr Parameter<JobQueryParts> kJobParameters[] = {
    {"include",
     [](const Argument& a, JobQueryParts& out) {
       include_words(a, kIncludable, out.query.include);
     },
     Repeated::kTaken},
    {"wait_ms", [](const Argument& a,
                   JobQueryParts& out) { take_duration(a, 0, kMaxWaitMs, out.query.wait); }},
    {"until",
     [](const Argument& a, JobQueryParts& out) {
       out.until_final = a.value == "final";
       if (!out.until_final) a.fault("must be a final state");
     }},
};

void check_wait(JobQueryParts& parts, std::vector<FieldError>& faults) {
  if (parts.query.wait > Duration{0} && !parts.until_final)
    Argument{"until", {}, faults}.fault("must be a final state when wait_ms is given");
}

void add_state(JobFilter& filter, JobState state) {
  if (std::ranges::find(filter.states, state) == filter.states.end())
    filter.states.push_back(state);
}

void read_states(const Argument& argument, JobFilter& filter) {
  take_list(argument, [&](const Argument& each) {
    if (const std::optional<JobState> state = terms::value_named<JobState>(each.value)) {
      add_state(filter, *state);
    } else {
      each.fault(unknown_state(each.value));
    }
  });
}

void read_query(const Argument& argument, JobFilter& filter) {
  auto query = parse_query(argument.value);
  if (query) {
    filter.query = std::move(*query);
  } else {
    argument.fault(std::move(query.error()));
  }
}

constexpr Parameter<JobListQuery> kListParameters[] = {
    {"state", [](const Argument& a, JobListQuery& out) { read_states(a, out.filter); },
     Repeated::kTaken},
    {"queue", [](const Argument& a, JobListQuery& out) { take_name(a, out.filter.queue); }},
    {"type", [](const Argument& a, JobListQuery& out) { take_name(a, out.filter.type); }},
    {"tag", [](const Argument& a, JobListQuery& out) { take_name(a, out.filter.tag); }},
    {"created_after",
     [](const Argument& a, JobListQuery& out) { take_time(a, out.filter.created_after); }},
    {"created_before",
     [](const Argument& a, JobListQuery& out) { take_time(a, out.filter.created_before); }},
    {"q", [](const Argument& a, JobListQuery& out) { read_query(a, out.filter); }},
    {"include",
     [](const Argument& a, JobListQuery& out) {
       include_words(a, kIncludableInLists, out.include);
     },
     Repeated::kTaken},
    {"limit", [](const Argument& a,
                 JobListQuery& out) { take_integer(a, 1, kMaxListLimit, out.page.limit); }},
    {"cursor", [](const Argument& a, JobListQuery& out) { take_cursor(a, out.page.cursor); }},
    {"fresh", [](const Argument& a, JobListQuery& out) { take_boolean(a, out.page.fresh); }},
};

// --- Bodies.

constexpr Member<Cancel> kCancelMembers[] = {
    {"reason", [](Decode& d, const Path& p,
                  Cancel& out) { read_text(d, p, 0, kMaxReasonBytes, out.reason); }},
};

constexpr Member<Retry> kRetryMembers[] = {
    {"run_at",
     [](Decode& d, const Path& p, Retry& out) { read_into(out.run_at, read_time, d, p); }},
    {"reset_attempts",
     [](Decode& d, const Path& p, Retry& out) { read_boolean(d, p, out.reset_attempts); }},
    {"drop_limits",
     [](Decode& d, const Path& p, Retry& out) { read_boolean(d, p, out.drop_limits); }},
};

// In a patch, null differs from an absent member: it would look like a request to clear it.
constexpr NullMember kNull = NullMember::kValue;
constexpr Member<JobPatch> kPatchMembers[] = {
    {"priority",
     [](Decode& d, const Path& p, JobPatch& out) { read_into(out.priority, read_priority, d, p); },
     kNull},
    {"run_at",
     [](Decode& d, const Path& p, JobPatch& out) { read_into(out.run_at, read_time, d, p); },
     kNull},
    {"payload",
     [](Decode& d, const Path& p, JobPatch& out) {
       read_into(out.payload, read_raw, d, p, d.limits().payload_bytes);
     },
     kNull},
    {"max_attempts",
     [](Decode& d, const Path& p, JobPatch& out) {
       read_into(out.max_attempts, read_max_attempts, d, p);
     },
     kNull},
    {"tags",
     [](Decode& d, const Path& p, JobPatch& out) {
       read_names(d, p, 0, kMaxTags, out.tags.emplace());
     },
     kNull},
};

void read_filter_states(Decode& decode, const Path& path, JobFilter& filter) {
  const auto read_one = [&](const Path& element) {
    JobState state{};
    if (read_named(decode, element, state)) add_state(filter, state);
  };
  if (decode.cursor.type() == JsonType::kString) {
    read_one(path);
  } else {
    read_array(decode, path, 1, kJobStates, read_one);
  }
}

void read_filter_query(Decode& decode, const Path& path, JobFilter& filter) {
  std::string text;
  if (!read_string(decode, path, text)) return;
  auto query = parse_query(text);
  if (query) {
    filter.query = std::move(*query);
    filter.query_text = std::move(text);
  } else {
    decode.fault(path, std::move(query.error()));
  }
}

constexpr Member<JobFilter> kFilterMembers[] = {
    {"state", read_filter_states},
    {"queue", [](Decode& d, const Path& p, JobFilter& out) { read_name(d, p, out.queue); }},
    {"type", [](Decode& d, const Path& p, JobFilter& out) { read_name(d, p, out.type); }},
    {"tag", [](Decode& d, const Path& p, JobFilter& out) { read_name(d, p, out.tag); }},
    {"created_after", [](Decode& d, const Path& p,
                         JobFilter& out) { read_into(out.created_after, read_time, d, p); }},
    {"created_before", [](Decode& d, const Path& p,
                          JobFilter& out) { read_into(out.created_before, read_time, d, p); }},
    {"q", read_filter_query},
};

constexpr std::array<std::string_view, 4> kActions = {"retry", "cancel", "delete", "reprioritize"};

constexpr Member<Bulk> kBulkMembers[] = {
    {"action",
     [](Decode& d, const Path& p, Bulk& out) {
       std::size_t index = 0;
       if (read_word(d, p, kActions, index)) out.action = static_cast<BulkAction>(index);
     }},
    {"priority",
     [](Decode& d, const Path& p, Bulk& out) { read_into(out.priority, read_priority, d, p); }},
    {"ids",
     [](Decode& d, const Path& p, Bulk& out) {
       read_array(d, p, 1, kMaxBatchItems,
                  [&](const Path& element) { read_id(d, element, out.ids.emplace_back()); });
     }},
    {"filter",
     [](Decode& d, const Path& p, Bulk& out) {
       const std::optional<Seen> seen = read_object(d, p, kFilterMembers, out.filter.emplace());
       const bool is_everything =
           seen && (seen->valued == 0 ||
                    (seen->valued == bit_of(kFilterMembers, "q") && out.filter->query.empty()));
       if (is_everything) d.fault(p, "must have at least one member");
     }},
    {"dry_run", [](Decode& d, const Path& p, Bulk& out) { read_boolean(d, p, out.dry_run); }},
    {"operation", [](Decode& d, const Path& p, Bulk& out) { read_boolean(d, p, out.operation); }},
    {"rate_per_s",
     [](Decode& d, const Path& p, Bulk& out) {
       read_into(out.rate_per_s, read_integer, d, p, std::int64_t{1}, kMaxOperationRate);
     }},
};

void read_bulk(Decode& decode, const Path& path, Bulk& bulk) {
  const std::optional<Seen> seen = read_object(decode, path, kBulkMembers, bulk);
  if (!seen) return;
  const bool has_action = seen->has(bit_of(kBulkMembers, "action"));
  const bool has_ids = seen->has(bit_of(kBulkMembers, "ids"));
  const bool has_filter = seen->has(bit_of(kBulkMembers, "filter"));
  const bool has_priority = seen->has(bit_of(kBulkMembers, "priority"));
  require(decode, path, "action", has_action);
  if (!has_ids && !has_filter)
    decode.fault(Path{&path, "ids", 0}, "is required, unless filter is given");
  if (has_ids && has_filter)
    decode.fault(Path{&path, "filter", 0}, "must not be given together with ids");
  for (const std::string_view name : {"operation", "rate_per_s"}) {
    const bool given = name == "operation" ? bulk.operation : bulk.rate_per_s.has_value();
    if (given && has_ids && !has_filter) {
      decode.fault(Path{&path, name, 0}, "requires filter: a call with ids is done at once");
    } else if (given && bulk.dry_run) {
      decode.fault(Path{&path, name, 0}, "must not be given together with dry_run");
    }
  }
  if (!has_action) return;
  if (bulk.action == BulkAction::kReprioritize) {
    require(decode, path, "priority", has_priority);
  } else if (has_priority) {
    decode.fault(Path{&path, "priority", 0}, "requires the action reprioritize");
  }
}

}  // namespace

Decoded<Include> decode_include_query(std::string_view query_string) {
  return decode_parameters<Include>(query_string, kIncludeParameters);
}

Decoded<JobQuery> decode_job_query(std::string_view query_string) {
  auto parts = decode_parameters<JobQueryParts>(query_string, kJobParameters, check_wait);
  if (!parts) return std::unexpected(std::move(parts.error()));
  return parts->query;
}

Decoded<JobListQuery> decode_job_list_query(std::string_view query_string) {
  return decode_parameters<JobListQuery>(query_string, kListParameters);
}

Decoded<Cancel> decode_cancel(std::string_view body, const DecodeLimits& limits) {
  return decode_members<Cancel>(body, limits, EmptyBody::kEmptyObject, kCancelMembers);
}

Decoded<Retry> decode_retry(std::string_view body, const DecodeLimits& limits) {
  return decode_members<Retry>(body, limits, EmptyBody::kEmptyObject, kRetryMembers);
}

Decoded<JobPatch> decode_job_patch(std::string_view body, const DecodeLimits& limits) {
  return decode_members<JobPatch>(body, limits, EmptyBody::kRefused, kPatchMembers);
}

Decoded<std::uint64_t> decode_if_match(std::string_view header) {
  std::string_view digits = header;
  if (digits.size() >= 2 && digits.starts_with('"') && digits.ends_with('"'))
    digits = digits.substr(1, digits.size() - 2);
  std::uint64_t version = 0;
  const auto parsed = std::from_chars(digits.data(), digits.data() + digits.size(), version);
  if (parsed.ec != std::errc() || parsed.ptr != digits.data() + digits.size()) {
    return std::unexpected(make_fault(FieldError::Place::kHeader, "If-Match",
                                      "must be a version, with or without quotes"));
  }
  return version;
}

Decoded<Bulk> decode_bulk(std::string_view body, const DecodeLimits& limits) {
  return decode_body<Bulk>(body, limits, EmptyBody::kRefused, read_bulk);
}

Decoded<std::monostate> decode_nothing(std::string_view body, const DecodeLimits& limits) {
  return decode_body<std::monostate>(body, limits, EmptyBody::kEmptyObject,
                                     [](Decode& decode, const Path& path, std::monostate&) {
                                       walk_object(decode, path, {}, 0, nullptr, nullptr);
                                     });
}

void encode(JsonWriter& json, const BulkOutcome& outcome, std::string_view request_id) {
  json.begin_object();
  json.member("matched", outcome.matched);
  json.member("changed", outcome.changed);
  json.member("failed", outcome.failed);
  json.member("more", outcome.more);
  if (outcome.results) {
    json.key("results");
    json.begin_array();
    for (const BulkOutcome::Result& result : *outcome.results) {
      if (result.refused) {
        encode_refused_result(json, result.id, *result.refused, request_id);
      } else {
        encode_job_result(json, 200, result.id, result.state);
      }
    }
    json.end_array();
  }
  json.end_object();
}

}  // namespace millrace::api
