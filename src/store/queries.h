// What the tables are asked for, and the pages that they answer with.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <stop_token>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/time.h"
#include "core/jobs/job.h"
#include "core/jobs/job_filter.h"
#include "core/workflows/workflow.h"

namespace millrace::store {

// How long a read may take: at most `time`, and no longer than its caller waits. A read that
// exceeds either returns what it has found so far, as a page that ends early.
struct ReadBudget {
  // Implicit: most reads are bounded by time only.
  template <typename Count, typename Period>
  ReadBudget(std::chrono::duration<Count, Period> at_most, std::stop_token stop = {})
      : time(at_most), gone(std::move(stop)) {}

  // The share of one shard.
  ReadBudget divided_by(std::size_t shards) const {
    return {time / static_cast<std::int64_t>(shards), gone};
  }

  std::chrono::milliseconds time;
  std::stop_token gone;  // stop requested: the caller no longer waits
};

// Which large members a read includes.
struct Columns {
  bool payload = false;
  bool result = false;
};

// The most bytes of the jobs of a page of a list, with the members that it shows.
inline constexpr std::size_t kMaxPageBytes = std::size_t{16} << 20;

// Newest first; `after_ord` is the last ord seen, absent for the first page.
struct JobQuery {
  core::JobFilter filter;
  std::optional<std::uint64_t> after_ord;
  std::uint32_t limit = 50;
  Columns columns;
  ReadBudget budget{std::chrono::milliseconds{2'000}};
  std::size_t bytes = kMaxPageBytes;  // the first job is included however large it is
};
struct JobPage {
  std::vector<core::Job> jobs;
  // Where the next page begins; absent at the end. May be present with fewer jobs than the limit:
  // the time budget ran out, or the next job would exceed `bytes`.
  std::optional<std::uint64_t> next_after_ord;
};

// Newest first, by creation and id.
struct WorkflowCursor {
  Time created_at{};
  JobId id;
  friend auto operator<=>(const WorkflowCursor&, const WorkflowCursor&) = default;
};
// All conditions must hold.
struct WorkflowQuery {
  std::vector<core::WorkflowState> states = {};  // one of them; empty: any
  std::vector<std::string> queues = {};          // likewise; a trailing "*" matches any ending
  std::string name = {};                         // empty: any
  std::string tag = {};                          // empty: any
  std::optional<Time> created_after = {};        // or at it
  std::optional<Time> created_before = {};
  std::optional<WorkflowCursor> after = {};  // the last one seen; absent for the first page
  std::uint32_t limit = 50;
  ReadBudget budget{std::chrono::milliseconds{2'000}};
};
struct WorkflowPage {
  std::vector<core::Workflow> workflows;
  // As JobPage::next_after_ord.
  std::optional<WorkflowCursor> next_after;
};

struct JobHistory {
  std::vector<core::Attempt> attempts;  // all but the latest, which is in the job; oldest first
  std::vector<core::LogLine> logs;
  std::vector<core::Mark> marks;
  bool more_logs = false;  // there are more lines than the limit or kMaxPageBytes allowed
};

struct AuditQuery {
  bool oldest_first = false;
  std::optional<std::uint64_t> after;  // none: from the newest, or the oldest
  std::uint32_t limit = 1'000;
};

// Which parts of a job's history are read.
struct HistoryParts {
  bool attempts_and_marks = true;
  std::uint32_t logs_after = 0;                                         // lines with a higher `seq`
  std::uint32_t most_logs = std::numeric_limits<std::uint32_t>::max();  // 0: none
};

}  // namespace millrace::store
