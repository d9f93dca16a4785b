// The fields of requests and answers that are the engine's own, as nodes send them to each other:
// see store/wire.h.
#pragma once

#include <utility>
#include <vector>

#include "engine/command_fields.h"
#include "engine/reply_fields.h"
#include "engine/request.h"

namespace millrace::engine {

using store::Described;

struct Labels {
  using List = std::vector<std::pair<std::string, std::string>>;

  static void field(store::WireWriter& wire, int number, const List& labels) {
    for (const auto& [name, value] : labels) {
      wire.message(number, store::MetaEntry(SharedBytes(name), SharedBytes(value)));
    }
  }
  static void field(store::WireReader& wire, int number, List& labels) {
    std::vector<store::MetaEntry> read;
    wire.message(number, read);
    labels.clear();
    for (const auto& [name, value] : read) labels.emplace_back(name.view(), value.view());
  }
};

// One a shard, zeros included.
struct Seqs {
  static void field(store::WireWriter& wire, int number, const std::vector<Seq>& seqs) {
    std::vector<Duration> values;
    for (const Seq seq : seqs) values.emplace_back(static_cast<std::int64_t>(to_number(seq)));
    wire.durations(number, values);
  }
  static void field(store::WireReader& wire, int number, std::vector<Seq>& seqs) {
    std::vector<Duration> values;
    wire.durations(number, values);
    seqs.clear();
    for (const Duration value : values) {
      seqs.push_back(Seq{static_cast<std::uint64_t>(value.count())});
    }
  }
};

template <typename Wire, Described<WorkerInfo> T>
void describe(Wire& wire, T& worker) {
  wire.bytes(1, worker.id);
  store::Text::field(wire, 2, worker.host);
  store::SignedNumber::field(wire, 3, worker.pid);
  store::Text::field(wire, 4, worker.sdk);
  store::Text::field(wire, 5, worker.version);
  Labels::field(wire, 6, worker.labels);
}

template <typename Wire, Described<WaitingClaim> T>
void describe(Wire& wire, T& request) {
  wire.message(1, request.claim);
  wire.duration(2, request.wait);
  wire.message(3, request.worker);
}

template <typename Wire, Described<Poll> T>
void describe(Wire& wire, T& request) {
  wire.message(1, request.worker);
  wire.message(2, request.acks);
  wire.message(3, request.heartbeats);
  wire.message(4, request.logs);
  wire.message(5, request.claim);
  wire.duration(6, request.wait);
  if (wire.speaks(PeerLevel::kSecond)) wire.flag(7, request.goodbye);
}

template <typename Wire, Described<WatchJob> T>
void describe(Wire& wire, T& request) {
  wire.id(1, request.id);
  wire.duration(2, request.wait);
  wire.bytes(3, request.queue);
  if (wire.speaks(PeerLevel::kSecond)) wire.number(4, request.lease);
}

template <typename Wire, Described<FindJob> T>
void describe(Wire& wire, T& request) {
  wire.id(1, request.id);
}

template <typename Wire, Described<AwaitProjection> T>
void describe(Wire&, T&) {}

template <typename Wire, Described<AwaitEvents> T>
void describe(Wire& wire, T& request) {
  Seqs::field(wire, 1, request.after);
  wire.duration(2, request.wait);
}

template <typename Wire, Described<AwaitWork> T>
void describe(Wire& wire, T& request) {
  wire.bytes(1, request.queues);
  wire.bytes(2, request.types);
  wire.bytes(3, request.worker);
  wire.duration(4, request.wait);
  wire.flag(5, request.no_orders);
}

template <typename Wire, Described<ListWorkers> T>
void describe(Wire&, T&) {}

template <typename Wire, Described<CommandWorker> T>
void describe(Wire& wire, T& request) {
  wire.bytes(1, request.worker);
  wire.enumeration(2, request.state, WorkerState::kStopping);
}

template <typename Wire, Described<WorkerOrder> T>
void describe(Wire& wire, T& order) {
  wire.enumeration(1, order.kind, WorkerOrder::Kind::kCancel);
  wire.id(2, order.job);
  wire.number(3, order.token);
}

template <typename Wire, Described<PollReply> T>
void describe(Wire& wire, T& reply) {
  wire.message(1, reply.acks);
  wire.message(2, reply.heartbeats);
  wire.message(3, reply.logs);
  wire.message(4, reply.claim);
  wire.message(5, reply.orders);
  wire.flag(6, reply.news);
}

template <typename Wire, Described<WorkerView> T>
void describe(Wire& wire, T& worker) {
  wire.message(1, worker.info);
  wire.enumeration(2, worker.state, WorkerState::kStopping);
  wire.bytes(3, worker.queues);
  wire.bytes(4, worker.types);
  wire.time(5, worker.first_seen_at);
  wire.time(6, worker.last_seen_at);
  wire.message(7, worker.running);
}

template <typename Wire, Described<WorkersReply> T>
void describe(Wire& wire, T& reply) {
  wire.flag(1, reply.found);
  wire.message(2, reply.workers);
}

inline void describe(store::WireWriter& wire, const Unavailable& why) {
  // Nothing was done, either way.
  const bool unspoken = why == Unavailable::kUpgrading && !wire.speaks(PeerLevel::kSecond);
  wire.enumeration(1, unspoken ? Unavailable::kNoLeader : why, Unavailable::kUpgrading);
}
inline void describe(store::WireReader& wire, Unavailable& why) {
  wire.enumeration(1, why, Unavailable::kUpgrading);
}

template <typename Wire, Described<Denied> T>
void describe(Wire& wire, T& why) {
  wire.enumeration(1, why, Denied::kQueue);
}

}  // namespace millrace::engine
