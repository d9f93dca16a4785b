// The fields of the events: see wire.h and events.proto.
#pragma once

#include "core/event.h"
#include "store/value_fields.h"

namespace millrace::store {

template <typename Wire, Described<core::Job> T>
void describe(Wire& wire, T& job) {
  wire.id(1, job.id);
  wire.number(2, job.ord);
  wire.name(3, job.queue);
  describe_type(wire, 4, job.type);
  wire.enumeration(5, job.state, kLastState);
  wire.signed_number(6, job.priority);
  wire.number(7, job.max_attempts);
  wire.duration(8, job.lease);
  wire.policy(9, job.retry);
  wire.number(10, job.generation);
  wire.number(11, job.version);
  wire.time(12, job.created_at);
  wire.time(13, job.run_at);
  wire.bytes(14, job.payload);
  wire.message(15, job.extras);
  wire.time(16, job.expires_at);
  wire.duration(17, job.timeout);
  wire.number(18, job.attempt);
  wire.number(19, job.crashes);
  wire.time(20, job.finished_at);
  LatestAttempt::field(wire, 21, job.latest);
  wire.number(22, job.log_lines);
  wire.number(23, job.token);
  wire.time(24, job.lease_expires_at);
  wire.duration(25, job.lease_length);
  wire.time(26, job.deadline);
  wire.flag(27, job.cancel_requested);
  wire.bytes(28, job.cancel_reason);
  wire.message(29, job.last_error);
  wire.message(30, job.progress);
  wire.bytes(31, job.result);
  wire.duration(32, job.lease_given);
  describe_tomorrow(wire, 33, job.type);
}

template <typename Wire, Described<core::JobRef> T>
void describe(Wire& wire, T& job) {
  wire.id(1, job.id);
  wire.name(2, job.queue);
  wire.name(3, job.type);
  wire.number(4, job.attempt);
}

template <typename Wire, Described<core::QueueChanged> T>
void describe(Wire& wire, T& event) {
  wire.name(1, event.queue);
  wire.enumeration(2, event.change, core::QueueChange::kResumed);
  wire.message(3, event.settings);
  wire.bytes(4, event.pause_reason);
}

template <typename Wire, Described<core::IdempotencyKey> T>
void describe(Wire& wire, T& key) {
  wire.fingerprint(1, key.key);
  wire.fingerprint(2, key.body);
  wire.time(3, key.expires_at);
}

template <typename Wire, Described<core::Submitted> T>
void describe(Wire& wire, T& event) {
  wire.message(1, event.job);
  wire.message(2, event.key);
}

template <typename Wire, Described<core::Claimed::Item> T>
void describe(Wire& wire, T& item) {
  wire.message(1, item.job);
  wire.number(2, item.token);
  wire.time(3, item.expires_at);
  wire.duration(4, item.length);
  wire.time(5, item.deadline);
  wire.duration(6, item.waited);
}

template <typename Wire, Described<core::Claimed> T>
void describe(Wire& wire, T& event) {
  wire.name(1, event.worker);
  wire.message(2, event.items);
}

template <typename Wire, Described<core::Extended::Item> T>
void describe(Wire& wire, T& item) {
  wire.id(1, item.id);
  wire.time(2, item.expires_at);
  wire.message(3, item.progress);
}

template <typename Wire, Described<core::Extended> T>
void describe(Wire& wire, T& event) {
  wire.message(1, event.items);
}

template <typename Wire, Described<core::AttemptEnded> T>
void describe(Wire& wire, T& event) {
  wire.message(1, event.job);
  wire.number(2, event.token);
  wire.name(3, event.worker);
  wire.enumeration(4, event.outcome, kLastOutcome);
  wire.enumeration(5, event.state, kLastState);
  wire.time(6, event.run_at);
  wire.flag(7, event.counted);
  wire.flag(8, event.crashed);
  wire.enumeration(9, event.keep, core::Keep::kForgotten);
  wire.duration(10, event.ran);
  wire.bytes(11, event.result);
  wire.message(12, event.error);
}

template <typename Wire, Described<core::Logged> T>
void describe(Wire& wire, T& event) {
  wire.id(1, event.id);
  wire.message(2, event.lines);
  wire.number(3, event.drop_below);
}

template <typename Wire, Described<core::BecameDue> T>
void describe(Wire& wire, T& event) {
  wire.message(1, event.jobs);
}

template <typename Wire, Described<core::Expired> T>
void describe(Wire& wire, T& event) {
  wire.message(1, event.job);
  wire.enumeration(2, event.keep, core::Keep::kForgotten);
}

template <typename Wire, Described<core::CancelRequested> T>
void describe(Wire& wire, T& event) {
  wire.message(1, event.job);
  wire.name(2, event.worker);
  wire.number(3, event.token);
  wire.bytes(4, event.reason);
}

template <typename Wire, Described<core::Cancelled> T>
void describe(Wire& wire, T& event) {
  wire.message(1, event.job);
  wire.bytes(2, event.reason);
  wire.enumeration(3, event.keep, core::Keep::kForgotten);
}

template <typename Wire, Described<core::Retried> T>
void describe(Wire& wire, T& event) {
  wire.message(1, event.job);
  wire.enumeration(2, event.from, kLastState);
}

template <typename Wire, Described<core::Finished> T>
void describe(Wire& wire, T& event) {
  wire.message(1, event.job);
  wire.enumeration(2, event.from, kLastState);
  wire.number(3, event.token);
  wire.enumeration(4, event.keep, core::Keep::kForgotten);
}

template <typename Wire, Described<core::Edited> T>
void describe(Wire& wire, T& event) {
  wire.message(1, event.job);
  wire.signed_number(2, event.priority);
  wire.time(3, event.run_at);
  wire.enumeration(4, event.state, kLastState);
  wire.bytes(5, event.payload);
  wire.number(6, event.max_attempts);
  wire.bytes_list(7, event.tags);
}

template <typename Wire, Described<core::Deleted::Item> T>
void describe(Wire& wire, T& item) {
  wire.message(1, item.job);
  wire.enumeration(2, item.state, kLastState);
  wire.bytes(3, item.unique_key);
}

template <typename Wire, Described<core::Deleted> T>
void describe(Wire& wire, T& event) {
  wire.enumeration(1, event.cause, core::DeleteCause::kPurge);
  wire.message(2, event.items);
}

template <typename Wire, Described<core::QueuePurged> T>
void describe(Wire& wire, T& event) {
  wire.name(1, event.queue);
  wire.number(2, event.deleted);
}

template <typename Wire, Described<core::QueueDeleted> T>
void describe(Wire& wire, T& event) {
  wire.name(1, event.queue);
}

template <typename Wire, Described<core::KeysExpired> T>
void describe(Wire& wire, T& event) {
  wire.time(1, event.until);
}

template <typename Wire, Described<core::UniquesReleased> T>
void describe(Wire& wire, T& event) {
  wire.time(1, event.until);
}

template <typename Wire, Described<core::EpochStarted> T>
void describe(Wire& wire, T& event) {
  wire.number(1, event.epoch);
  wire.number(2, event.first_token);
}

template <typename Wire, Described<core::LeasesExtended> T>
void describe(Wire& wire, T& event) {
  wire.duration(1, event.by);
}

}  // namespace millrace::store
