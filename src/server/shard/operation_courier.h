// The courier of the runner of a shard's operations; it selects jobs from the tables.
#pragma once

#include <cstdint>

#include "engine/shard/shard_clock.h"
#include "node/operation_runner.h"
#include "server/shard/courier.h"
#include "store/tables.h"

namespace millrace::server {

class OperationCourier final
    : public Courier<node::OperationRunner, &node::OperationRunner::take_selections> {
 public:
  struct Parts {
    engine::Gateway& router;  // reaches every shard
    store::Tables& tables;    // the shard's
    store::Journal& journal;  // likewise the shard's
    const engine::TimeSource& time;
    Run run;
  };
  OperationCourier(std::uint32_t shard, std::uint32_t shards, Parts parts);

  void tick();

 private:
  void read(node::OperationRunner::Selection selection) override;

  const Parts parts_;
};

}  // namespace millrace::server
