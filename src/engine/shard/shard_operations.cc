#include "engine/shard/shard_operations.h"

#include <algorithm>
#include <utility>
#include <variant>

#include "core/bounds.h"

namespace millrace::engine {

ShardOperations::ShardOperations(const ShardOptions& options, const core::Machine& machine,
                                 Seq head)
    : options_(options), machine_(machine) {
  for (const auto& [id, part] : machine.operations()) {
    if (!core::has_ended(part.state)) parts_[id] = {head, {}, part.changed, part.failed};
  }
  count();
}

void ShardOperations::count() {
  counts_ = {};
  for (const auto& [id, part] : machine_.operations()) {
    ++counts_.at(static_cast<std::size_t>(part.state));
  }
}

void ShardOperations::learn(const core::EventBatch& batch, Seq row) {
  bool any = false;
  for (const core::Event& event : batch.events) {
    if (const auto* set = std::get_if<core::OperationSet>(&event)) {
      if (set->change == core::OperationChange::kStarted) parts_[set->part.id].begun = row;
      if (core::has_ended(set->part.state)) parts_.erase(set->part.id);
      any = true;
    } else if (const auto* advanced = std::get_if<core::OperationAdvanced>(&event)) {
      Part& part = parts_[advanced->id];
      changed_ += advanced->changed - std::exchange(part.changed, advanced->changed);
      failed_ += advanced->failed - std::exchange(part.failed, advanced->failed);
      if (advanced->ended) parts_.erase(advanced->id);
      any = any || advanced->ended;
    } else if (std::holds_alternative<core::OperationsForgotten>(event)) {
      any = true;
    }
  }
  if (any) count();
}

void ShardOperations::told(const AwaitOperationWork& asked) {
  for (const OperationSharers& known : asked.sharers) {
    const auto part = parts_.find(known.id);
    // Ended parts stay ended; only their number falls.
    if (part != parts_.end()) {
      part->second.sharers = std::min(sharers_of(known.id), std::max(known.sharers, 1U));
    }
  }
}

std::uint32_t ShardOperations::sharers_of(const JobId& operation) const {
  const auto part = parts_.find(operation);
  return part == parts_.end() ? options_.shards : part->second.sharers.value_or(options_.shards);
}

void ShardOperations::stamp(core::Command& command) const {
  if (auto* const step = std::get_if<core::StepOperation>(&command)) {
    step->sharers = sharers_of(step->id);
  }
}

bool ShardOperations::retries(const JobId& operation) const {
  const auto part = machine_.operations().find(operation);
  return part != machine_.operations().end() &&
         part->second.spec.action == core::OperationAction::kRetry;
}

const core::OperationPart* ShardOperations::running(const JobId& operation) const {
  const auto part = machine_.operations().find(operation);
  if (part == machine_.operations().end()) return nullptr;
  return part->second.state == core::OperationState::kRunning ? &part->second : nullptr;
}

bool ShardOperations::await_tables(Seq projected) const {
  return std::ranges::any_of(parts_, [&](const auto& entry) {
    return entry.second.begun > projected && running(entry.first) != nullptr;
  });
}

std::optional<OperationWork> ShardOperations::next_work(Time now, Seq projected) {
  auto at = parts_.upper_bound(last_);
  for (std::size_t looked_at = 0; looked_at < parts_.size(); ++looked_at) {
    if (at == parts_.end()) at = parts_.begin();
    const auto& [id, known] = *at++;
    const core::OperationPart* const part = running(id);
    if (part == nullptr || known.begun > projected) continue;
    const std::uint32_t sharers = sharers_of(id);
    const std::uint64_t wanted = core::stride(*part, sharers, core::kMaxItemsPerCommand);
    const std::uint64_t allowed = core::allowance(*part, sharers, now, core::kMaxItemsPerCommand);
    if (allowed < wanted) continue;
    last_ = id;
    return OperationWork{*part, static_cast<std::uint32_t>(allowed)};
  }
  return std::nullopt;
}

std::optional<Time> ShardOperations::next_work_at(Time now, Seq projected) const {
  std::optional<Time> next;
  for (const auto& [id, known] : parts_) {
    const core::OperationPart* const part = running(id);
    if (part == nullptr || known.begun > projected) continue;
    const std::uint32_t sharers = sharers_of(id);
    const Time at = std::max(
        now,
        core::allowed_at(*part, sharers, core::stride(*part, sharers, core::kMaxItemsPerCommand)));
    next = std::min(next.value_or(at), at);
  }
  return next;
}

}  // namespace millrace::engine
