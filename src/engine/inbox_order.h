// The order of the jobs that rows of a shard's inbox bring. A row that can't be taken at the moment
// is offered again; those behind it that were offered before that was known must not be taken
// before it.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

#include "base/mutant.h"
#include "core/reply.h"
#include "store/inbox_key.h"

namespace millrace::engine {

struct FromInbox {
  store::InboxKey row;
  // Of the rows of one queue and round none is taken after one that was put off. Who brings them
  // begins another round once all of this one are answered, with a higher number.
  std::uint64_t round = 0;
};

// Whether the job of such a row was refused, and may be taken later.
inline bool is_put_off(const core::EnqueueReply& reply) {
  const core::EnqueueReply::Item& item = reply.items.front();
  return item.fate == core::Fate::kRefused &&
         (item.refusal.why == core::Rejection::kQueueFull ||
          item.refusal.why == core::Rejection::kTooManyQueues ||
          item.refusal.why == core::Rejection::kOverloaded);
}

class InboxOrder {
 public:
  void put_off(std::string_view queue, std::uint64_t round) {
    put_off_[std::string(queue)] = round;
  }
  // Whether one of its round was put off before it.
  bool is_put_off(std::string_view queue, std::uint64_t round) {
    const auto last = put_off_.find(queue);
    if (last == put_off_.end() || mutated(Mutant::kInboxOrderIgnored)) return false;
    if (last->second == round) return true;
    put_off_.erase(last);
    return false;
  }

 private:
  // By queue: the last round that was.
  std::map<std::string, std::uint64_t, std::less<>> put_off_;
};

}  // namespace millrace::engine
