// Operators who start operations on many jobs, and control them.
#include <fmt/format.h>

#include "sim/world/clients.h"

namespace millrace::sim {
namespace {

// Few, so that commands on operations find them.
constexpr std::uint64_t kOperations = 12;

JobId operation_id(std::uint64_t number) { return numbered_id(0xf0'0000 + number); }

core::Condition any_of(core::JobField field, std::vector<std::string> values) {
  core::Condition condition;
  condition.field = field;
  condition.values = std::move(values);
  return condition;
}

}  // namespace

core::StartOperation Clients::start_operation(Dice& dice, Time now) {
  using core::OperationAction;
  core::StartOperation start;
  start.id = operation_id(++operations_);
  start.shard = 0;
  core::OperationSpec& spec = start.spec;
  constexpr std::array kActions = {OperationAction::kRetry, OperationAction::kRetry,
                                   OperationAction::kCancel, OperationAction::kDelete,
                                   OperationAction::kReprioritize};
  spec.action = kActions.at(dice.below(kActions.size()));
  spec.priority = static_cast<std::int16_t>(dice.below(5));
  spec.created_at = now;
  if (dice.chance(600)) {
    spec.filter.conditions.push_back(
        any_of(core::JobField::kQueue, {std::string(queue(dice).view())}));
  }
  if (spec.action == OperationAction::kRetry ||
      dice.chance(spec.action == OperationAction::kDelete ? 700 : 300)) {
    const bool dead = dice.chance(500);
    spec.filter.conditions.push_back(any_of(
        core::JobField::kState, dead ? std::vector<std::string>{"dead"}
                                     : std::vector<std::string>{"dead", "cancelled", "succeeded"}));
    spec.states = core::StateSet::of({core::State::kDead});
    if (!dead) {
      spec.states.add(core::State::kCancelled);
      spec.states.add(core::State::kSucceeded);
    }
  }
  if (dice.chance(600)) start.rate_per_s = static_cast<std::uint32_t>(1 + dice.below(30));
  return start;
}

core::Command Clients::operation(Dice& dice, Time now) {
  if (operations_ == 0 || (dice.chance(300) && operations_ < kOperations)) {
    return start_operation(dice, now);
  }
  const JobId id = operation_id(1 + dice.below(operations_));
  switch (dice.below(8)) {
    case 0:
      return core::GetOperations{id, {}, 0};
    case 1:
      return core::GetOperations{{}, {}, static_cast<std::uint32_t>(dice.below(3))};
    case 2:
      return core::SetOperation{id, core::OperationOrder::kCancel, {}};
    case 3:
      return core::SetOperation{id, core::OperationOrder::kSetRate,
                                static_cast<std::uint32_t>(1 + dice.below(50))};
    case 4:
    case 5:
      return core::SetOperation{id, core::OperationOrder::kPause, {}};
    default:
      return core::SetOperation{id, core::OperationOrder::kResume, {}};
  }
}

std::vector<engine::Request> Clients::hurry_operations() const {
  std::vector<engine::Request> requests;
  for (std::uint64_t number = 1; number <= operations_; ++number) {
    const JobId id = operation_id(number);
    requests.emplace_back(
        core::Command(core::SetOperation{id, core::OperationOrder::kSetRate, {}}));
    requests.emplace_back(core::Command(core::SetOperation{id, core::OperationOrder::kResume, {}}));
  }
  return requests;
}

}  // namespace millrace::sim
