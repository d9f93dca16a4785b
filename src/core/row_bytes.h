// Upper bounds on the bytes of records in a journal row, from which those of commands (*_kinds.h)
// and of events (engine/shard/row_budget.h) are made.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/audit/audit.h"
#include "core/bounds.h"
#include "core/command.h"
#include "core/flow/limit.h"
#include "core/jobs/job.h"
#include "core/operations/operation.h"
#include "core/schedules/schedule.h"

namespace millrace::core {

// Fixed members, field tags and lengths of an event or of one item in it, rounded up generously.
inline constexpr std::size_t kItemBytes = 160;
inline constexpr std::size_t kTimeBytes = 10;
// An item that names a job: its id, queue and type (two names of at most 128 bytes).
inline constexpr std::size_t kRefBytes = kItemBytes + 2 * 128;
// A schedule: a payload of 64 KiB, plus the other members of a submission.
inline constexpr std::size_t kMaxScheduleBytes = std::size_t{256} << 10;

// The limits that a queue adds to its jobs, and its weights; a limit's pauses, each with a key of
// 255 bytes and a reason of 1 KiB; and a limit with its own bounds for the most keys.
inline constexpr std::size_t kMaxQueueLimitsBytes =
    kMaxLimitsPerJob * (40 + 128 + 255) + kMaxFairWeights * (kItemBytes + 128);
inline constexpr std::size_t kMaxPausesBytes = kMaxLimitPauses * (kItemBytes + 255 + 1'024);
inline constexpr std::size_t kMaxLimitBytes =
    kMaxPausesBytes + kRefBytes + kMaxKeyBounds * (kItemBytes + 255);
// A filter with a list of names, a query and a reason.
inline constexpr std::size_t kMaxOperationBytes = std::size_t{256} << 10;

// A workflow's record: 100 tags, meta of 16 KiB, and three callbacks of a megabyte each.
inline constexpr std::size_t kMaxWorkflowBytes = std::size_t{4} << 20;

std::size_t row_bytes(const Job& job);
std::size_t row_bytes(const JobSpec& spec);
std::size_t bytes_of(const std::shared_ptr<const RetryPolicy>& retry);
std::size_t bytes_of(const JobLimits& limits);
std::size_t bytes_of(const std::vector<SlowDown>& wishes);
std::size_t bytes_of(const LimitSettings& settings);
std::size_t bytes_of(const std::shared_ptr<const JobExtras>& extras);
std::size_t bytes_of(const std::shared_ptr<const Progress>& progress);
std::size_t bytes_of(const std::vector<JobSpec>& specs);
std::size_t bytes_of(const std::vector<MemberDraft>& members);
std::size_t bytes_of(const std::vector<MemberSpec>& members);
std::size_t bytes_of(const std::shared_ptr<const Growth>& growth);
std::size_t bytes_of(const Workflow& workflow);
std::size_t bytes_of(const std::vector<LogLine>& lines);
std::size_t bytes_of(const std::vector<LogEntry>& entries);
std::size_t bytes_of(const std::optional<std::vector<SharedBytes>>& tags);
std::size_t bytes_of(const ScheduleSpec& spec);
std::size_t bytes_of(const Schedule& schedule);
std::size_t bytes_of(const OperationSpec& spec);
std::size_t bytes_of(const Actor& actor);
std::size_t bytes_of(const AuditImage& image);
std::size_t bytes_of(const Origin& origin);

template <typename Error>
std::size_t bytes_of_error(const std::shared_ptr<Error>& error) {
  if (error == nullptr) return 0;
  return kItemBytes + error->type.size() + error->message.size() + error->stack.size();
}

}  // namespace millrace::core
