// The order of the jobs in a shard's inbox rows. A row that cannot be taken now is offered again
// later. Rows after it may already have been offered; they must not be taken before it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <variant>

#include "base/mutant.h"
#include "core/reply.h"
#include "store/inbox_key.h"

namespace millrace::engine {

struct FromInbox {
  store::InboxKey row;
  // Once a row of a queue and round is put off, no later row of that queue and round is taken. When
  // all rows of a round are answered, the caller begins the next round, with a higher number.
  std::uint64_t round = 0;
};

// Whether a row's job was refused for now, and may be taken later.
inline bool is_put_off(const core::EnqueueReply& reply) {
  const core::EnqueueReply::Item& item = reply.items.front();
  return item.fate == core::Fate::kRefused &&
         (item.refusal.why == core::Rejection::kQueueFull ||
          item.refusal.why == core::Rejection::kKeyFull ||
          item.refusal.why == core::Rejection::kTooManyQueues ||
          item.refusal.why == core::Rejection::kOverloaded);
}

// The same of a row's workflow.
inline bool is_put_off(const core::WorkflowReply& reply) {
  return reply.refusal.why == core::Rejection::kTooManyQueues ||
         reply.refusal.why == core::Rejection::kOverloaded;
}
inline bool is_put_off(const core::Reply& reply) {
  if (const auto* const workflow = std::get_if<core::WorkflowReply>(&reply)) {
    return is_put_off(*workflow);
  }
  const auto* const enqueued = std::get_if<core::EnqueueReply>(&reply);
  return enqueued != nullptr && is_put_off(*enqueued);
}

class InboxOrder {
 public:
  void put_off(std::string_view queue, std::uint64_t round) {
    put_off_[std::string(queue)] = round;
  }
  // Whether an earlier row of this queue and round was put off.
  bool is_put_off(std::string_view queue, std::uint64_t round) {
    const auto last = put_off_.find(queue);
    if (last == put_off_.end() || mutated(Mutant::kInboxOrderIgnored)) return false;
    if (last->second == round) return true;
    put_off_.erase(last);
    return false;
  }

 private:
  // By queue: the last round in which a row was put off.
  std::map<std::string, std::uint64_t, std::less<>> put_off_;
};

}  // namespace millrace::engine
