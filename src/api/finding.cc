#include "api/finding.h"

#include <algorithm>
#include <array>

#include "api/parameters.h"
#include "api/text.h"

namespace millrace::api {
namespace {

constexpr std::array<std::string_view, kSeverities> kSeverityNames = {"bad", "warn", "note"};

// In the order of FindingCode.
constexpr std::array<std::string_view, kFindingCodes> kCodes = {
    "all_paused",
    "queue_paused",
    "queue_without_workers",
    "queue_behind",
    "queue_full",
    "type_untaken",
    "worker_silent",
    "gate_paused",
    "gate_full",
    "limit_stuck",
    "limit_cost",
    "type_dies",
    "type_fails",
    "poison_crashes",
    "poison_retries",
    "poison_dead",
    "schedule_broken",
    "schedule_late",
    "schedule_refused",
    "schedule_skips",
    "schedule_paused",
    "schedule_ended",
    "workflow_idle",
    "workflow_late_success",
    "push_failing",
    "push_paused",
    "token_expires",
    "check_fails",
    "cannot_write",
    "disk_full",
    "slow_syncs",
    "memory_short",
    "tables_behind",
    "clock_changed",
    "certificate_expires",
    "database_silent",
    "database_clock",
    "database_connections",
    "transaction_open",
    "transaction_prepared",
    "versions_differ",
    "shard_without_leader",
    "node_gone",
};

constexpr std::array<std::string_view, kFindingAreas> kAreas = {
    "queues",    "workers",      "limits", "errors", "schedules",
    "workflows", "push_targets", "tokens", "node",   "cluster"};

void read_about(const Argument& argument, FindingsQuery& out) {
  take_list(argument, [&](const Argument& each) {
    const auto at = std::ranges::find(kAreas, each.value);
    if (at == kAreas.end()) return each.fault(words_rule(kAreas));
    out.about.push_back(static_cast<FindingArea>(at - kAreas.begin()));
  });
}

template <Duration FindingsQuery::* kMember, std::int64_t kMinMs = 0,
          std::int64_t kMaxMs = kMaxDelayMs>
void read_ms(const Argument& argument, FindingsQuery& out) {
  take_duration(argument, kMinMs, kMaxMs, out.*kMember);
}
template <std::int64_t FindingsQuery::* kMember, std::int64_t kMax, std::int64_t kMin = 1>
void read_number(const Argument& argument, FindingsQuery& out) {
  take_integer(argument, kMin, kMax, out.*kMember);
}

using Query = FindingsQuery;
constexpr std::int64_t kMaxPercent = 100;
constexpr std::int64_t kMaxCount = 1'000'000;
constexpr std::int64_t kMaxBytes = std::int64_t{1} << 50;

constexpr Parameter<Query> kParameters[] = {
    {"about", read_about, Repeated::kTaken},
    {"closely", [](const Argument& a, Query& out) { take_boolean(a, out.closely); }},
    {"limit", read_number<&Query::limit, kMaxFindingsOfACode>},
    {"late_ms", read_ms<&Query::late>},
    {"alone_ms", read_ms<&Query::alone>},
    {"silent_ms", read_ms<&Query::silent>},
    {"stuck_ms", read_ms<&Query::stuck>},
    {"window_ms", read_ms<&Query::window, kMinFindingsWindowMs, kMaxFindingsWindowMs>},
    {"failing_percent", read_number<&Query::failing_percent, kMaxPercent>},
    {"failing_attempts", read_number<&Query::failing_attempts, kMaxCount>},
    {"poison_attempts", read_number<&Query::poison_attempts, kMaxAttempts>},
    {"poison_crashes", read_number<&Query::poison_crashes, kMaxCrashes>},
    {"poison_dead", read_number<&Query::poison_dead, kMaxCount>},
    {"transaction_ms", read_ms<&Query::transaction>},
    {"tables_behind_ms", read_ms<&Query::tables_behind>},
    {"slow_sync_ms", read_ms<&Query::slow_sync>},
    {"database_clock_ms", read_ms<&Query::database_clock>},
    {"clock_changed_ms", read_ms<&Query::clock_changed>},
    {"free_percent", read_number<&Query::free_percent, kMaxPercent, 0>},
    {"free_bytes", read_number<&Query::free_bytes, kMaxBytes, 0>},
    {"certificate_ms", read_ms<&Query::certificate>},
    {"token_ms", read_ms<&Query::token>},
};

void encode_about(JsonWriter& json, const FindingAbout& about) {
  const auto one = [&json](std::string_view kind, const std::string& name) {
    if (!name.empty()) json.member(kind, name);
  };
  json.begin_object();
  one("queue", about.queue);
  one("type", about.type);
  one("job", about.job);
  one("worker", about.worker);
  one("limit", about.limit);
  one("error_group", about.error_group);
  one("schedule", about.schedule);
  one("workflow", about.workflow);
  one("push_target", about.push_target);
  one("token", about.token);
  one("node", about.node);
  one("check", about.check);
  json.end_object();
}

void encode(JsonWriter& json, const Figure& figure) {
  json.begin_object();
  json.member("name", figure.name);
  json.member("value", figure.value);
  json.member("unit", figure.unit);
  json.member("threshold", figure.threshold);
  json.end_object();
}

void encode(JsonWriter& json, const Finding& finding) {
  json.begin_object();
  json.member("code", name_of(finding.code));
  json.member("severity", name_of(finding.severity));
  json.key("about");
  encode_about(json, finding.about);
  json.member("what", finding.what);
  json.member("why", finding.why);
  json.member("next",
              finding.command.empty() ? finding.next : finding.next + ": " + finding.command);
  json.text_or_null("command", finding.command);
  json.key("figures");
  json.begin_array();
  for (const Figure& figure : finding.figures) encode(json, figure);
  json.end_array();
  json.end_object();
}

void encode(JsonWriter& json, const MoreFindings& more) {
  json.begin_object();
  json.member("code", name_of(more.code));
  json.member("severity", name_of(more.severity));
  json.member("count", more.count);
  json.end_object();
}

void encode(JsonWriter& json, const NotLookedAt& part) {
  json.begin_object();
  json.member("about", name_of(part.about));
  json.member("why", part.why);
  json.end_object();
}

template <typename Items>
void encode_array(JsonWriter& json, std::string_view name, const Items& items) {
  json.key(name);
  json.begin_array();
  for (const auto& item : items) encode(json, item);
  json.end_array();
}

}  // namespace

std::string_view name_of(Severity severity) {
  return kSeverityNames[static_cast<std::size_t>(severity)];
}
std::string_view name_of(FindingCode code) { return kCodes[static_cast<std::size_t>(code)]; }
std::string_view name_of(FindingArea area) { return kAreas[static_cast<std::size_t>(area)]; }

bool FindingsQuery::wants(FindingArea area) const {
  return about.empty() || std::ranges::find(about, area) != about.end();
}

Decoded<FindingsQuery> decode_findings_query(std::string_view query_string) {
  return decode_parameters<FindingsQuery>(query_string, kParameters);
}

void encode(JsonWriter& json, const Findings& findings) {
  json.begin_object();
  json.member("at", findings.at);
  encode_array(json, "items", findings.items);
  encode_array(json, "more", findings.more);
  encode_array(json, "not_looked_at", findings.not_looked_at);
  json.key("looked_at");
  json.begin_object();
  for (const Findings::Count& each : findings.looked_at) json.member(each.name, each.count);
  json.end_object();
  json.end_object();
}

}  // namespace millrace::api
