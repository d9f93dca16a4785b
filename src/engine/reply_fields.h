// The fields of the core's replies, as nodes send them to each other: see store/wire.h.
#pragma once

#include "core/rejection.h"
#include "core/reply.h"
#include "engine/peer_level.h"
#include "engine/wire_forms.h"
#include "store/event_fields.h"
#include "store/table_fields.h"

// Where the wire looks for them.
namespace millrace::store {

// What a node of the first level is told instead of a reason that it does not know.
inline core::Refusal at_first_level(core::Refusal refusal) {
  if (refusal.why == core::Rejection::kIdMismatch) refusal.why = core::Rejection::kDuplicateJob;
  if (refusal.why == core::Rejection::kTooManyQueues) refusal.why = core::Rejection::kOverloaded;
  if (refusal.detail > core::RefusalDetail::kOfAnotherState) refusal.detail = {};
  return refusal;
}

// Absent where nothing is refused; one that names no reason is read as absent.
struct RefusalForm {
  static void field(WireWriter& wire, int number, const core::Refusal& refusal) {
    if (!refusal) return;
    wire.message(number,
                 wire.speaks(engine::PeerLevel::kSecond) ? refusal : at_first_level(refusal));
  }
  static void field(WireReader& wire, int number, core::Refusal& refusal) {
    std::optional<core::Refusal> read;
    wire.message(number, read);
    refusal = read && *read ? *read : core::Refusal{};
  }
};
template <typename Wire, Described<core::Refusal> T>
void describe(Wire& wire, T& refusal) {
  wire.enumeration(1, refusal.why, core::kLastRejection);
  wire.id(2, refusal.other);
  wire.enumeration(3, refusal.detail, core::kLastRefusalDetail);
}

template <typename Wire, Described<core::JobView::LogTrim> T>
void describe(Wire& wire, T& trim) {
  wire.number(1, trim.n);
  wire.number(2, trim.below);
}

template <typename Wire, Described<core::JobView> T>
void describe(Wire& wire, T& view) {
  wire.message(1, view.job);
  wire.message(2, view.attempts);
  wire.message(3, view.logs);
  wire.message(4, view.marks);
  wire.message(5, view.log_trims);
}

template <typename Wire, Described<core::EnqueueReply::Item> T>
void describe(Wire& wire, T& item) {
  wire.enumeration(1, item.fate, core::Fate::kRefused);
  RefusalForm::field(wire, 2, item.refusal);
  wire.id(3, item.id);
  wire.enumeration(4, item.state, kLastState);
  wire.message(5, item.job);
  wire.flag(6, item.deleted);
}

template <typename Wire, Described<core::EnqueueReply> T>
void describe(Wire& wire, T& reply) {
  wire.message(1, reply.items);
  wire.flag(2, reply.refused_as_one);
}

template <typename Wire, Described<core::ClaimReply::Item> T>
void describe(Wire& wire, T& item) {
  wire.message(1, item.job);
}

template <typename Wire, Described<core::ClaimReply> T>
void describe(Wire& wire, T& reply) {
  wire.message(1, reply.jobs);
}

template <typename Wire, Described<core::ItemReply> T>
void describe(Wire& wire, T& item) {
  RefusalForm::field(wire, 1, item.refusal);
  wire.id(2, item.id);
  wire.enumeration(3, item.state, kLastState);
  wire.time(4, item.lease_expires_at);
  wire.flag(5, item.cancel_requested);
  wire.number(6, item.version);
  wire.message(7, item.job);
  wire.flag(8, item.deleted);
}

template <typename Wire, Described<core::ItemsReply> T>
void describe(Wire& wire, T& reply) {
  wire.message(1, reply.items);
}

template <typename Wire, Described<core::JobReply> T>
void describe(Wire& wire, T& reply) {
  wire.message(1, reply.job);
  wire.flag(2, reply.deleted);
}

// With what the tables keep in columns, or not at all.
struct WholeQueue {
  core::Queue queue;

  static void field(WireWriter& wire, int number, const std::vector<core::Queue>& queues) {
    for (const core::Queue& queue : queues) wire.message(number, WholeQueue{queue});
  }
  static void field(WireReader& wire, int number, std::vector<core::Queue>& queues) {
    std::vector<WholeQueue> read;
    wire.message(number, read);
    queues.clear();
    for (WholeQueue& whole : read) queues.push_back(std::move(whole.queue));
  }
};
template <typename Wire, Described<WholeQueue> T>
void describe(Wire& wire, T& whole) {
  wire.bytes(1, whole.queue.name);
  wire.message(2, whole.queue);
  wire.time(3, whole.queue.oldest_ready_at);
}

template <typename Wire, Described<core::QueueReply> T>
void describe(Wire& wire, T& reply) {
  RefusalForm::field(wire, 1, reply.refusal);
  wire.flag(2, reply.created);
  WholeQueue::field(wire, 3, reply.queues);
  if (wire.speaks(engine::PeerLevel::kSecond)) wire.bytes(4, reply.next);
}

}  // namespace millrace::store
