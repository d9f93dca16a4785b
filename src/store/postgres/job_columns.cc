#include "store/postgres/job_columns.h"

#include <fmt/format.h>

#include <functional>

#include "store/blob.h"
#include "store/row_codec.h"

namespace millrace::store {
namespace {

// Positions in job_columns().
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

std::unexpected<Error> damaged(std::uint64_t ord, std::string_view what) {
  return failure(fmt::format("the tables are damaged: job {}: {}", ord, what));
}

}  // namespace

std::string job_columns(Columns wanted) {
  return fmt::format(
      "ord, id, queue, type, state, priority, attempt, created_at, run_at, "
      "coalesce(finished_at, kept_at), detail, {}, {}",
      wanted.payload ? "payload" : "NULL::bytea", wanted.result ? "result" : "NULL::bytea");
}

const SharedBytes& JobReader::shared(Recent& recent, std::string_view name) {
  SharedBytes& place = recent[std::hash<std::string_view>()(name) % recent.size()];
  if (place.view() != name) place = SharedBytes(name);
  return place;
}

Result<core::Job> JobReader::read(const SqlRow& row) {
  core::Job job;
  job.ord = static_cast<std::uint64_t>(row.number(kOrd));
  if (!read_blob(row.bytes(kId), job.id)) return damaged(job.ord, "its id is invalid");
  job.queue = shared(queues_, row.bytes(kQueue));
  job.type = shared(types_, row.bytes(kType));
  const auto state = terms::value_named<core::State>(row.bytes(kState));
  if (!state) return damaged(job.ord, "its state is invalid");
  job.state = *state;
  job.priority = static_cast<std::int16_t>(row.number(kPriority));
  job.attempt = static_cast<std::uint32_t>(row.number(kAttempt));
  job.created_at = time_from_ms(row.number(kCreatedAt));
  job.run_at = time_from_ms(row.number(kRunAt));
  if (const auto at = row.maybe_number(kFinishedAt)) job.finished_at = time_from_ms(*at);
  const Status read = decode_value(row.bytes(kDetail), job.created_at, RowDetail<core::Job>{job});
  if (!read) return damaged(job.ord, read.error().message);
  job.payload = SharedBytes(row.bytes(kPayload));
  job.result = SharedBytes(row.bytes(kResult));
  return job;
}

}  // namespace millrace::store
