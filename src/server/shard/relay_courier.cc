#include "server/shard/relay_courier.h"

#include <utility>

namespace millrace::server {

RelayCourier::RelayCourier(engine::Gateway& router, store::Tables& tables, Run run, Logger log)
    : Courier(router, std::move(log)), reads_(tables), run_(std::move(run)) {}

void RelayCourier::tick() {
  step([](node::Relay& relay) { relay.tick(); });
}

void RelayCourier::read(node::Relay::Incomplete claim) {
  run_([this, claim = std::move(claim)]() mutable {
    const Status read = reads_.complete(claim.claim);
    step([&](node::Relay& relay) { relay.completed(std::move(claim), read); });
  });
}

}  // namespace millrace::server
