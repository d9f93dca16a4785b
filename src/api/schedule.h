// Schedules: specifications, decoded, and their state, encoded. This room does not interpret
// expressions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/new_workflow.h"
#include "api/problem.h"
#include "api/submission.h"
#include "terms/schedule.h"

namespace millrace::api {

using terms::MissedPolicy;
using terms::OverlapPolicy;

// When a schedule is due. Exactly one of `cron` and `every` is given.
struct ScheduleTiming {
  std::string cron;
  std::optional<Duration> every;
  std::string timezone = "UTC";
  bool skip_dst_gap = false;
  bool twice_in_dst_overlap = false;
};

// PUT /v1/schedules/{name}. `job` and `workflow` hold views of the body.
struct ScheduleSpec {
  ScheduleTiming timing;
  JobSubmission job;  // without id, run_at and delay
  // In place of the job: without id, unique, open, and run_at of its jobs.
  std::optional<NewWorkflow> workflow;
  std::optional<Time> start_at;
  std::optional<Time> end_at;
  Duration jitter{0};
  Duration missed_after{60'000};
  MissedPolicy missed = MissedPolicy::kOne;
  int missed_limit = 100;
  OverlapPolicy overlap = OverlapPolicy::kAllow;
  std::optional<bool> paused;
  std::string managed_by;  // empty: none
};
Decoded<ScheduleSpec> decode_schedule(std::string_view body, const DecodeLimits& limits);

// PUT /v1/schedules: all schedules of one owner.
struct ScheduleSet {
  std::string managed_by;
  std::vector<std::pair<std::string, ScheduleSpec>> schedules;  // names are unique
  bool prune = false;
  bool dry_run = false;
  bool force = false;
};
Decoded<ScheduleSet> decode_schedule_set(std::string_view body, const DecodeLimits& limits);

struct SetOutcome {  // names, sorted
  std::vector<std::string> created;
  std::vector<std::string> updated;
  std::vector<std::string> unchanged;
  std::vector<std::string> deleted;
};
void encode(JsonWriter& json, const SetOutcome& outcome);

struct SchedulePreview {
  ScheduleTiming timing;
  std::optional<Time> from;
  int count = 5;
};
Decoded<SchedulePreview> decode_preview(std::string_view body, const DecodeLimits& limits);

struct Trigger {
  std::optional<Time> scheduled_at;
};
Decoded<Trigger> decode_trigger(std::string_view body, const DecodeLimits& limits);

struct Backfill {
  Time from{};
  Time to{};
  int limit = kMaxBackfill;
  bool dry_run = false;
  bool rerun = false;
};
Decoded<Backfill> decode_backfill(std::string_view body, const DecodeLimits& limits);
struct BackfillOutcome {
  std::int64_t submitted = 0;
  std::int64_t existing = 0;
  bool more = false;
};
void encode(JsonWriter& json, const BackfillOutcome& outcome);

struct ScheduleListQuery {
  std::int64_t limit = kDefaultListLimit;
  std::string cursor;
  std::optional<std::string> managed_by;  // empty: without an owner
  std::string queue;                      // empty: any
};
Decoded<ScheduleListQuery> decode_schedule_list_query(std::string_view query_string);

// The job of a schedule, or of a member of a workflow, as specified. Views as in job.h.
struct ScheduleJob {
  std::string_view type;
  std::string_view queue;
  std::string_view payload;
  bool redacted = false;  // the payload is left out
  std::int64_t priority = 0;
  std::optional<Time> run_at;     // of a workflow's member only; the same for the next
  std::optional<Duration> delay;  // from its release
  std::optional<Time> expires_at;
  std::optional<Duration> expires_in;
  std::optional<std::int64_t> max_attempts;
  std::optional<RetryPolicy> retry;
  std::optional<Duration> lease;
  std::optional<Duration> timeout;
  std::optional<UniqueKey> unique;
  std::vector<std::string_view> tags;
  StringMapView meta;
  std::string_view traceparent;
  std::string_view tracestate;
  std::vector<JobLimit> limits;
  std::string_view order_key;  // empty: absent
  OrderOnFailure order_on_failure = OrderOnFailure::kHold;
  std::string_view fair_key;  // empty: absent
};

void encode(JsonWriter& json, const ScheduleJob& job);

struct ScheduleWorkflow;  // schedule_workflow.h

struct Schedule {
  std::string_view name;
  std::string_view cron;  // empty: null
  std::optional<Duration> every;
  std::string_view timezone;
  bool skip_dst_gap = false;
  bool twice_in_dst_overlap = false;
  ScheduleJob job;
  const ScheduleWorkflow* workflow = nullptr;  // in place of the job; null: none
  std::optional<Time> start_at;
  std::optional<Time> end_at;
  Duration jitter{};
  Duration missed_after{};
  MissedPolicy missed{};
  std::int64_t missed_limit = 0;
  OverlapPolicy overlap{};
  bool paused = false;
  std::string_view managed_by;  // empty: null
  std::uint64_t version = 0;
  std::string_view state;
  std::string_view reason;  // of the pause; empty: null
  std::string_view error;   // empty: null
  Time created_at{};
  Time updated_at{};
  std::optional<Time> last_scheduled_at;
  std::optional<JobId> last_job_id;
  std::optional<JobId> last_workflow_id;  // at most one of the two
  std::vector<Time> next;
  std::string description;
  std::vector<std::string> warnings;
};
void encode(JsonWriter& json, const Schedule& schedule);

struct PreviewAnswer {
  std::string description;
  std::vector<Time> next;
  std::vector<std::string> warnings;
};
void encode(JsonWriter& json, const PreviewAnswer& preview);

struct ScheduleRun {
  Time scheduled_at{};
  Time at{};
  std::optional<JobId> job;
  std::optional<JobId> workflow;  // at most one of the two
  std::string_view outcome;
  std::uint64_t count = 1;
  std::string_view error;  // empty: absent
};
void encode_runs(JsonWriter& json, const std::vector<ScheduleRun>& runs);  // {"items": [...]}

}  // namespace millrace::api
