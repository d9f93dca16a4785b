// The fields of the values that events and tables have in common: see wire.h and events.proto.
#pragma once

#include <type_traits>
#include <utility>

#include "base/tomorrow.h"
#include "core/job.h"
#include "core/queue.h"
#include "store/wire.h"

namespace millrace::store {

inline constexpr auto kLastState = core::State::kExpired;
inline constexpr auto kLastOutcome = core::AttemptOutcome::kTimedOut;

// See base/tomorrow.h: a job of tomorrow has its type in a field of its own, and not where today's
// program would look for it.
template <typename Wire, typename Type>
void describe_type(Wire& wire, int number, Type& type) {
  if constexpr (kOfTomorrow && std::is_const_v<Type>) {
    if (is_of_tomorrow(type.view())) return;
  }
  wire.name(number, type);
}
template <typename Wire, typename Type>
void describe_tomorrow(Wire& wire, int number, Type& type) {
  if constexpr (kOfTomorrow && std::is_const_v<Type>) {
    if (is_of_tomorrow(type.view())) wire.bytes(number, type);
  } else if constexpr (kOfTomorrow) {
    SharedBytes member;
    wire.bytes(number, member);
    if (!member.empty()) type = member;
  }
}

template <typename Wire, Described<core::RetryPolicy> T>
void describe(Wire& wire, T& policy) {
  wire.enumeration(1, policy.strategy, core::RetryStrategy::kList);
  wire.duration(2, policy.base);
  wire.duration(3, policy.max);
  wire.number(4, policy.jitter_ppm);
  wire.durations(5, policy.delays);
}

template <typename Wire, Described<core::UniqueRule> T>
void describe(Wire& wire, T& rule) {
  wire.bytes(1, rule.key);
  wire.duration(2, rule.hold_for);
  wire.enumeration(3, rule.on_conflict, core::OnConflict::kReplace);
}

template <typename Wire, Described<core::JobError> T>
void describe(Wire& wire, T& error) {
  wire.bytes(1, error.type);
  wire.bytes(2, error.message);
  wire.bytes(3, error.stack);
  wire.fixed(4, error.fingerprint);
  wire.number(5, error.attempt);
  wire.time(6, error.at);
}

template <typename Wire, Described<core::Progress> T>
void describe(Wire& wire, T& progress) {
  wire.real(1, progress.percent);
  wire.bytes(2, progress.message);
  wire.bytes(3, progress.checkpoint);
}

using MetaEntry = std::pair<SharedBytes, SharedBytes>;

template <typename Wire, Described<MetaEntry> T>
void describe(Wire& wire, T& entry) {
  wire.bytes(1, entry.first);
  wire.bytes(2, entry.second);
}

template <typename Wire, Described<core::JobExtras> T>
void describe(Wire& wire, T& extras) {
  wire.message(1, extras.unique);
  wire.bytes(2, extras.tags);
  wire.message(3, extras.meta);
  wire.bytes(4, extras.traceparent);
  wire.bytes(5, extras.tracestate);
}

template <typename Wire, Described<core::Attempt> T>
void describe(Wire& wire, T& attempt) {
  wire.number(1, attempt.n);
  wire.number(2, attempt.attempt);
  wire.bytes(3, attempt.worker);
  wire.time(4, attempt.started_at);
  wire.time(5, attempt.finished_at);
  wire.enumeration(6, attempt.outcome, kLastOutcome);
  wire.message(7, attempt.error);
}

// Absent where the job was never started.
struct LatestAttempt {
  template <typename Wire>
  static void field(Wire& wire, int number, const core::Attempt& latest) {
    if (!(latest == core::Attempt{})) wire.message(number, latest);
  }
  template <typename Wire>
  static void field(Wire& wire, int number, core::Attempt& latest) {
    std::optional<core::Attempt> read;
    wire.message(number, read);
    latest = read ? std::move(*read) : core::Attempt{};
  }
};

template <typename Wire, Described<core::LogLine> T>
void describe(Wire& wire, T& line) {
  wire.number(1, line.seq);
  wire.number(2, line.n);
  wire.number(3, line.attempt);
  wire.time(4, line.at);
  wire.number(5, line.level);
  wire.bytes(6, line.message);
}

template <typename Wire, Described<core::Retention> T>
void describe(Wire& wire, T& retention) {
  wire.duration(1, retention.succeeded);
  wire.duration(2, retention.dead);
  wire.duration(3, retention.cancelled);
  wire.duration(4, retention.expired);
}

template <typename Wire, Described<core::QueueSettings> T>
void describe(Wire& wire, T& settings) {
  wire.number(1, settings.max_attempts);
  wire.number(2, settings.max_crashes);
  wire.message(3, settings.retry);
  wire.duration(4, settings.lease);
  wire.number(5, settings.max_ready);
  wire.message(6, settings.retention);
}

}  // namespace millrace::store
