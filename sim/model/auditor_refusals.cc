// Requests that are refused as a whole, and whether they may be refused.
#include <algorithm>

#include "base/tomorrow.h"
#include "sim/model/auditor.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

// See base/tomorrow.h: such jobs need a level that older nodes don't have.
bool any_of_tomorrow(const std::vector<core::JobSpec>& jobs) {
  return std::ranges::any_of(
      jobs, [](const core::JobSpec& spec) { return is_of_tomorrow(spec.type.view()); });
}
bool any_of_tomorrow(const core::Ack& acks) {
  return std::ranges::any_of(
      acks.items, [](const core::AckItem& item) { return any_of_tomorrow(item.enqueue); });
}

}  // namespace

// A command whose events can't be expressed in a store's older format.
bool Auditor::is_too_new(const engine::Request& request) {
  if (const auto* poll = std::get_if<engine::Poll>(&request)) return any_of_tomorrow(poll->acks);
  const auto* command = std::get_if<core::Command>(&request);
  if (command == nullptr) return false;
  if (const auto* enqueue = std::get_if<core::Enqueue>(command)) {
    return any_of_tomorrow(enqueue->jobs);
  }
  const auto* acks = std::get_if<core::Ack>(command);
  return acks != nullptr && any_of_tomorrow(*acks);
}

bool Auditor::was_refused_whole(const Step& step, Ticket ticket, const engine::Request& request) {
  const auto found = answers_.find(ticket);
  const auto* why =
      found == answers_.end() ? nullptr : std::get_if<engine::Unavailable>(&found->second);
  const bool finishes = [&] {
    if (std::holds_alternative<engine::Poll>(request)) return true;
    const auto* command = std::get_if<core::Command>(&request);
    return command == nullptr ? !std::holds_alternative<engine::WaitingClaim>(request)
                              : std::holds_alternative<core::Ack>(*command) ||
                                    std::holds_alternative<core::Heartbeat>(*command) ||
                                    std::holds_alternative<core::AppendLogs>(*command) ||
                                    std::holds_alternative<core::GetJob>(*command) ||
                                    std::holds_alternative<core::GetQueues>(*command) ||
                                    std::holds_alternative<core::GetSchedules>(*command) ||
                                    std::holds_alternative<core::GetCatalog>(*command) ||
                                    std::holds_alternative<core::GetOperations>(*command) ||
                                    std::holds_alternative<core::GetLimits>(*command) ||
                                    std::holds_alternative<core::GetShares>(*command) ||
                                    std::holds_alternative<core::GetWhy>(*command) ||
                                    std::holds_alternative<core::ReportShares>(*command) ||
                                    std::holds_alternative<core::GiveShares>(*command);
  }();
  // A hint is kept only while its event could still happen.
  const bool hint = std::holds_alternative<engine::AwaitWork>(request);
  const bool events = std::holds_alternative<engine::AwaitEvents>(request) ||
                      std::holds_alternative<engine::AwaitJobQuestions>(request) ||
                      std::holds_alternative<engine::AwaitOperationWork>(request);
  if ((hint || events) && why != nullptr && waits_are_over_) {
    demand(*why == engine::Unavailable::kNoLeader || *why == engine::Unavailable::kDraining, "R4",
           "wait {} ended for another reason", static_cast<std::uint64_t>(ticket));
    answers_.erase(ticket);
    return true;
  }
  // A wait may end in the same round in which its step becomes durable.
  if (std::holds_alternative<engine::WatchJob>(request) && why != nullptr && may_refuse_ &&
      (*why == *may_refuse_ || *why == engine::Unavailable::kUnknown)) {
    answers_.erase(ticket);
    return true;
  }
  const bool kept = why == nullptr && answers_known_ && !given_up_.contains(ticket);
  demand(!hint || !kept || step.closing == Closing::kOpen, "LV2",
         "hint {} was kept where nobody waits any more", static_cast<std::uint64_t>(ticket));
  const bool for_draining = step.closing == Closing::kDraining && !finishes;
  if (for_draining) {
    demand(!answers_known_ || (why != nullptr && *why == engine::Unavailable::kDraining), "LV7",
           "a draining server took new work");
    marks_.hit(Mark::kRefusedDraining);
  }
  if (!for_draining && why != nullptr && *why == engine::Unavailable::kUpgrading) {
    demand(is_too_new(request), "R4", "request {} was refused as too new for the store",
           static_cast<std::uint64_t>(ticket));
    marks_.hit(Mark::kRefusedUpgrading);
    answers_.erase(ticket);
    return true;
  }
  const bool for_reads = !for_draining && why != nullptr;
  if (for_reads) {
    demand(step.reads_failed && *why == engine::Unavailable::kStorage, "R4",
           "request {} was refused as a whole for no reason", static_cast<std::uint64_t>(ticket));
    marks_.hit(Mark::kReadFailed);
  }
  if (!for_draining && !for_reads) return false;
  answers_.erase(ticket);
  return true;
}

}  // namespace millrace::sim
