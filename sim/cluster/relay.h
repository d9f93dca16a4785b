// Steps the relay of a shard's outbox (node/relay.h) while the node leads the shard.
#pragma once

#include <cstdint>
#include <span>

#include "engine/reads.h"
#include "engine/routing/gateway.h"
#include "node/relay.h"
#include "sim/world/effects.h"

namespace millrace::sim {

class Relay final : public engine::ReplyPort {
 public:
  // `tables`: the shard's. `router`: reaches every shard.
  Relay(std::uint32_t shard, store::Tables& tables, engine::Gateway& router, Effects& effects)
      : number_(shard), reads_(tables), router_(router), effects_(effects), relay_(Logger()) {}

  // begin(): the node now leads the shard, through this gateway, in this term (above 0). end(): it
  // no longer does.
  void begin(engine::Gateway& shard, std::uint64_t term);
  void end();
  void tick();
  bool busy() const { return relay_.passes_on(); }

  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  void ask();
  void look(const node::Relay::Asking& asking);

  const std::uint32_t number_;
  const engine::Reads reads_;
  engine::Gateway& router_;
  Effects& effects_;
  node::Relay relay_;
  engine::Gateway* shard_ = nullptr;  // null: not led here
  std::uint64_t term_ = 0;
};

}  // namespace millrace::sim
