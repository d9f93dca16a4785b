// Gives the relay of a shard's outbox (node/relay.h) its lock, and a thread for what is to be read.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/gateway.h"
#include "engine/reads.h"
#include "node/relay.h"

namespace millrace::server {

// Any thread. Outlives the gateways that it asks.
class Relay final : public engine::ReplyPort {
 public:
  // Runs it later, on a thread that may block; or never, when the process ends.
  using Run = std::function<void(std::function<void()>)>;
  // `tables` are the shard's; `router` reaches every shard.
  Relay(engine::Gateway& router, store::Tables& tables, Run run, Logger log);

  // The shard is led here, through this gateway; no more.
  void begin(std::shared_ptr<engine::Gateway> shard);
  void end();
  void tick();

  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  // Changes the relay, and asks what it asks after that.
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
