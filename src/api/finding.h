// Findings: what is wrong with a server, judged by the server itself. GET /v1/findings.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/bounds.h"
#include "api/problem.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace millrace::api {

// A note is worth knowing but is not a fault. In order: the worst first.
enum class Severity : std::uint8_t { kBad, kWarn, kNote };
inline constexpr std::size_t kSeverities = 3;
std::string_view name_of(Severity severity);

// What a finding says. docs/reference/findings.md explains each.
enum class FindingCode : std::uint8_t {
  kAllPaused,
  kQueuePaused,
  kQueueWithoutWorkers,
  kQueueBehind,
  kQueueFull,
  kTypeUntaken,
  kWorkerSilent,
  kGatePaused,
  kGateFull,
  kLimitStuck,
  kLimitCost,
  kTypeDies,
  kTypeFails,
  kPoisonCrashes,
  kPoisonRetries,
  kPoisonDead,
  kScheduleBroken,
  kScheduleLate,
  kScheduleRefused,
  kScheduleSkips,
  kSchedulePaused,
  kScheduleEnded,
  kWorkflowIdle,
  kWorkflowLateSuccess,
  kPushFailing,
  kPushPaused,
  kTokenExpires,
  kCheckFails,
  kCannotWrite,
  kDiskFull,
  kSlowSyncs,
  kMemoryShort,
  kTablesBehind,
  kClockChanged,
  kCertificateExpires,
  kDatabaseSilent,
  kDatabaseClock,
  kDatabaseConnections,
  kTransactionOpen,
  kTransactionPrepared,
  kVersionsDiffer,
  kShardWithoutLeader,
  kNodeGone,
};
inline constexpr std::size_t kFindingCodes = static_cast<std::size_t>(FindingCode::kNodeGone) + 1;
std::string_view name_of(FindingCode code);

// The parts of a server that are judged, each by itself.
enum class FindingArea : std::uint8_t {
  kQueues,
  kWorkers,
  kLimits,
  kErrors,
  kSchedules,
  kWorkflows,
  kPushTargets,
  kTokens,
  kNode,     // the answering node alone
  kCluster,  // the nodes together
};
inline constexpr std::size_t kFindingAreas = static_cast<std::size_t>(FindingArea::kCluster) + 1;
std::string_view name_of(FindingArea area);

// The things that a finding is about. Empty: none of this kind.
struct FindingAbout {
  std::string queue{};
  std::string type{};
  std::string job{};
  std::string worker{};
  std::string limit{};
  std::string error_group{};
  std::string schedule{};
  std::string workflow{};
  std::string push_target{};
  std::string token{};
  std::string node{};
  std::string check{};
};

// A number that the finding was judged by.
struct Figure {
  std::string_view name;
  double value = 0;
  std::string_view unit;            // "ms", "bytes", "percent", or what is counted: "jobs"
  std::optional<double> threshold;  // with which it was compared; none: it only explains
};

struct Finding {
  FindingCode code{};
  Severity severity{};
  FindingAbout about{};
  std::string what{};     // a title without a full stop: "Queue mail is paused"
  std::string why{};      // sentences: the consequence
  std::string next{};     // the next step
  std::string command{};  // that does it; empty: there is none. It goes after `next`
  std::vector<Figure> figures{};
};

// Findings that were left out, because there are too many of their code.
struct MoreFindings {
  FindingCode code{};
  Severity severity{};
  std::int64_t count = 0;
};

// A part that was not judged, wholly or in part, and the reason, a sentence without a full stop.
struct NotLookedAt {
  FindingArea about{};
  std::string why;
};

struct Findings {
  Time at{};
  std::vector<Finding> items;  // the worst first
  std::vector<MoreFindings> more;
  std::vector<NotLookedAt> not_looked_at;
  struct Count {
    std::string_view name;  // "queues"
    std::int64_t count = 0;
  };
  std::vector<Count> looked_at;  // what the caller may see
};
void encode(JsonWriter& json, const Findings& findings);

// GET /v1/findings. At a threshold something becomes a finding.
struct FindingsQuery {
  std::vector<FindingArea> about;  // empty: all
  bool closely = false;            // read the tables too
  std::int64_t limit = 10;         // findings of one code

  Duration late{60'000};     // no progress of a ready job or a schedule
  Duration alone{5'000};     // a ready job in a queue without workers
  Duration silent{45'000};   // a worker that holds jobs
  Duration stuck{600'000};   // no slot of a limit came free
  Duration window{900'000};  // of the two below
  std::int64_t failing_percent = 20;
  std::int64_t failing_attempts = 20;  // fewer say little
  std::int64_t poison_attempts = 5;
  std::int64_t poison_crashes = 2;
  std::int64_t poison_dead = 3;
  Duration transaction{60'000};
  Duration tables_behind{5'000};
  Duration slow_sync{100};
  Duration database_clock{2'000};
  Duration clock_changed{60'000};
  std::int64_t free_percent = 10;  // of the disk
  std::int64_t free_bytes = std::int64_t{1} << 30;
  Duration certificate{14 * 86'400'000LL};
  Duration token{7 * 86'400'000LL};

  bool wants(FindingArea area) const;
};
Decoded<FindingsQuery> decode_findings_query(std::string_view query_string);

}  // namespace millrace::api
