// The runner of operations, as in the server (server/shard/operation_courier.h), if this run has
// operations.
#include <algorithm>
#include <utility>

#include "sim/violation.h"
#include "sim/world/world.h"

namespace millrace::sim {
namespace {

constexpr std::uint32_t kMostSelected = 16;
constexpr int kMaxOperationRounds = 20'000;

}  // namespace

void World::begin_operations() {
  if (knob(Knob::kOperations) == 0 || operations_end_) return;
  operations_.begin();
  run_operations();
}

void World::end_operations() {
  operations_.end();
  own_.clear();
}

void World::run_operations() {
  if (knob(Knob::kOperations) == 0) return;
  operations_.tick(clock_.since_boot(), clock_.wall());
  carry_out_operations();
}

void World::carry_out_operations() {
  while (true) {
    for (node::OperationRunner::Selection& selection : operations_.take_selections()) {
      const auto page = store_->tables->select_ids(selection.filter, selection.part.below,
                                                   std::min(selection.limit, kMostSelected),
                                                   node::kSelectionBudget);
      operations_.selected(selection, page);
    }
    auto asks = operations_.take_asks();
    if (asks.empty()) return;
    for (node::OperationRunner::Asking& ask : asks) {
      offer(std::move(ask.request));
      own_.emplace(engine::Ticket{tickets_}, ask.ticket);
    }
  }
}

// Handles an answer for the runner.
bool World::heard_by_operations(const engine::Delivery& delivery) {
  const auto own = own_.extract(delivery.ticket);
  if (own.empty()) return false;
  operations_.answered(own.mapped(), delivery.answer);
  return true;
}

// X4: every operation that was started is completed.
void World::complete_operations() {
  if (knob(Knob::kOperations) == 0) return;
  const auto running = [this] {
    return std::ranges::any_of(shard_->machine().operations(), [](const auto& entry) {
      return !core::has_ended(entry.second.state);
    });
  };
  for (int round = 0; running(); ++round) {
    // No worker takes jobs any more, so a shard without room for a retry never gets any.
    if (round == kMaxOperationRounds && knob(Knob::kTightLimits) > 0) break;
    demand(round < kMaxOperationRounds, "X4", "an operation does not come to its end");
    if (round % 100 == 0) {
      for (engine::Request& request : clients_.hurry_operations()) offer(std::move(request));
    }
    pass(Duration{50});
    settle();
  }
  end_operations();
  operations_end_ = true;
}

}  // namespace millrace::sim
