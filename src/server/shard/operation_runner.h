// Drives a shard's operations (node/operation_runner.h) under a lock, and reads the tables for
// them.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "base/mutex.h"
#include "engine/routing/gateway.h"
#include "engine/shard/shard_clock.h"
#include "node/operation_runner.h"
#include "store/tables.h"

namespace millrace::server {

// Thread-safe. Must outlive the gateways that it sends requests to.
class OperationRunner final : public engine::ReplyPort {
 public:
  // Runs the function later, on a thread that may block; never runs it if the process ends first.
  using Run = std::function<void(std::function<void()>)>;
  struct Parts {
    engine::Gateway& router;  // reaches every shard
    store::Tables& tables;    // the shard's
    store::Journal& journal;  // likewise the shard's
    const engine::TimeSource& time;
    Run run;
  };
  OperationRunner(std::uint32_t shard, std::uint32_t shards, Parts parts);

  // begin(): this node leads the shard, through this gateway. end(): it no longer does.
  void begin(std::shared_ptr<engine::Gateway> shard);
  void end();
  void tick();

  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  // Changes the runner, then carries out its requests.
  template <typename Change>
  void step(Change change);
  void select(node::OperationRunner::Selection selection);

  const Parts parts_;
  Mutex mutex_;
  std::shared_ptr<engine::Gateway> shard_ MILLRACE_GUARDED_BY(mutex_);  // null: not led here
  node::OperationRunner runner_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::server
