#include "server/shard/operation_courier.h"

#include <algorithm>
#include <utility>

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

OperationCourier::OperationCourier(std::uint32_t shard, std::uint32_t shards, Parts parts)
    : Courier(parts.router, shard, shards), parts_(std::move(parts)) {}

void OperationCourier::tick() {
  step([this](node::OperationRunner& runner) {
    runner.tick(parts_.time.since_boot(), parts_.time.wall());
  });
}

void OperationCourier::read(node::OperationRunner::Selection selection) {
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
