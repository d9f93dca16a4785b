#include "engine/shard/expected_answer.h"

#include <type_traits>
#include <variant>

#include "engine/kinds.h"

namespace millrace::engine {
namespace {

template <typename Made, typename... All>
constexpr std::size_t index_in(const std::variant<All...>*) {
  std::size_t index = 0;
  (void)((std::is_same_v<Made, All> || (++index, false)) || ...);
  return index;
}
template <typename Made>
constexpr std::size_t kAnswer = index_in<Made>(static_cast<const Answer*>(nullptr));
template <typename Made>
constexpr std::size_t kReply = index_in<Made>(static_cast<const core::Reply*>(nullptr));
// Both variants have the monostate; an answer without content is the outer one's.
template <typename Made>
constexpr bool kIsReply =
    kReply<Made> < std::variant_size_v<core::Reply> && !std::is_same_v<Made, std::monostate>;

template <typename T>
std::size_t items_in(const T& asked) {
  if constexpr (HasItems<T>) {
    return items_of(asked).size();
  } else {
    return 0;
  }
}

}  // namespace

// For each request: the kind that its row states, and the number of its items.
struct ExpectedAnswer::Of {
  template <typename T>
  ExpectedAnswer operator()(const T& asked) const {
    using Made = typename Kind<T>::Answer;
    if constexpr (std::is_same_v<T, Poll>) {
      return {kAnswer<PollReply>,
              0,
              {asked.acks.items.size(), asked.heartbeats.items.size(), asked.logs.items.size()}};
    } else if constexpr (kIsReply<Made>) {
      return {kAnswer<core::Reply>, kReply<Made>, {items_in(asked)}};
    } else {
      return {kAnswer<Made>, 0, {}};
    }
  }
};

ExpectedAnswer::ExpectedAnswer(const Request& request)
    : ExpectedAnswer(visit_kind(Of(), request)) {}

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
