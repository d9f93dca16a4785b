// Steps the runner of a shard's operations (node/operation_runner.h) while the node leads the
// shard.
#pragma once

#include <cstdint>
#include <span>

#include "engine/routing/gateway.h"
#include "node/operation_runner.h"
#include "store/tables.h"

namespace millrace::sim {

class OperationsOfShard final : public engine::ReplyPort {
 public:
  // `tables`: the shard's. `router`: reaches every shard.
  OperationsOfShard(std::uint32_t shard, std::uint32_t shards, store::Tables& tables,
                    engine::Gateway& router)
      : tables_(tables), router_(router), runner_(shard, shards) {}

  // begin(): the node now leads the shard, through this gateway. end(): it no longer does.
  void begin(engine::Gateway& shard);
  void end();
  void tick(node::Instant now, Time wall);
  bool busy() const { return runner_.busy(); }

  void deliver(std::span<engine::Delivery> deliveries) override;

 private:
  void carry_out();

  store::Tables& tables_;
  engine::Gateway& router_;
  node::OperationRunner runner_;
  engine::Gateway* shard_ = nullptr;  // null: not led here
};

}  // namespace millrace::sim
