#include "store/sqlite/job_row.h"

#include <fmt/format.h>

#include "store/row_codec.h"

namespace millrace::store {
namespace {

// Positions in MILLRACE_JOB_COLUMNS.
enum Column : int {
  kOrd,
  kId,
  kQueue,
  kType,
  kState,
  kPriority,
  kAttempt,
  kCreatedAt,
  kRunAt,
  kFinishedAt,
  kDetail,
  kPayload,
  kResult,
};

std::unexpected<Error> damaged(std::int64_t ord, std::string_view what) {
  return failure(fmt::format("jobs.db is damaged: job {}: {}", ord, what));
}

}  // namespace

Status JobRowReader::read_columns(const Statement& row, core::Job& job) {
  const std::int64_t ord = row.number(kOrd);
  job.ord = static_cast<std::uint64_t>(ord);
  if (!read_blob(row.bytes(kId), job.id)) return damaged(ord, "its id is invalid");
  if (const std::int64_t queue = row.number(kQueue); queue != last_queue_) {
    last_queue_name_ = queues_.name(queue);
    last_queue_ = last_queue_name_.empty() ? -1 : queue;
    if (last_queue_name_.empty()) return damaged(ord, "its queue is missing");
  }
  job.queue = last_queue_name_;
  job.type = shared_type(row.bytes(kType));
  const std::int64_t state = row.number(kState);
  if (state < 0 || state >= std::int64_t{core::kStateCount})
    return damaged(ord, "its state is invalid");
  job.state = static_cast<core::State>(state);
  job.priority = static_cast<std::int16_t>(row.number(kPriority));
  job.attempt = static_cast<std::uint32_t>(row.number(kAttempt));
  job.created_at = time_from_ms(row.number(kCreatedAt));
  job.run_at = time_from_ms(row.number(kRunAt));
  job.finished_at.reset();
  if (const auto at = row.maybe_number(kFinishedAt)) job.finished_at = time_from_ms(*at);
  return {};
}

Status JobRowReader::read_detail(const Statement& row, core::Job& job) {
  const Status read = decode_value(row.bytes(kDetail), job.created_at, RowDetail<core::Job>{job});
  if (!read) return damaged(row.number(kOrd), read.error().message);
  return {};
}

void JobRowReader::read_payload(const Statement& row, core::Job& job) {
  job.payload = SharedBytes(row.bytes(kPayload));
}

void JobRowReader::read_result(const Statement& row, core::Job& job) {
  job.result = SharedBytes(row.bytes(kResult));
}

Result<core::Job> JobRowReader::read_whole(const Statement& row) {
  core::Job job;
  if (Status read = read_columns(row, job); !read) return std::unexpected(read.error());
  if (Status read = read_detail(row, job); !read) return std::unexpected(read.error());
  read_payload(row, job);
  read_result(row, job);
  return job;
}

const SharedBytes& JobRowReader::shared_type(std::string_view type) {
  SharedBytes& recent = recent_types_[std::hash<std::string_view>()(type) % recent_types_.size()];
  if (recent.view() != type) recent = SharedBytes(type);
  return recent;
}

}  // namespace millrace::store
