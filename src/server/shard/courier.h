// Carries out what an object of node/ decides for a shard while this node leads it. The object only
// decides; a courier has the lock, sends its requests, has the tables read for it, and brings it
// the answers.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/mutex.h"
#include "engine/routing/gateway.h"

namespace millrace::server {

// `kTake`: the member of Decider that gives what is to be read from the tables.
//
// Thread-safe. Must outlive the gateways that it sends requests to.
template <typename Decider, auto kTake>
class Courier : public engine::ReplyPort {
 public:
  // Runs the function later, on a thread that may block; never runs it if the process ends first.
  using Run = std::function<void(std::function<void()>)>;

  // begin(): this node leads the shard, through this gateway. end(): it no longer does.
  void begin(std::shared_ptr<engine::Gateway> shard) {
    std::shared_ptr<engine::Gateway> former;  // destroyed after the lock is released
    {
      const MutexLock lock(mutex_);
      former = std::exchange(shard_, std::move(shard));
    }
    step([](Decider& decider) { decider.begin(); });
  }
  void end() {
    std::shared_ptr<engine::Gateway> gone;  // destroyed after the lock is released
    const MutexLock lock(mutex_);
    gone = std::exchange(shard_, nullptr);
    decider_.end();
  }

  void deliver(std::span<engine::Delivery> deliveries) final {
    step([&](Decider& decider) {
      for (engine::Delivery& delivery : deliveries) {
        decider.answered(delivery.ticket, std::move(delivery.answer));
      }
    });
  }

 protected:
  using Readings = std::invoke_result_t<decltype(kTake), Decider&>;
  using Reading = typename Readings::value_type;

  // `router`: reaches every shard. `arguments`: the decider's.
  template <typename... Arguments>
  explicit Courier(engine::Gateway& router, Arguments&&... arguments)
      : router_(router), decider_(std::forward<Arguments>(arguments)...) {}
  ~Courier() override = default;

  // Has the tables read on another thread; then tells the decider, in a step.
  virtual void read(Reading reading) = 0;

  // Changes the decider, then does what it asks for.
  template <typename Change>
  void step(const Change& change) {
    using Asking = typename Decider::Asking;
    std::shared_ptr<engine::Gateway> shard;
    std::vector<Asking> asks;
    Readings readings;
    {
      const MutexLock lock(mutex_);
      change(decider_);
      asks = decider_.take_asks();
      readings = (decider_.*kTake)();
      shard = shard_;
    }
    for (Asking& ask : asks) {
      if (ask.whom != Asking::Whom::kShard) {
        router_.submit(std::move(ask.request), *this, ask.ticket, engine::kNodesOwn);
      } else if (shard != nullptr) {
        shard->submit(std::move(ask.request), *this, ask.ticket);
      }
    }
    for (Reading& reading : readings) read(std::move(reading));
  }

 private:
  engine::Gateway& router_;
  Mutex mutex_;
  std::shared_ptr<engine::Gateway> shard_ MILLRACE_GUARDED_BY(mutex_);  // null: not led here
  Decider decider_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::server
