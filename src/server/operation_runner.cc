#include "server/operation_runner.h"

#include <utility>
#include <vector>

namespace millrace::server {

OperationRunner::OperationRunner(std::uint32_t shard, std::uint32_t shards, Parts parts)
    : parts_(std::move(parts)), runner_(shard, shards) {}

template <typename Change>
void OperationRunner::step(Change change) {
  using Asking = node::OperationRunner::Asking;
  std::shared_ptr<engine::Gateway> shard;
  std::vector<Asking> asks;
  std::vector<node::OperationRunner::Selection> selections;
  {
    const MutexLock lock(mutex_);
    change(runner_);
    asks = runner_.take_asks();
    selections = runner_.take_selections();
    shard = shard_;
  }
  for (Asking& ask : asks) {
    if (ask.whom == Asking::Whom::kAllShards) {
      parts_.router.submit(std::move(ask.request), *this, ask.ticket, engine::kNodesOwn);
    } else if (shard != nullptr) {
      shard->submit(std::move(ask.request), *this, ask.ticket);
    }
  }
  for (node::OperationRunner::Selection& selection : selections) select(std::move(selection));
}

void OperationRunner::begin(std::shared_ptr<engine::Gateway> shard) {
  std::shared_ptr<engine::Gateway> former;  // goes when the lock has gone
  {
    const MutexLock lock(mutex_);
    former = std::exchange(shard_, std::move(shard));
  }
  step([](node::OperationRunner& runner) { runner.begin(); });
}

void OperationRunner::end() {
  std::shared_ptr<engine::Gateway> gone;  // not under the lock
  const MutexLock lock(mutex_);
  gone = std::exchange(shard_, nullptr);
  runner_.end();
}

void OperationRunner::tick() {
  step([this](node::OperationRunner& runner) {
    runner.tick(parts_.time.since_boot(), parts_.time.wall());
  });
}

void OperationRunner::deliver(std::span<engine::Delivery> deliveries) {
  step([&](node::OperationRunner& runner) {
    for (engine::Delivery& delivery : deliveries) {
      runner.answered(delivery.ticket, std::move(delivery.answer));
    }
  });
}

void OperationRunner::select(node::OperationRunner::Selection selection) {
  parts_.run([this, selection = std::move(selection)] {
    const Result<store::Tables::IdPage> page = parts_.tables.select_ids(
        selection.filter, selection.part.below, selection.limit, node::kSelectionBudget);
    step([&](node::OperationRunner& runner) { runner.selected(selection, page); });
  });
}

}  // namespace millrace::server
