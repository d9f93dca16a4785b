// The fields of the core's commands, as nodes send them to each other: see store/wire.h.
#pragma once

#include "core/command.h"
#include "engine/peer_level.h"
#include "engine/wire_forms.h"
#include "store/event_fields.h"
#include "store/submission_fields.h"

// Where the wire looks for them.
namespace millrace::store {

using engine::PeerLevel;

template <typename Wire, Described<core::SubmissionKey> T>
void describe(Wire& wire, T& key) {
  wire.fingerprint(1, key.key);
  wire.fingerprint(2, key.body);
  wire.duration(3, key.window);
}

template <typename Wire, Described<core::JobSpec> T>
void describe(Wire& wire, T& spec) {
  describe_new_job(wire, spec);
  if (wire.speaks(PeerLevel::kSecond)) wire.message(16, spec.key);
  describe_tomorrow(wire, 17, spec.type);
}

template <typename Wire, Described<core::Enqueue> T>
void describe(Wire& wire, T& command) {
  wire.message(1, command.jobs);
  wire.enumeration(2, command.atomicity, core::Atomicity::kAll);
  wire.enumeration(3, command.detail, core::Detail::kJobs);
  wire.message(4, command.key);
  wire.duration(5, command.key_window);
}

template <typename Wire, Described<core::Claim> T>
void describe(Wire& wire, T& command) {
  wire.bytes(1, command.queues);
  wire.bytes(2, command.types);
  wire.number(3, command.limit);
  wire.duration(4, command.lease);
  wire.bytes(5, command.worker);
}

template <typename Wire, Described<core::HeartbeatItem> T>
void describe(Wire& wire, T& item) {
  wire.id(1, item.id);
  wire.number(2, item.token);
  wire.duration(3, item.extend);
  wire.message(4, item.progress);
}

template <typename Wire, Described<core::Heartbeat> T>
void describe(Wire& wire, T& command) {
  wire.message(1, command.items);
  wire.enumeration(2, command.detail, core::Detail::kJobs);
}

template <typename Wire, Described<core::LogEntry> T>
void describe(Wire& wire, T& entry) {
  wire.time(1, entry.at);
  wire.number(2, entry.level);
  wire.bytes(3, entry.message);
}

template <typename Wire, Described<core::AckItem> T>
void describe(Wire& wire, T& item) {
  wire.id(1, item.id);
  wire.number(2, item.token);
  wire.enumeration(3, item.outcome, core::AckOutcome::kDead);
  wire.bytes(4, item.result);
  NewError::field(wire, 5, item.error);
  wire.flag(6, item.retryable);
  wire.duration(7, item.delay);
  wire.message(8, item.logs);
  wire.message(9, item.enqueue);
}

template <typename Wire, Described<core::Ack> T>
void describe(Wire& wire, T& command) {
  // A finish comes from the inbox, never from another node.
  wire.message(1, command.items);
  wire.enumeration(2, command.detail, core::Detail::kJobs);
}

template <typename Wire, Described<core::LogItem> T>
void describe(Wire& wire, T& item) {
  wire.id(1, item.id);
  wire.number(2, item.token);
  wire.message(3, item.entry);
}

template <typename Wire, Described<core::AppendLogs> T>
void describe(Wire& wire, T& command) {
  wire.message(1, command.items);
}

template <typename Wire, Described<core::Cancel> T>
void describe(Wire& wire, T& command) {
  Ids::field(wire, 1, command.ids);
  wire.bytes(2, command.reason);
  wire.number(3, command.states.left_out);
}

template <typename Wire, Described<core::Retry> T>
void describe(Wire& wire, T& command) {
  Ids::field(wire, 1, command.ids);
  wire.time(2, command.run_at);
  wire.flag(3, command.reset_attempts);
  wire.number(4, command.states.left_out);
}

template <typename Wire, Described<core::Edit> T>
void describe(Wire& wire, T& command) {
  Ids::field(wire, 1, command.ids);
  wire.number(2, command.if_version);
  wire.signed_number(3, command.priority);
  wire.time(4, command.run_at);
  wire.bytes(5, command.payload);
  wire.number(6, command.max_attempts);
  wire.bytes_list(7, command.tags);
  if (wire.speaks(PeerLevel::kSecond)) wire.number(8, command.states.left_out);
}

template <typename Wire, Described<core::Delete> T>
void describe(Wire& wire, T& command) {
  Ids::field(wire, 1, command.ids);
  wire.enumeration(2, command.cause, core::DeleteCause::kPurge);
  wire.number(3, command.states.left_out);
  wire.number(4, command.if_version);
}

template <typename Wire, Described<core::QueuePatch> T>
void describe(Wire& wire, T& patch) {
  wire.number(1, patch.max_attempts);
  Setting<std::uint32_t>::field(wire, 2, patch.max_crashes);
  OwnPolicy::field(wire, 3, patch.retry);
  wire.duration(4, patch.lease);
  Setting<std::uint64_t>::field(wire, 5, patch.max_ready);
  Setting<Duration>::field(wire, 6, patch.succeeded);
  Setting<Duration>::field(wire, 7, patch.dead);
  Setting<Duration>::field(wire, 8, patch.cancelled);
  Setting<Duration>::field(wire, 9, patch.expired);
}

template <typename Wire, Described<core::SetQueue> T>
void describe(Wire& wire, T& command) {
  wire.bytes(1, command.queue);
  wire.flag(2, command.replace);
  wire.message(3, command.patch);
  wire.number(4, command.if_version);
  if (wire.speaks(PeerLevel::kSecond)) wire.flag(5, command.create);
}

template <typename Wire, Described<core::PauseQueue> T>
void describe(Wire& wire, T& command) {
  wire.bytes(1, command.queue);
  wire.bytes(2, command.reason);
  if (wire.speaks(PeerLevel::kSecond)) wire.flag(3, command.create);
}

template <typename Wire, Described<core::ResumeQueue> T>
void describe(Wire& wire, T& command) {
  wire.bytes(1, command.queue);
}

template <typename Wire, Described<core::NotePurge> T>
void describe(Wire& wire, T& command) {
  wire.bytes(1, command.queue);
  wire.number(2, command.deleted);
}

template <typename Wire, Described<core::GetJob> T>
void describe(Wire& wire, T& command) {
  wire.id(1, command.id);
}

template <typename Wire, Described<core::GetQueues> T>
void describe(Wire& wire, T& command) {
  wire.bytes(1, command.queue);
  if (!wire.speaks(PeerLevel::kSecond)) return;
  wire.bytes(2, command.after);
  wire.number(3, command.limit);
  wire.flag(4, command.counts_only);
}

template <typename Wire, Described<core::DeleteQueue> T>
void describe(Wire& wire, T& command) {
  wire.bytes(1, command.queue);
}

}  // namespace millrace::store
