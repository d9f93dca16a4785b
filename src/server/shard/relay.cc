#include "server/shard/relay.h"

#include <utility>
#include <vector>

namespace millrace::server {

Relay::Relay(engine::Gateway& router, store::Tables& tables, Run run, Logger log)
    : router_(router), reads_(tables), run_(std::move(run)), relay_(std::move(log)) {}

template <typename Change>
void Relay::step(Change change) {
  using Asking = node::Relay::Asking;
  std::shared_ptr<engine::Gateway> shard;
  std::vector<Asking> asks;
  std::vector<node::Relay::Incomplete> incomplete;
  {
    const MutexLock lock(mutex_);
    change(relay_);
    asks = relay_.take_asks();
    incomplete = relay_.take_incomplete();
    shard = shard_;
  }
  for (Asking& ask : asks) {
    if (ask.whom == Asking::Whom::kOwner) {
      router_.submit(std::move(ask.request), *this, ask.ticket, engine::kNodesOwn);
    } else if (shard != nullptr) {
      shard->submit(std::move(ask.request), *this, ask.ticket);
    }
  }
  for (node::Relay::Incomplete& claim : incomplete) read(std::move(claim));
}

void Relay::begin(std::shared_ptr<engine::Gateway> shard) {
  std::shared_ptr<engine::Gateway> former;  // destroyed after the lock is released
  {
    const MutexLock lock(mutex_);
    former = std::exchange(shard_, std::move(shard));
  }
  step([](node::Relay& relay) { relay.begin(); });
}

void Relay::end() {
  std::shared_ptr<engine::Gateway> gone;  // destroyed after the lock is released
  const MutexLock lock(mutex_);
  gone = std::exchange(shard_, nullptr);
  relay_.end();
}

void Relay::tick() {
  step([](node::Relay& relay) { relay.tick(); });
}

void Relay::deliver(std::span<engine::Delivery> deliveries) {
  step([&](node::Relay& relay) {
    for (engine::Delivery& delivery : deliveries) {
      relay.answered(delivery.ticket, std::move(delivery.answer));
    }
  });
}

void Relay::read(node::Relay::Incomplete claim) {
  run_([this, claim = std::move(claim)]() mutable {
    const Status read = reads_.complete(claim.claim);
    step([&](node::Relay& relay) { relay.completed(std::move(claim), read); });
  });
}

}  // namespace millrace::server
