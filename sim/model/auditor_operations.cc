// The expected answers of commands on operations.
#include "sim/model/auditor.h"
#include "sim/violation.h"

namespace millrace::sim {

// False: not a command on operations.
bool Auditor::follow_operation_command(Ticket ticket, const core::Command& command,
                                       const Choices& choices) {
  using core::Rejection;
  const auto heard = [&] {
    return reply_of<core::OperationReply>(ticket, "a command on an operation");
  };
  const auto judge = [&](const core::OperationReply* reply, Rejection should) {
    if (reply == nullptr) return;
    demand(reply->refusal.why == should, "X4",
           "a command on an operation: rejection {}, should be {}",
           static_cast<int>(reply->refusal.why), static_cast<int>(should));
    for (const core::OperationPart& part : reply->parts) operations_.check(part);
  };
  const auto expect_parts = [&](Rejection should) { judge(heard(), should); };
  if (const auto* start = std::get_if<core::StartOperation>(&command)) {
    expect_parts(operations_.start(*start));
  } else if (const auto* set = std::get_if<core::SetOperation>(&command)) {
    expect_parts(operations_.set(*set));
  } else if (const auto* step = std::get_if<core::StepOperation>(&command)) {
    // Near a limit, or while a transaction finishes the job, only the batch shows how far it went.
    const bool always = limits_ == Limits::kWide && !place_.fences;
    const auto part = fold_->operations().find(step->id);
    const std::uint64_t below = part == fold_->operations().end() ? 0 : part->second.below;
    // The rate is divided by the number of shards that this one was told. The model knows only a
    // single shard's rate, which is the highest.
    const core::OperationReply* const reply = heard();
    if (place_.shards > 1 && !step->items.empty() && below == step->below &&
        operations_.has_rate(step->id) &&
        (reply == nullptr || reply->refusal.why == Rejection::kVersionConflict)) {
      return true;
    }
    judge(reply, operations_.step(*step, [&](const core::StepOperation::Item& item) {
      const bool admitted = always || item.ord >= below;
      if (admitted && choices.retried.contains(item.id)) ++retries_followed_[item.id];
      return admitted;
    }));
  } else if (const auto* forget = std::get_if<core::ForgetOperations>(&command)) {
    operations_.forget(*forget);
    expect_parts(Rejection::kNone);
  } else if (const auto* get = std::get_if<core::GetOperations>(&command)) {
    const bool one = get->id != core::kNoJob;
    expect_parts(one && !operations_.knows(get->id) ? Rejection::kNotFound : Rejection::kNone);
  } else {
    return false;
  }
  return true;
}

}  // namespace millrace::sim
