// The fields of the blobs in the tables: see wire.h and the end of events.proto.
#pragma once

#include <vector>

#include "core/changes.h"
#include "core/job.h"
#include "core/queue.h"
#include "store/value_fields.h"

namespace millrace::store {

// What of a job has no column of its own.
template <typename T>
struct JobDetail {
  T& job;
};

template <typename Wire, typename T>
void describe(Wire& wire, const JobDetail<T>& detail) {
  T& job = detail.job;
  wire.number(1, job.max_attempts);
  wire.duration(2, job.lease);
  wire.message(3, job.retry);
  wire.number(4, job.generation);
  wire.number(5, job.version);
  wire.time(6, job.expires_at);
  wire.duration(7, job.timeout);
  wire.number(8, job.crashes);
  LatestAttempt::field(wire, 9, job.latest);
  wire.number(10, job.log_lines);
  wire.number(11, job.token);
  wire.time(12, job.lease_expires_at);
  wire.duration(13, job.lease_length);
  wire.time(14, job.deadline);
  wire.flag(15, job.cancel_requested);
  wire.bytes(16, job.cancel_reason);
  wire.message(17, job.last_error);
  wire.message(18, job.progress);
  wire.message(19, job.extras);
  wire.duration(20, job.lease_given);
  describe_tomorrow(wire, 21, job.type);
}

template <typename Wire, Described<core::Mark> T>
void describe(Wire& wire, T& mark) {
  wire.enumeration(1, mark.kind, core::MarkKind::kFinished);
  wire.time(2, mark.at);
  wire.number(3, mark.attempt);
  wire.bytes(4, mark.reason);
}

template <typename Wire, Described<core::Queue> T>
void describe(Wire& wire, T& queue) {
  wire.message(1, queue.settings);
  wire.flag(2, queue.paused);
  wire.bytes(3, queue.pause_reason);
  wire.number(4, queue.version);
  wire.numbers(5, queue.counts);
  wire.number(6, queue.created);
  wire.number(7, queue.pruned);
}

template <typename Wire, Described<core::EndedLease> T>
void describe(Wire& wire, T& lease) {
  wire.number(1, lease.token);
  wire.id(2, lease.job);
  wire.enumeration(3, lease.outcome, kLastOutcome);
  wire.enumeration(4, lease.state, kLastState);
}

struct EndedLeases {
  std::vector<core::EndedLease> items;
};

template <typename Wire, Described<EndedLeases> T>
void describe(Wire& wire, T& leases) {
  wire.message(1, leases.items);
}

}  // namespace millrace::store
