// The members of a job and of its parts: see describe.h, and events.proto for the messages.
#pragma once

#include <tuple>
#include <utility>

#include "base/tomorrow.h"
#include "core/describe.h"
#include "core/flow/limit_fields.h"
#include "core/jobs/idempotency_key.h"
#include "core/jobs/job.h"
#include "core/workflows/member_fields.h"

namespace millrace::core {

constexpr auto last_of(Of<MarkKind>) { return MarkKind::kFinished; }

constexpr auto describe(Of<RetryPolicy>) {
  return std::tuple(Field(1, &RetryPolicy::strategy), Field(2, &RetryPolicy::base),
                    Field(3, &RetryPolicy::max), Field(4, &RetryPolicy::jitter_ppm),
                    Field(5, &RetryPolicy::delays));
}

constexpr auto describe(Of<IdempotencyKey>) {
  return std::tuple(Field(1, &IdempotencyKey::key), Field(2, &IdempotencyKey::body),
                    Field(3, &IdempotencyKey::expires_at));
}

constexpr auto describe(Of<UniqueRule>) {
  return std::tuple(Field(1, &UniqueRule::key), Field(2, &UniqueRule::hold_for),
                    Field(3, &UniqueRule::on_conflict), Field(4, &UniqueRule::max_wait),
                    Field(5, &UniqueRule::superseded));
}

constexpr auto describe(Of<JobError>) {
  return std::tuple(Field(1, &JobError::type), Field(2, &JobError::message),
                    Field(3, &JobError::stack), Field(4, &JobError::fingerprint, Form::kFixed),
                    Field(5, &JobError::attempt), Field(6, &JobError::at));
}

constexpr auto describe(Of<Progress>) {
  return std::tuple(Field(1, &Progress::percent), Field(2, &Progress::message),
                    Field(3, &Progress::checkpoint));
}

using MetaEntry = std::pair<SharedBytes, SharedBytes>;
constexpr auto describe(Of<MetaEntry>) {
  return std::tuple(Field(1, &MetaEntry::first), Field(2, &MetaEntry::second));
}

constexpr auto describe(Of<JobExtras>) {
  return std::tuple(Field(1, &JobExtras::unique), Field(2, &JobExtras::tags),
                    Field(3, &JobExtras::meta), Field(4, &JobExtras::traceparent),
                    Field(5, &JobExtras::tracestate), Field(6, &JobExtras::schedule),
                    Field(7, &JobExtras::scheduled_at), Field(8, &JobExtras::limits),
                    Field(9, &JobExtras::order_key), Field(10, &JobExtras::order_passes),
                    Field(11, &JobExtras::place), Field(12, &JobExtras::fair_key),
                    Field(13, &JobExtras::member));
}

constexpr auto describe(Of<Attempt>) {
  return std::tuple(Field(1, &Attempt::n), Field(2, &Attempt::attempt), Field(3, &Attempt::worker),
                    Field(4, &Attempt::started_at), Field(5, &Attempt::finished_at),
                    Field(6, &Attempt::outcome), Field(7, &Attempt::error));
}

constexpr auto describe(Of<LogLine>) {
  return std::tuple(Field(1, &LogLine::seq), Field(2, &LogLine::n), Field(3, &LogLine::attempt),
                    Field(4, &LogLine::at), Field(5, &LogLine::level), Field(6, &LogLine::message));
}

constexpr auto describe(Of<Mark>) {
  return std::tuple(Field(1, &Mark::kind), Field(2, &Mark::at), Field(3, &Mark::attempt),
                    Field(4, &Mark::reason));
}

constexpr auto describe(Of<Job>) {
  const auto today = std::tuple(
      Field(1, &Job::id), Field(2, &Job::ord), Field(3, &Job::queue, Form::kName),
      Field(4, &Job::type, Form::kType), Field(5, &Job::state), Field(6, &Job::priority),
      Field(7, &Job::max_attempts).in_row(1), Field(8, &Job::lease).in_row(2),
      Field(9, &Job::retry, Form::kPolicy).in_row(3), Field(10, &Job::generation).in_row(4),
      Field(11, &Job::version).in_row(5), Field(12, &Job::created_at), Field(13, &Job::run_at),
      Field(14, &Job::payload), Field(15, &Job::extras).in_row(19),
      Field(16, &Job::expires_at).in_row(6), Field(17, &Job::timeout).in_row(7),
      Field(18, &Job::attempt), Field(19, &Job::crashes).in_row(8), Field(20, &Job::finished_at),
      Field(21, &Job::latest).in_row(9), Field(22, &Job::log_lines).in_row(10),
      Field(23, &Job::token).in_row(11), Field(24, &Job::lease_expires_at).in_row(12),
      Field(25, &Job::lease_length).in_row(13), Field(26, &Job::deadline).in_row(14),
      Field(27, &Job::cancel_requested).in_row(15), Field(28, &Job::cancel_reason).in_row(16),
      Field(29, &Job::last_error).in_row(17), Field(30, &Job::progress).in_row(18),
      Field(31, &Job::result), Field(32, &Job::lease_given).in_row(20),
      Field(33, &Job::charged_ms).in_row(21));
  if constexpr (kOfTomorrow) {
    return std::tuple_cat(today, std::tuple(Field(34, &Job::type, Form::kOfTomorrow).in_row(22)));
  } else {
    return today;
  }
}

}  // namespace millrace::core
