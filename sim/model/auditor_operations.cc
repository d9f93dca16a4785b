// What commands on operations should have been answered.
#include "sim/model/auditor.h"
#include "sim/violation.h"

namespace millrace::sim {

// False: it is a command of another kind.
bool Auditor::follow_operation_command(Ticket ticket, const core::Command& command,
                                       const Choices& choices) {
  using core::Rejection;
  const auto expect_parts = [&](Rejection should) {
    const auto* const reply = reply_of<core::OperationReply>(ticket, "a command on an operation");
    if (reply == nullptr) return;
    demand(reply->refusal.why == should, "X4",
           "a command on an operation: rejection {}, should be {}",
           static_cast<int>(reply->refusal.why), static_cast<int>(should));
    for (const core::OperationPart& part : reply->parts) operations_.check(part);
  };
  if (const auto* start = std::get_if<core::StartOperation>(&command)) {
    expect_parts(operations_.start(*start));
  } else if (const auto* set = std::get_if<core::SetOperation>(&command)) {
    expect_parts(operations_.set(*set));
  } else if (const auto* step = std::get_if<core::StepOperation>(&command)) {
    // Near a limit, or while a transaction finishes the job, only the batch tells.
    const bool always = limits_ == Limits::kWide && !place_.fences;
    expect_parts(operations_.step(*step, [&](const JobId& id) {
      if (always) return true;
      const auto retried = choices.retried.find(id);
      const bool was = retried != choices.retried.end() && retries_followed_[id] < retried->second;
      if (was) ++retries_followed_[id];
      return was;
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
