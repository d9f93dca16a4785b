#include "server/shard/operation_runner.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/reproject.h"
#include "engine/models/shard_models.h"

namespace millrace::server {
namespace {

// The number of journal rows that the read models still lack; empty if they have all rows from
// before the operation began. The first call requests that the shard's follower start again.
Result<store::Tables::IdPage> rows_left(const core::OperationPart& part, store::Tables& tables,
                                        store::Journal& journal) {
  store::Tables::IdPage page;
  if (part.below == 0) return page;
  const auto extent = journal.extent();
  if (!extent) return std::unexpected(extent.error());
  const std::uint64_t newest = to_number(extent->newest);
  const std::uint64_t oldest = std::max<std::uint64_t>(to_number(extent->oldest), 1);
  if (part.below == core::kRowsNotCounted) {
    const Status asked = engine::ShardModels::request_reproject(tables);
    if (!asked) return std::unexpected(asked.error());
    page.next_after_ord = newest + 1 - std::min(newest, oldest);
    return page;
  }
  const auto stored = engine::ShardModels::stored_position(tables);
  if (!stored) return std::unexpected(stored.error());
  page.next_after_ord = part.below;
  if (!*stored) return page;
  if ((*stored)->at >= part.begun_at) return store::Tables::IdPage{};
  const std::uint64_t left = newest - std::min(newest, to_number((*stored)->seq));
  page.next_after_ord = std::clamp<std::uint64_t>(left, 1, part.below);
  return page;
}

}  // namespace

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
  std::shared_ptr<engine::Gateway> former;  // destroyed after the lock is released
  {
    const MutexLock lock(mutex_);
    former = std::exchange(shard_, std::move(shard));
  }
  step([](node::OperationRunner& runner) { runner.begin(); });
}

void OperationRunner::end() {
  std::shared_ptr<engine::Gateway> gone;  // destroyed after the lock is released
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
    const bool reads_rows = selection.part.spec.kind == core::OperationKind::kReproject;
    const Result<store::Tables::IdPage> page =
        reads_rows ? rows_left(selection.part, parts_.tables, parts_.journal)
                   : parts_.tables.select_ids(selection.filter, selection.part.below,
                                              selection.limit, node::kSelectionBudget);
    step([&](node::OperationRunner& runner) { runner.selected(selection, page); });
  });
}

}  // namespace millrace::server
