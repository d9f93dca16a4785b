#include "engine/shard/row_budget.h"

#include <variant>
#include <vector>

#include "core/audit/audit_scribe.h"
#include "core/bounds.h"

namespace millrace::engine {
namespace {

// Fixed members, field tags and lengths of an event or of one item in it, rounded up generously.
constexpr std::size_t kItemBytes = 160;
constexpr std::size_t kTimeBytes = 10;
// An item that names a job: its id, queue and type (two names of at most 128 bytes).
constexpr std::size_t kRefBytes = kItemBytes + 2 * 128;
// A schedule: a payload of 64 KiB, plus the other members of a submission.
constexpr std::size_t kMaxScheduleBytes = std::size_t{256} << 10;

// The limits that a queue adds to its jobs, and its weights; a limit's pauses, each with a key of
// 255 bytes and a reason of 1 KiB; and a limit with its own bounds for the most keys.
constexpr std::size_t kMaxQueueLimitsBytes =
    core::kMaxLimitsPerJob * (40 + 128 + 255) + core::kMaxFairWeights * (kItemBytes + 128);
constexpr std::size_t kMaxPausesBytes = core::kMaxLimitPauses * (kItemBytes + 255 + 1'024);
constexpr std::size_t kMaxLimitBytes =
    kMaxPausesBytes + kRefBytes + core::kMaxKeyBounds * (kItemBytes + 255);

// Beyond row_bytes() of a command, its claim may expire jobs. Only one command adds this uncounted,
// since what a command has added is counted before the next one.
static_assert(kRowBudgetBytes + kMaxCommandBytes + core::kMaxExpiredPerClaim * kRefBytes <
              core::kMaxJournalBodyBytes);

std::size_t bytes_of(const std::shared_ptr<const core::RetryPolicy>& retry) {
  return retry == nullptr ? 0 : kItemBytes + 10 * retry->delays.size();
}

std::size_t bytes_of(const core::JobLimits& limits) {
  std::size_t bytes = 0;
  for (const core::JobLimit& limit : limits) bytes += 40 + limit.name.size() + limit.key.size();
  return bytes;
}

std::size_t bytes_of(const std::vector<core::SlowDown>& wishes) {
  std::size_t bytes = 0;
  for (const core::SlowDown& wish : wishes) {
    bytes += kItemBytes + wish.limit.size() + wish.key.size();
  }
  return bytes;
}

std::size_t bytes_of(const core::LimitSettings& settings) {
  std::size_t bytes = kItemBytes;
  for (const core::KeyBounds& own : settings.keys) bytes += kItemBytes + own.key.size();
  return bytes;
}

std::size_t bytes_of(const std::shared_ptr<const core::JobExtras>& extras) {
  if (extras == nullptr) return 0;
  std::size_t bytes =
      kItemBytes + extras->traceparent.size() + extras->tracestate.size() + extras->schedule.size();
  bytes += bytes_of(extras->limits) + extras->order_key.size() + extras->fair_key.size();
  if (extras->unique) bytes += extras->unique->key.size();
  for (const SharedBytes& tag : extras->tags) bytes += 8 + tag.size();
  for (const auto& [key, value] : extras->meta) bytes += 16 + key.size() + value.size();
  return bytes;
}

template <typename Error>
std::size_t bytes_of_error(const std::shared_ptr<Error>& error) {
  if (error == nullptr) return 0;
  return kItemBytes + error->type.size() + error->message.size() + error->stack.size();
}

std::size_t bytes_of(const std::shared_ptr<const core::Progress>& progress) {
  if (progress == nullptr) return 0;
  return kItemBytes + progress->message.size() + progress->checkpoint.size();
}

std::size_t bytes_of(const std::vector<core::JobSpec>& specs) {
  std::size_t bytes = 0;
  for (const core::JobSpec& spec : specs) bytes += row_bytes(spec);
  return bytes;
}

std::size_t bytes_of(const std::vector<core::LogLine>& lines) {
  std::size_t bytes = 0;
  for (const core::LogLine& line : lines) bytes += kItemBytes + line.message.size();
  return bytes;
}

std::size_t bytes_of(const std::vector<core::LogEntry>& entries) {
  std::size_t bytes = 0;
  for (const core::LogEntry& entry : entries) bytes += kItemBytes + entry.message.size();
  return bytes;
}

std::size_t bytes_of(const std::optional<std::vector<SharedBytes>>& tags) {
  std::size_t bytes = 0;
  if (tags) {
    for (const SharedBytes& tag : *tags) bytes += 8 + tag.size();
  }
  return bytes;
}

std::size_t bytes_of(const core::ScheduleSpec& spec) {
  return 2 * kRefBytes + spec.cron.size() + spec.timezone.size() + spec.job.size() +
         spec.managed_by.size();
}

std::size_t bytes_of(const core::Schedule& schedule) {
  return kRefBytes + bytes_of(schedule.spec) + schedule.pause_reason.size() +
         schedule.progress.broken.size() + schedule.progress.owed.size() * kTimeBytes;
}

std::size_t bytes_of(const core::OperationSpec& spec) {
  std::size_t bytes = 2 * kRefBytes + spec.query.size() + spec.queue.size() +
                      spec.error_group.size() + spec.created_by.size();
  for (const core::Condition& condition : spec.filter.conditions) {
    bytes += kItemBytes + condition.path.size();
    for (const std::string& value : condition.values) bytes += 8 + value.size();
  }
  return bytes;
}
// A filter with a list of names, a query and a reason.
constexpr std::size_t kMaxOperationBytes = std::size_t{256} << 10;
std::size_t bytes_of(const core::Actor& actor) {
  return kItemBytes + actor.token.size() + actor.name.size() + actor.address.size() +
         actor.request.size();
}

std::size_t bytes_of(const core::AuditImage& image) {
  std::size_t bytes = kItemBytes + image.text.size();
  if (image.queue != nullptr) {
    bytes += 2 * kRefBytes + kMaxQueueLimitsBytes / 4 + bytes_of(image.queue->settings.retry) +
             image.queue->pause_reason.size();
  }
  if (image.limit != nullptr) {
    bytes += bytes_of(image.limit->settings);
    for (const core::LimitPause& pause : image.limit->pauses) {
      bytes += kItemBytes + pause.key.size() + pause.reason.size();
    }
  }
  if (image.schedule != nullptr) {
    bytes += bytes_of(image.schedule->spec) + image.schedule->pause_reason.size();
  }
  if (image.job != nullptr) bytes += 2 * kRefBytes + bytes_of(std::optional(image.job->tags));
  return bytes;
}

// An entry of the audit, for a command that has an origin.
constexpr std::size_t kMaxImageBytes =
    core::kMaxAuditedKeys * (kItemBytes + 255) + core::kMaxAuditedPauses * (kItemBytes + 1'280) +
    core::kMaxAuditedText + kMaxQueueLimitsBytes + core::kMaxAuditedJobBytes + 4 * kRefBytes;
std::size_t bytes_of(const core::Origin& origin) {
  return bytes_of(origin.actor) + 2 * kRefBytes + origin.name.size() + origin.reason.size() +
         2 * kMaxImageBytes;
}

struct EventBytes {
  std::size_t operator()(const core::QueueChanged& e) const {
    std::size_t bytes = 2 * kRefBytes + bytes_of(e.settings.retry) + bytes_of(e.settings.limits);
    if (e.settings.fair) {
      for (const core::FairWeight& own : e.settings.fair->weights) {
        bytes += kItemBytes + own.key.size();
      }
    }
    return bytes + e.pause_reason.size();
  }
  std::size_t operator()(const core::Submitted& e) const { return kItemBytes + row_bytes(e.job); }
  std::size_t operator()(const core::Claimed& e) const {
    return kRefBytes + e.items.size() * (kRefBytes + kItemBytes);
  }
  std::size_t operator()(const core::Extended& e) const {
    std::size_t bytes = kItemBytes;
    for (const auto& item : e.items) bytes += kItemBytes + bytes_of(item.progress);
    return bytes;
  }
  std::size_t operator()(const core::AttemptEnded& e) const {
    return 2 * kRefBytes + e.result.size() + bytes_of_error(e.error);
  }
  std::size_t operator()(const core::Logged& e) const { return kItemBytes + bytes_of(e.lines); }
  std::size_t operator()(const core::BecameDue& e) const {
    return kItemBytes + e.jobs.size() * kRefBytes;
  }
  std::size_t operator()(const core::Expired&) const { return kRefBytes; }
  std::size_t operator()(const core::CancelRequested& e) const {
    return 2 * kRefBytes + e.reason.size();
  }
  std::size_t operator()(const core::Cancelled& e) const { return kRefBytes + e.reason.size(); }
  std::size_t operator()(const core::Retried& e) const { return kItemBytes + row_bytes(e.job); }
  std::size_t operator()(const core::Finished& e) const { return kItemBytes + row_bytes(e.job); }
  std::size_t operator()(const core::Edited& e) const {
    return kRefBytes + kItemBytes + e.payload.size() + bytes_of(e.tags);
  }
  std::size_t operator()(const core::Deleted& e) const {
    std::size_t bytes = kItemBytes;
    for (const auto& item : e.items) bytes += kRefBytes + item.unique_key.size();
    return bytes;
  }
  std::size_t operator()(const core::QueuePurged&) const { return kRefBytes; }
  std::size_t operator()(const core::QueueDeleted&) const { return kRefBytes; }
  std::size_t operator()(const core::ScheduleSet& e) const { return bytes_of(e.schedule); }
  std::size_t operator()(const core::ScheduleAdvanced& e) const {
    return kRefBytes + 2 * kItemBytes + e.progress.broken.size() + e.runs.size() * kItemBytes +
           e.progress.owed.size() * kTimeBytes;
  }
  std::size_t operator()(const core::ScheduleDeleted&) const { return kRefBytes; }
  std::size_t operator()(const core::CatalogPut& e) const { return kRefBytes + e.body.size(); }
  std::size_t operator()(const core::CatalogDeleted&) const { return kRefBytes; }
  std::size_t operator()(const core::LimitSet& e) const {
    std::size_t bytes = kRefBytes + bytes_of(e.limit.settings);
    for (const core::LimitPause& pause : e.limit.pauses) {
      bytes += kItemBytes + pause.key.size() + pause.reason.size();
    }
    return bytes;
  }
  std::size_t operator()(const core::LimitDeleted&) const { return kRefBytes; }
  std::size_t operator()(const core::ShareTaken&) const { return 2 * kRefBytes; }
  std::size_t operator()(const core::SharesSet& e) const {
    return 2 * kRefBytes + (e.book ? e.book->grants.size() * kItemBytes : 0);
  }
  std::size_t operator()(const core::SlowedDown& e) const { return kRefBytes + e.key.size(); }
  std::size_t operator()(const core::BreakerTurned& e) const { return kRefBytes + e.key.size(); }
  std::size_t operator()(const core::Debounced& e) const {
    return kRefBytes + kItemBytes + e.payload.size();
  }
  std::size_t operator()(const core::OperationSet& e) const {
    return kRefBytes + bytes_of(e.part.spec) + e.part.reason.size();
  }
  std::size_t operator()(const core::OperationAdvanced& e) const {
    return kRefBytes + e.reason.size();
  }
  std::size_t operator()(const core::OperationsForgotten& e) const {
    return kItemBytes + e.ids.size() * kItemBytes;
  }
  std::size_t operator()(const core::Audited& e) const {
    return kRefBytes + bytes_of(e.actor) + e.name.size() + e.reason.size() + bytes_of(e.before) +
           bytes_of(e.after);
  }
  std::size_t operator()(const core::KeysExpired&) const { return kItemBytes; }
  std::size_t operator()(const core::UniquesReleased&) const { return kItemBytes; }
  std::size_t operator()(const core::EpochStarted&) const { return kItemBytes; }
  std::size_t operator()(const core::LeasesExtended&) const { return kItemBytes; }
};

struct CommandBytes {
  std::size_t operator()(const core::Enqueue& c) const { return kItemBytes + bytes_of(c.jobs); }
  std::size_t operator()(const core::Claim& c) const {
    return kRefBytes + c.limit * (kRefBytes + kItemBytes);
  }
  std::size_t operator()(const core::Heartbeat& c) const {
    std::size_t bytes = kItemBytes;
    for (const auto& item : c.items) {
      bytes += kItemBytes + bytes_of(item.progress) + bytes_of(item.slow_down);
    }
    return bytes;
  }
  std::size_t operator()(const core::Ack& c) const {
    std::size_t bytes = kItemBytes;
    for (const core::AckItem& item : c.items) {
      bytes += 2 * kRefBytes + item.result.size() + bytes_of_error(item.error) +
               bytes_of(item.logs) + bytes_of(item.enqueue) + bytes_of(item.slow_down);
    }
    return bytes;
  }
  std::size_t operator()(const core::AppendLogs& c) const {
    std::size_t bytes = kItemBytes;
    for (const auto& item : c.items) bytes += 2 * kItemBytes + item.entry.message.size();
    return bytes;
  }
  std::size_t operator()(const core::Cancel& c) const {
    return c.ids.size() * (2 * kRefBytes + c.reason.size());
  }
  std::size_t operator()(const core::Retry& c) const { return c.ids.size() * kItemBytes; }
  std::size_t operator()(const core::Edit& c) const {
    return c.ids.size() * (kRefBytes + kItemBytes + c.payload.size() + bytes_of(c.tags));
  }
  std::size_t operator()(const core::Delete& c) const { return c.ids.size() * 2 * kRefBytes; }
  std::size_t operator()(const core::SetQueue& c) const {
    return 2 * kRefBytes + kMaxQueueLimitsBytes + bytes_of(c.patch.retry);
  }
  // The event holds the queue's whole settings, including its retry policy, which the machine
  // knows.
  std::size_t operator()(const core::PauseQueue& c) const {
    return 2 * kRefBytes + kMaxQueueLimitsBytes + 10 * core::kMaxRetryDelays + c.reason.size();
  }
  std::size_t operator()(const core::ResumeQueue&) const {
    return 2 * kRefBytes + kMaxQueueLimitsBytes + 10 * core::kMaxRetryDelays;
  }
  std::size_t operator()(const core::DeleteQueue&) const { return kRefBytes; }
  std::size_t operator()(const core::NotePurge&) const { return kRefBytes; }
  std::size_t operator()(const core::SetSchedule& c) const { return kRefBytes + bytes_of(c.spec); }
  // The event holds the whole schedule, which the machine knows.
  std::size_t operator()(const core::PauseSchedule& c) const {
    return kMaxScheduleBytes + c.reason.size();
  }
  std::size_t operator()(const core::ResumeSchedule&) const { return kMaxScheduleBytes; }
  std::size_t operator()(const core::DeleteSchedule&) const { return kRefBytes; }
  std::size_t operator()(const core::NoteScheduleRun&) const { return kRefBytes + 3 * kItemBytes; }
  std::size_t operator()(const core::GetSchedules&) const { return 0; }
  std::size_t operator()(const core::PutCatalogEntry& c) const { return kRefBytes + c.body.size(); }
  std::size_t operator()(const core::DeleteCatalogEntry&) const { return kRefBytes; }
  std::size_t operator()(const core::GetCatalog&) const { return 0; }
  std::size_t operator()(const core::NoteAudit&) const { return 0; }  // its origin is counted
  // The event holds the limit's pauses, which the machine knows.
  std::size_t operator()(const core::SetLimit& c) const {
    return kMaxPausesBytes + kRefBytes + bytes_of(c.settings);
  }
  std::size_t operator()(const core::PauseLimit&) const { return kMaxLimitBytes; }
  std::size_t operator()(const core::ResumeLimit&) const { return kMaxLimitBytes; }
  std::size_t operator()(const core::DeleteLimit&) const { return kRefBytes; }
  std::size_t operator()(const core::GetLimits&) const { return 0; }
  std::size_t operator()(const core::GetShares&) const { return 0; }
  // A book may have an entry for each of very many shards.
  std::size_t operator()(const core::ReportShares& c) const {
    return c.items.size() * (2 * kRefBytes + 64 * kItemBytes);
  }
  std::size_t operator()(const core::GiveShares& c) const { return c.items.size() * 2 * kRefBytes; }
  std::size_t operator()(const core::CopyLimit&) const { return kRefBytes + kMaxLimitBytes; }
  std::size_t operator()(const core::StartOperation& c) const {
    return kRefBytes + bytes_of(c.spec);
  }
  // The event holds the whole part, which the machine knows.
  std::size_t operator()(const core::SetOperation&) const { return kMaxOperationBytes; }
  // Without retried jobs.
  std::size_t operator()(const core::StepOperation& c) const {
    return 4 * kRefBytes + c.items.size() * 2 * kRefBytes;
  }
  std::size_t operator()(const core::GetOperations&) const { return 0; }
  std::size_t operator()(const core::ForgetOperations& c) const {
    return kItemBytes + c.ids.size() * kItemBytes;
  }
  std::size_t operator()(const core::GetWhy&) const { return 0; }
  std::size_t operator()(const core::GetJob&) const { return 0; }
  std::size_t operator()(const core::GetQueues&) const { return 0; }
};

}  // namespace

std::size_t row_bytes(const core::Job& job) {
  return 4 * kItemBytes + job.queue.size() + job.type.size() + job.payload.size() +
         job.result.size() + job.latest.worker.size() + job.cancel_reason.size() +
         bytes_of_error(job.latest.error) + bytes_of_error(job.last_error) + bytes_of(job.retry) +
         bytes_of(job.progress) + bytes_of(job.extras);
}

std::size_t row_bytes(const core::JobSpec& spec) {
  // Includes accompanying events: the creation of its queue, and the end of a job that it replaces.
  return 4 * kRefBytes + spec.queue.size() + spec.type.size() + spec.payload.size() +
         bytes_of(spec.retry) + bytes_of(spec.extras);
}

std::size_t row_bytes(const core::Event& event) { return std::visit(EventBytes{}, event); }
std::size_t row_bytes(const core::Command& command) {
  const core::Origin* const origin = core::origin_of(command);
  return std::visit(CommandBytes{}, command) + (origin == nullptr ? 0 : bytes_of(*origin));
}

}  // namespace millrace::engine
