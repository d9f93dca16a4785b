// The calls of operators and readers on jobs: look-ups, lists, cancel, retry, edit, bulk. Views and
// faults as in submission.h. If every member of a body is optional, the body may be empty.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "api/bounds.h"
#include "api/job.h"
#include "api/list.h"
#include "api/problem.h"
#include "api/query.h"

namespace millrace::api {

// The members to include in a job beyond the usual ones.
struct Include {
  bool payload = false;
  bool result = false;
  bool attempts = false;
  bool logs = false;
  bool events = false;
  // The caller may not see payloads, results, checkpoints, error texts and log lines: they are left
  // out, and the answer says so.
  bool redacted = false;

  friend bool operator==(const Include&, const Include&) = default;
};

// The query string of any call that answers with one job: only `include`.
Decoded<Include> decode_include_query(std::string_view query_string);

// GET /v1/jobs/{id}
struct JobQuery {
  Include include;
  Duration wait{0};  // above 0: wait for a terminal state (`until=final`)
};
Decoded<JobQuery> decode_job_query(std::string_view query_string);

// Jobs that meet all of these conditions.
struct JobFilter {
  std::vector<JobState> states;  // any of these; empty: all
  std::string queue;             // empty: all; the same for the next two
  std::string type;
  std::string tag;
  std::optional<Time> created_after;   // inclusive
  std::optional<Time> created_before;  // exclusive
  Query query;                         // `q`
  std::string query_text;              // as sent, in a body
};

// GET /v1/jobs
struct JobListQuery {
  JobFilter filter;
  Page page;
  Include include;  // payload and result only
};
Decoded<JobListQuery> decode_job_list_query(std::string_view query_string);

struct Cancel {
  std::string reason;
};
Decoded<Cancel> decode_cancel(std::string_view body, const DecodeLimits& limits);

struct Retry {
  std::optional<Time> run_at;  // none: now
  bool reset_attempts = true;
  bool drop_limits = false;  // drop limits that no longer exist
};
Decoded<Retry> decode_retry(std::string_view body, const DecodeLimits& limits);

// PATCH /v1/jobs/{id}: absent members stay unchanged. null is a value for `payload` and a fault for
// the others.
struct JobPatch {
  std::optional<std::int16_t> priority;
  std::optional<Time> run_at;
  std::optional<std::string_view> payload;
  std::optional<int> max_attempts;
  std::optional<std::vector<std::string>> tags;
};
Decoded<JobPatch> decode_job_patch(std::string_view body, const DecodeLimits& limits);

// The header If-Match: a version, optionally in quotes.
Decoded<std::uint64_t> decode_if_match(std::string_view header);

enum class BulkAction : std::uint8_t { kRetry, kCancel, kDelete, kReprioritize };

// POST /v1/jobs/bulk: exactly one of `ids` and `filter`.
struct Bulk {
  BulkAction action = BulkAction::kRetry;
  std::optional<std::int16_t> priority;  // with kReprioritize only
  std::vector<JobId> ids;                // 1 to kMaxBatchItems
  std::optional<JobFilter> filter;       // has at least one member
  bool dry_run = false;
  // With `filter` only, and not with dry_run: start an operation, which continues after the answer.
  bool operation = false;
  std::optional<std::int64_t> rate_per_s;
};
Decoded<Bulk> decode_bulk(std::string_view body, const DecodeLimits& limits);

struct BulkOutcome {
  std::int64_t matched = 0;
  std::int64_t changed = 0;
  std::int64_t failed = 0;
  bool more = false;
  struct Result {
    JobId id;
    std::string_view state;
    std::optional<Problem> refused;
  };
  std::optional<std::vector<Result>> results;  // with `ids` only
};
void encode(JsonWriter& json, const BulkOutcome& outcome, std::string_view request_id);

// For calls whose body has no members (resume, quiet, stop): an empty body, or an empty object.
Decoded<std::monostate> decode_nothing(std::string_view body, const DecodeLimits& limits);

}  // namespace millrace::api
