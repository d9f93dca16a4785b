#include "engine/expected_answer.h"

#include <type_traits>
#include <variant>

namespace millrace::engine {
namespace {

template <typename Kind, typename... Kinds>
constexpr std::size_t index_in(const std::variant<Kinds...>*) {
  std::size_t index = 0;
  (void)((std::is_same_v<Kind, Kinds> || (++index, false)) || ...);
  return index;
}
template <typename Kind>
constexpr std::size_t kAnswer = index_in<Kind>(static_cast<const Answer*>(nullptr));
template <typename Kind>
constexpr std::size_t kReply = index_in<Kind>(static_cast<const core::Reply*>(nullptr));

}  // namespace

// Of each request, so that none is forgotten.
struct ExpectedAnswer::Of {
  template <typename Reply>
  static ExpectedAnswer a(std::size_t items = 0) {
    return {kAnswer<core::Reply>, kReply<Reply>, {items}};
  }
  template <typename Kind>
  static ExpectedAnswer plain() {
    return {kAnswer<Kind>, 0, {}};
  }
  static ExpectedAnswer items(std::size_t count) { return a<core::ItemsReply>(count); }

  ExpectedAnswer operator()(const core::Enqueue& c) const {
    return a<core::EnqueueReply>(c.jobs.size());
  }
  ExpectedAnswer operator()(const core::Claim&) const { return a<core::ClaimReply>(); }
  ExpectedAnswer operator()(const core::Heartbeat& c) const { return items(c.items.size()); }
  ExpectedAnswer operator()(const core::Ack& c) const { return items(c.items.size()); }
  ExpectedAnswer operator()(const core::AppendLogs& c) const { return items(c.items.size()); }
  ExpectedAnswer operator()(const core::Cancel& c) const { return items(c.ids.size()); }
  ExpectedAnswer operator()(const core::Retry& c) const { return items(c.ids.size()); }
  ExpectedAnswer operator()(const core::Edit& c) const { return items(c.ids.size()); }
  ExpectedAnswer operator()(const core::Delete& c) const { return items(c.ids.size()); }
  ExpectedAnswer operator()(const core::SetQueue&) const { return a<core::QueueReply>(); }
  ExpectedAnswer operator()(const core::PauseQueue&) const { return a<core::QueueReply>(); }
  ExpectedAnswer operator()(const core::ResumeQueue&) const { return a<core::QueueReply>(); }
  ExpectedAnswer operator()(const core::DeleteQueue&) const { return a<core::QueueReply>(); }
  ExpectedAnswer operator()(const core::NotePurge&) const { return a<core::QueueReply>(); }
  ExpectedAnswer operator()(const core::GetJob&) const { return a<core::JobReply>(); }
  ExpectedAnswer operator()(const core::GetQueues&) const { return a<core::QueueReply>(); }

  ExpectedAnswer operator()(const core::Command& c) const { return std::visit(*this, c); }
  ExpectedAnswer operator()(const WaitingClaim&) const { return a<core::ClaimReply>(); }
  ExpectedAnswer operator()(const Poll& poll) const {
    return {kAnswer<PollReply>,
            0,
            {poll.acks.items.size(), poll.heartbeats.items.size(), poll.logs.items.size()}};
  }
  ExpectedAnswer operator()(const WatchJob&) const { return a<core::JobReply>(); }
  ExpectedAnswer operator()(const FindJob&) const { return a<core::JobReply>(); }
  ExpectedAnswer operator()(const AwaitProjection&) const { return plain<std::monostate>(); }
  ExpectedAnswer operator()(const AwaitEvents&) const { return plain<std::monostate>(); }
  ExpectedAnswer operator()(const AwaitWork&) const { return plain<std::monostate>(); }
  ExpectedAnswer operator()(const ListWorkers&) const { return plain<WorkersReply>(); }
  ExpectedAnswer operator()(const CommandWorker&) const { return plain<WorkersReply>(); }
};

ExpectedAnswer::ExpectedAnswer(const Request& request)
    : ExpectedAnswer(std::visit(Of(), request)) {}

bool ExpectedAnswer::fits(const Answer& answer) const {
  if (std::holds_alternative<Unavailable>(answer) || std::holds_alternative<Denied>(answer)) {
    return true;
  }
  if (answer.index() != kind_) return false;
  if (const auto* poll = std::get_if<PollReply>(&answer)) {
    return poll->acks.items.size() == items_[0] && poll->heartbeats.items.size() == items_[1] &&
           poll->logs.items.size() == items_[2];
  }
  const auto* reply = std::get_if<core::Reply>(&answer);
  if (reply == nullptr) return true;
  if (reply->index() != reply_) return false;
  if (const auto* enqueued = std::get_if<core::EnqueueReply>(reply)) {
    return enqueued->items.size() == items_[0];
  }
  const auto* items = std::get_if<core::ItemsReply>(reply);
  return items == nullptr || items->items.size() == items_[0];
}

}  // namespace millrace::engine
