// Data for operators besides jobs and queues: statistics, and the result of a call on many jobs;
// workers and events are in shapes.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "millrace/job.h"

namespace millrace::sdk {

// The events to read. Empty members do not filter.
struct EventFilter {
  static constexpr const char* kEnd = "end";  // for `cursor`: only events from now on

  std::vector<std::string> types{};
  std::vector<std::string> queues{};
  std::string job{};     // an id: only events of this job
  std::string cursor{};  // `next_cursor` of the previous page; empty: the oldest event kept
  int limit = 50;        // of a page, 1 to 1,000
  Milliseconds wait{0};  // wait for the next event; at most 60 s
};

// Percentiles of each column in milliseconds; none if nothing was measured.
struct StatsPercentiles {
  std::vector<std::optional<double>> p50{};
  std::vector<std::optional<double>> p95{};
  std::vector<std::optional<double>> p99{};
};

// Columns of equal width, oldest first; every member has the same number of them.
struct StatsGroup {
  std::string name{};  // the queue or type; empty: all together
  std::vector<std::int64_t> submitted{};
  std::vector<std::int64_t> started{};
  std::vector<std::int64_t> succeeded{};
  std::vector<std::int64_t> failed{};
  std::vector<std::int64_t> dead{};
  StatsPercentiles wait{};  // from due to started
  StatsPercentiles run{};   // from started to the end of the attempt
};

struct StatsFilter {
  std::optional<Milliseconds> window{};  // how far back; by default an hour
  std::optional<Milliseconds> step{};    // width of a column
  std::string by{};                      // "queue", "type", "fair_key" or "tag"; empty: one group
  std::string name{};                    // only the group of this name; with `by`
};

struct Stats {
  std::optional<Timestamp> from{};
  Milliseconds step{0};
  std::vector<StatsGroup> groups{};
  std::string json{};
};

// A call on all jobs that match a filter, or on those with the given ids.
struct BulkByFilter {
  std::string action{};               // "retry", "cancel", "delete", "reprioritize"
  std::string query{};                // the expression of `q`
  std::vector<std::string> states{};  // only jobs in one of these states; empty: in any
  bool dry_run = false;               // count only
  // An operation that changes at most this many jobs a second, and continues after the call.
  std::optional<std::int64_t> rate_per_s{};
  bool operation = false;  // start an operation without a rate
  std::string queue{};
  std::string type{};
  std::string tag{};
  std::optional<int> priority{};   // with "reprioritize"
  std::vector<std::string> ids{};  // up to 1,000; then there is no filter, and each has a result
};

// A long-running change of many jobs, which the server continues by itself.
struct Operation {
  std::string id{};
  std::string kind{};    // "bulk", "purge", "error_group", "reproject"
  std::string action{};  // "retry", "cancel", "delete", "reprioritize"; empty: none
  std::string query{};
  std::string state{};                    // "running", "paused", "completed", "cancelled", "failed"
  std::optional<std::int64_t> matched{};  // an estimate
  std::int64_t done = 0;
  std::int64_t changed = 0;
  std::int64_t failed = 0;  // left unchanged
  std::optional<std::int64_t> rate_per_s{};
  std::string reason{};  // if it failed
  std::string json{};

  bool has_ended() const { return state != "running" && state != "paused"; }
};

struct BulkAnswer {
  std::int64_t matched = 0;
  std::int64_t changed = 0;
  std::int64_t failed = 0;  // their state no longer allowed it
  bool more = false;        // only for a dry run: some matches were not counted
  // Set if the call has started an operation: it has a rate, or more than 100,000 jobs match.
  std::optional<Operation> operation{};
  std::string json{};
};

}  // namespace millrace::sdk
