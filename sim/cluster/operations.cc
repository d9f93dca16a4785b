#include "sim/cluster/operations.h"

#include <algorithm>
#include <utility>

namespace millrace::sim {
namespace {

constexpr std::uint32_t kMostSelected = 16;

}  // namespace

void OperationsOfShard::begin(engine::Gateway& shard) {
  shard_ = &shard;
  runner_.begin();
  carry_out();
}

void OperationsOfShard::end() {
  shard_ = nullptr;
  runner_.end();
}

void OperationsOfShard::tick(node::Instant now, Time wall) {
  if (shard_ == nullptr) return;
  runner_.tick(now, wall);
  carry_out();
}

void OperationsOfShard::deliver(std::span<engine::Delivery> deliveries) {
  for (engine::Delivery& delivery : deliveries) {
    runner_.answered(delivery.ticket, std::move(delivery.answer));
  }
  carry_out();
}

void OperationsOfShard::carry_out() {
  using Asking = node::OperationRunner::Asking;
  for (node::OperationRunner::Selection& selection : runner_.take_selections()) {
    const auto page =
        tables_.select_ids(selection.filter, selection.part.below,
                           std::min(selection.limit, kMostSelected), node::kSelectionBudget);
    runner_.selected(selection, page);
  }
  for (Asking& ask : runner_.take_asks()) {
    if (ask.whom == Asking::Whom::kAllShards) {
      router_.submit(std::move(ask.request), *this, ask.ticket, engine::kNodesOwn);
    } else if (shard_ != nullptr) {
      shard_->submit(std::move(ask.request), *this, ask.ticket);
    }
  }
}

}  // namespace millrace::sim
