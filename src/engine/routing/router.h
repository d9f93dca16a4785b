// The entrance of a store with several shards. It sends each request to the shards that it is for,
// on this node or another, and combines their answers.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "base/mutex.h"
#include "engine/routing/exchange.h"
#include "engine/routing/gateway.h"
#include "engine/routing/peers.h"
#include "engine/routing/scatter_gather.h"
#include "engine/shard/shard_clock.h"

namespace millrace::engine {

// Thread-safe. Must outlive everything it sends requests to.
class Router final : public Gateway, private ReplyPort {
 public:
  // `peers`: null if there is only this node.
  Router(ShardNumber shards, const TimeSource& time, Peers* peers);
  ~Router() override;

  // --- The destination of a shard's requests from now on. Initially they are held.
  void lead_here(ShardNumber shard, Gateway& gateway);
  void led_there(ShardNumber shard, const std::string& url);
  // The shard's leader is changing: its requests wait until one of the two calls above, or are
  // refused after kLeaderPatience. On return, no request is on its way into the former gateway.
  void hold(ShardNumber shard);

  // Holds requests if they still go to this gateway. On return, no request is on its way into it.
  void no_longer_here(ShardNumber shard, const Gateway& gateway);

  void submit(Request request, ReplyPort& port, Ticket ticket,
              std::string_view credentials = {}) override;
  void cancel(ReplyPort& port, Ticket ticket) override;

  // Sends held requests that can go and refuses those that waited too long. Call about every 20 ms.
  // True: requests wait for a shard whose leader is unknown, or is not at its expected place.
  bool tick();

  ShardNumber shards() const { return static_cast<ShardNumber>(routes_.size()); }

 private:
  friend class Exchange;
  struct Route {
    Mutex mutex;
    Gateway* here MILLRACE_GUARDED_BY(mutex) = nullptr;
    std::string there MILLRACE_GUARDED_BY(mutex);  // the URL of the leader
  };
  // A part that waits for its shard's leader, or for a short pause.
  struct Held {
    std::shared_ptr<Exchange> exchange;
    std::size_t part = 0;
    ShardNumber shard = 0;
    Instant not_before{};
    Instant until{};
  };

  struct Alarm {
    std::shared_ptr<Exchange> exchange;
    Instant at{};
  };

  // --- For exchanges.
  Instant now() const { return time_.since_boot(); }
  // Sends the request to the shard's leader, and keeps a copy if it may have to be sent again.
  // False: the shard has no leader.
  bool give(ShardNumber shard, std::optional<Request>& request, Ticket ticket,
            std::string_view credentials);
  void hold_part(Held held);
  void ring_at(std::shared_ptr<Exchange> exchange, Instant at);
  static Ticket ticket_of(std::uint64_t exchange, std::size_t part);
  void cancel_part(ShardNumber shard, Ticket ticket);
  void over(const Exchange& exchange);
  void release_jobs(ShardNumber shard, core::Ack releases, std::string_view credentials);

  void deliver(std::span<Delivery> deliveries) override;
  void begin(std::shared_ptr<Exchange> exchange);
  bool has_leader(ShardNumber shard);
  bool is_led_here(ShardNumber shard);

  const TimeSource& time_;
  Peers* const peers_;
  std::vector<std::unique_ptr<Route>> routes_;

  Mutex mutex_;
  std::uint64_t next_number_ MILLRACE_GUARDED_BY(mutex_) = 1;
  absl::flat_hash_map<std::uint64_t, std::shared_ptr<Exchange>> exchanges_
      MILLRACE_GUARDED_BY(mutex_);
  absl::flat_hash_map<ReplyAddress, std::uint64_t> by_address_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<Held> held_ MILLRACE_GUARDED_BY(mutex_);
  std::vector<Alarm> alarms_ MILLRACE_GUARDED_BY(mutex_);
  Instant swept_at_ MILLRACE_GUARDED_BY(mutex_){};
};

}  // namespace millrace::engine
