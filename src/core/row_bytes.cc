#include "core/row_bytes.h"

namespace millrace::core {
namespace {

// An entry of the audit, for a command that has an origin.
constexpr std::size_t kMaxImageBytes = kMaxAuditedKeys * (kItemBytes + 255) +
                                       kMaxAuditedPauses * (kItemBytes + 1'280) + kMaxAuditedText +
                                       kMaxQueueLimitsBytes + kMaxAuditedJobBytes + 4 * kRefBytes;

}  // namespace

std::size_t bytes_of(const std::shared_ptr<const RetryPolicy>& retry) {
  return retry == nullptr ? 0 : kItemBytes + 10 * retry->delays.size();
}

std::size_t bytes_of(const JobLimits& limits) {
  std::size_t bytes = 0;
  for (const JobLimit& limit : limits) bytes += 40 + limit.name.size() + limit.key.size();
  return bytes;
}

std::size_t bytes_of(const std::vector<SlowDown>& wishes) {
  std::size_t bytes = 0;
  for (const SlowDown& wish : wishes) {
    bytes += kItemBytes + wish.limit.size() + wish.key.size();
  }
  return bytes;
}

std::size_t bytes_of(const LimitSettings& settings) {
  std::size_t bytes = kItemBytes;
  for (const KeyBounds& own : settings.keys) bytes += kItemBytes + own.key.size();
  return bytes;
}

std::size_t bytes_of(const std::shared_ptr<const JobExtras>& extras) {
  if (extras == nullptr) return 0;
  std::size_t bytes =
      kItemBytes + extras->traceparent.size() + extras->tracestate.size() + extras->schedule.size();
  bytes += bytes_of(extras->limits) + extras->order_key.size() + extras->fair_key.size();
  if (extras->unique) bytes += extras->unique->key.size();
  if (extras->member != nullptr) {
    const Membership& member = *extras->member;
    bytes += 2 * kItemBytes + member.name.size() + member.ref.size();
    for (const Parent& parent : member.parents) bytes += 40 + parent.ref.size();
    for (const SharedBytes& ref : member.failed) bytes += 8 + ref.size();
  }
  for (const SharedBytes& tag : extras->tags) bytes += 8 + tag.size();
  for (const auto& [key, value] : extras->meta) bytes += 16 + key.size() + value.size();
  return bytes;
}

std::size_t bytes_of(const std::shared_ptr<const Progress>& progress) {
  if (progress == nullptr) return 0;
  return kItemBytes + progress->message.size() + progress->checkpoint.size();
}

std::size_t bytes_of(const std::vector<JobSpec>& specs) {
  std::size_t bytes = 0;
  for (const JobSpec& spec : specs) bytes += row_bytes(spec);
  return bytes;
}

std::size_t bytes_of(const std::vector<MemberDraft>& members) {
  std::size_t bytes = 0;
  for (const MemberDraft& member : members) {
    bytes += kItemBytes + 128 + member.ref.size() + member.job.size() + member.needs.size() * 16;
  }
  return bytes;
}

// The members, and the same once more in Base64, if the workflow lives on another shard.
std::size_t bytes_of(const std::shared_ptr<const Growth>& growth) {
  if (growth == nullptr) return 0;
  return kItemBytes + 3 * bytes_of(growth->members) + growth->skip.size() * (kRefBytes + 128);
}

std::size_t bytes_of(const std::vector<MemberSpec>& members) {
  std::size_t bytes = 0;
  for (const MemberSpec& member : members) {
    bytes += kItemBytes + 128 + member.ref.size() + member.job.size() + member.needs.size() * 16;
  }
  return bytes;
}

std::size_t bytes_of(const Workflow& workflow) {
  const WorkflowSpec& spec = workflow.spec;
  std::size_t bytes = 2 * kRefBytes + spec.name.size() + spec.result_from.size() +
                      spec.unique_key.size() + workflow.cancel_reason.size();
  for (const SharedBytes& tag : spec.tags) bytes += 8 + tag.size();
  for (const auto& [key, value] : spec.meta) bytes += 16 + key.size() + value.size();
  for (const Callback& callback : spec.callbacks) bytes += kRefBytes + callback.job.size();
  return bytes;
}

std::size_t bytes_of(const std::vector<LogLine>& lines) {
  std::size_t bytes = 0;
  for (const LogLine& line : lines) bytes += kItemBytes + line.message.size();
  return bytes;
}

std::size_t bytes_of(const std::vector<LogEntry>& entries) {
  std::size_t bytes = 0;
  for (const LogEntry& entry : entries) bytes += kItemBytes + entry.message.size();
  return bytes;
}

std::size_t bytes_of(const std::optional<std::vector<SharedBytes>>& tags) {
  std::size_t bytes = 0;
  if (tags) {
    for (const SharedBytes& tag : *tags) bytes += 8 + tag.size();
  }
  return bytes;
}

std::size_t bytes_of(const ScheduleSpec& spec) {
  std::size_t bytes = 2 * kRefBytes + spec.cron.size() + spec.timezone.size() + spec.job.size() +
                      spec.workflow.size() + spec.managed_by.size();
  for (const SharedBytes& queue : spec.queues) bytes += 8 + queue.size();
  return bytes;
}

std::size_t bytes_of(const Schedule& schedule) {
  return kRefBytes + bytes_of(schedule.spec) + schedule.pause_reason.size() +
         schedule.progress.broken.size() + schedule.progress.owed.size() * kTimeBytes;
}

std::size_t bytes_of(const OperationSpec& spec) {
  std::size_t bytes = 2 * kRefBytes + spec.query.size() + spec.queue.size() +
                      spec.error_group.size() + spec.created_by.size();
  for (const Condition& condition : spec.filter.conditions) {
    bytes += kItemBytes + condition.path.size();
    for (const std::string& value : condition.values) bytes += 8 + value.size();
  }
  return bytes;
}
std::size_t bytes_of(const Actor& actor) {
  return kItemBytes + actor.token.size() + actor.name.size() + actor.address.size() +
         actor.request.size();
}

std::size_t bytes_of(const AuditImage& image) {
  std::size_t bytes = kItemBytes + image.text.size();
  if (image.queue != nullptr) {
    bytes += 2 * kRefBytes + kMaxQueueLimitsBytes / 4 + bytes_of(image.queue->settings.retry) +
             image.queue->pause_reason.size();
  }
  if (image.limit != nullptr) {
    bytes += bytes_of(image.limit->settings);
    for (const LimitPause& pause : image.limit->pauses) {
      bytes += kItemBytes + pause.key.size() + pause.reason.size();
    }
  }
  if (image.schedule != nullptr) {
    bytes += bytes_of(image.schedule->spec) + image.schedule->pause_reason.size();
  }
  if (image.job != nullptr) bytes += 2 * kRefBytes + bytes_of(std::optional(image.job->tags));
  return bytes;
}

std::size_t bytes_of(const Origin& origin) {
  return bytes_of(origin.actor) + 2 * kRefBytes + origin.name.size() + origin.reason.size() +
         2 * kMaxImageBytes;
}

std::size_t row_bytes(const Job& job) {
  return 4 * kItemBytes + job.queue.size() + job.type.size() + job.payload.size() +
         job.result.size() + job.latest.worker.size() + job.cancel_reason.size() +
         bytes_of_error(job.latest.error) + bytes_of_error(job.last_error) + bytes_of(job.retry) +
         bytes_of(job.progress) + bytes_of(job.extras);
}

std::size_t row_bytes(const JobSpec& spec) {
  // Includes accompanying events: the creation of its queue, and the end of a job that it replaces.
  return 4 * kRefBytes + spec.queue.size() + spec.type.size() + spec.payload.size() +
         bytes_of(spec.retry) + bytes_of(spec.extras);
}

}  // namespace millrace::core
