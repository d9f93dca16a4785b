// Jobs submitted by inbox rows: after a row of a queue and round was put off, no later one of them
// is accepted.
#include "sim/model/auditor.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

std::string queue_of(const engine::Request& request) {
  return std::string(
      std::get<core::Enqueue>(std::get<core::Command>(request)).jobs[0].queue.view());
}

}  // namespace

void Auditor::note_put_off(Ticket ticket, const engine::Request& request) {
  const auto round = rounds_.find(ticket);
  if (round == rounds_.end()) return;
  const auto [first, is_first] = put_off_.try_emplace({queue_of(request), round->second}, ticket);
  if (!is_first) first->second = std::min(first->second, ticket);
  marks_.hit_if(is_first, Mark::kSubmissionPutOff);
}

// In a dead life it is unknown which rows were put off; its batches show which were not.
bool Auditor::follows_one_put_off(Ticket ticket, const engine::Request& request) {
  const auto round = rounds_.find(ticket);
  if (round == rounds_.end()) return false;
  const auto first = put_off_.find({queue_of(request), round->second});
  if (first == put_off_.end() || first->second >= ticket) return false;
  const auto answer = answers_.find(ticket);
  if (answer == answers_.end()) return false;
  const auto* const why = std::get_if<engine::Unavailable>(&answer->second);
  demand(why != nullptr, "X7", "request {} was decided, and {} of its queue was put off before it",
         static_cast<std::uint64_t>(ticket), static_cast<std::uint64_t>(first->second));
  if (*why != engine::Unavailable::kOverloaded) return false;
  answers_.erase(answer);
  marks_.hit(Mark::kSubmissionBehind);
  return true;
}

}  // namespace millrace::sim
