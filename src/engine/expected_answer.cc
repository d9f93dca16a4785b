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

struct Shape {
  std::size_t reply = 0;
  std::size_t items = 0;
};

Shape items(std::size_t count) { return {kReply<core::ItemsReply>, count}; }

struct ShapeOf {
  Shape operator()(const core::Enqueue& c) const {
    return {kReply<core::EnqueueReply>, c.jobs.size()};
  }
  Shape operator()(const core::Claim&) const { return {kReply<core::ClaimReply>}; }
  Shape operator()(const core::Heartbeat& c) const { return items(c.items.size()); }
  Shape operator()(const core::Ack& c) const { return items(c.items.size()); }
  Shape operator()(const core::AppendLogs& c) const { return items(c.items.size()); }
  Shape operator()(const core::Cancel& c) const { return items(c.ids.size()); }
  Shape operator()(const core::Retry& c) const { return items(c.ids.size()); }
  Shape operator()(const core::Edit& c) const { return items(c.ids.size()); }
  Shape operator()(const core::Delete& c) const { return items(c.ids.size()); }
  Shape operator()(const core::SetQueue&) const { return {kReply<core::QueueReply>}; }
  Shape operator()(const core::PauseQueue&) const { return {kReply<core::QueueReply>}; }
  Shape operator()(const core::ResumeQueue&) const { return {kReply<core::QueueReply>}; }
  Shape operator()(const core::NotePurge&) const { return {kReply<core::QueueReply>}; }
  Shape operator()(const core::GetJob&) const { return {kReply<core::JobReply>}; }
  Shape operator()(const core::GetQueues&) const { return {kReply<core::QueueReply>}; }
};

}  // namespace

ExpectedAnswer::ExpectedAnswer(const Request& request) {
  if (const auto* command = std::get_if<core::Command>(&request)) {
    kind_ = kAnswer<core::Reply>;
    const Shape shape = std::visit(ShapeOf(), *command);
    reply_ = shape.reply;
    items_[0] = shape.items;
  } else if (std::holds_alternative<WaitingClaim>(request)) {
    kind_ = kAnswer<core::Reply>;
    reply_ = kReply<core::ClaimReply>;
  } else if (std::holds_alternative<WatchJob>(request)) {
    kind_ = kAnswer<core::Reply>;
    reply_ = kReply<core::JobReply>;
  } else if (const auto* poll = std::get_if<Poll>(&request)) {
    kind_ = kAnswer<PollReply>;
    items_ = {poll->acks.items.size(), poll->heartbeats.items.size(), poll->logs.items.size()};
  } else if (std::holds_alternative<ListWorkers>(request) ||
             std::holds_alternative<CommandWorker>(request)) {
    kind_ = kAnswer<WorkersReply>;
  } else {
    kind_ = kAnswer<std::monostate>;
  }
}

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
