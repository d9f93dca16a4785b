// Drives the relay of a shard's outbox (node/relay.h) under a lock, and reads the payloads that it
// needs.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/reads.h"
#include "engine/routing/gateway.h"
#include "node/relay.h"

namespace millrace::server {

// Thread-safe. Must outlive the gateways that it sends requests to.
class Relay final : public engine::ReplyPort {
 public:
  // Runs the function later, on a thread that may block; never runs it if the process ends first.
  using Run = std::function<void(std::function<void()>)>;
  // `tables`: the shard's. `router`: reaches every shard.
  Relay(engine::Gateway& router, store::Tables& tables, Run run, Logger log);

  // begin(): this node leads the shard, through this gateway. end(): it no longer does.
  void begin(std::shared_ptr<engine::Gateway> shard);
  void end();
  void tick();

  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  // Changes the relay, then sends its requests.
  template <typename Change>
  void step(Change change);
  void read(node::Relay::Incomplete claim);

  engine::Gateway& router_;
  const engine::Reads reads_;
  const Run run_;
  Mutex mutex_;
  std::shared_ptr<engine::Gateway> shard_ MILLRACE_GUARDED_BY(mutex_);  // null: not led here
  node::Relay relay_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::server
