// The courier of the relay of a shard's outbox; it reads the payloads that the relay needs.
#pragma once

#include "base/log.h"
#include "engine/reads.h"
#include "node/relay.h"
#include "server/shard/courier.h"

namespace millrace::server {

class RelayCourier final : public Courier<node::Relay, &node::Relay::take_incomplete> {
 public:
  // `tables`: the shard's.
  RelayCourier(engine::Gateway& router, store::Tables& tables, Run run, Logger log);

  void tick();

 private:
  void read(node::Relay::Incomplete claim) override;

  const engine::Reads reads_;
  const Run run_;
};

}  // namespace millrace::server
