// The expected answers of commands on queues.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <iterator>

#include "sim/model/auditor.h"
#include "sim/model/difference.h"
#include "sim/violation.h"

namespace millrace::sim {

using core::Rejection;

// Near a limit a new queue may be refused, as the answer or else the batch tells.
bool Auditor::admits_queue(Ticket ticket, const SharedBytes& queue, const Choices& choices) const {
  if (limits_ != Limits::kTight) return true;
  const auto found = answers_.find(ticket);
  const auto* reply = found == answers_.end() ? nullptr : std::get_if<core::Reply>(&found->second);
  const auto* told = reply == nullptr ? nullptr : std::get_if<core::QueueReply>(reply);
  return told != nullptr ? told->refusal.why != Rejection::kOverloaded
                         : model_.is_made(queue.view(), choices);
}

void Auditor::expect_queues(Ticket ticket, Rejection why, const SharedBytes& queue,
                            std::string_view after, std::size_t limit,
                            const core::GetQueues* asked) {
  const auto* reply = reply_of<core::QueueReply>(ticket, "a queue's command");
  if (reply == nullptr) return;
  demand(reply->refusal.why == why, "R4", "queue {}: {}, should be {}", queue.view(),
         rejection_name(reply->refusal.why), rejection_name(why));
  if (why != Rejection::kNone) return;
  auto next = model_.queues().upper_bound(after);
  const auto behind = std::distance(next, model_.queues().end());
  std::size_t expected = queue.empty() ? static_cast<std::size_t>(behind) : 1;
  if (limit > 0) expected = std::min(expected, limit);
  demand(reply->queues.size() == expected, "S4", "{} queues are listed, there are {}",
         reply->queues.size(), expected);
  for (const core::Queue& is : reply->queues) {
    if (!queue.empty()) break;
    demand(is.name.view() == next->first, "S4", "queue {} is listed where {} comes", is.name.view(),
           next->first);
    ++next;
  }
  for (const core::Queue& is : reply->queues) {
    const ModelQueue* should = model_.queue(is.name.view());
    demand(should != nullptr, "H2", "queue {} was never made", is.name.view());
    demand(is.paused == should->paused, "R5", "queue {} is {}paused", is.name.view(),
           should->paused ? "not " : "");
    demand(is.settings == should->settings && is.version == should->version, "S2",
           "queue {}: other settings, or version {} for {}", is.name.view(), is.version,
           should->version);
    demand(
        is.counts == should->counts && is.created == should->created && is.pruned == should->pruned,
        "S4", "queue {}: {} created, {} pruned, {} of each state; should be {}, {}, {}",
        is.name.view(), is.created, is.pruned, fmt::join(is.counts, " "), should->created,
        should->pruned, fmt::join(should->counts, " "));
    std::uint64_t sum = is.pruned;
    for (const std::uint64_t count : is.counts) sum += count;
    demand(sum == is.created, "S4", "queue {}: {} were created, {} are accounted for",
           is.name.view(), is.created, sum);
  }
  if (asked != nullptr && asked->blocked_by) check_blocked_by(*asked, *reply);
}

}  // namespace millrace::sim
