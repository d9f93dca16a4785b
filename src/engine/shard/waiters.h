// Claims that found nothing and wait: first come, first served, for each queue. A queue need not
// exist yet.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_set.h"
#include "core/command.h"
#include "core/string_map.h"
#include "engine/request.h"
#include "engine/shard/wait_list.h"

namespace millrace::engine {

struct Waiter {
  // The waiter wants jobs, or only a hint that there may be some (AwaitWork), or a hint or a
  // command for its worker.
  enum class Wants : std::uint8_t { kJobs, kHint, kHintOrCommand };
  Wants wants{};
  // Has no queues if it can't be served (its worker is quiet) and only waits for its deadline.
  core::Claim claim;
  // The rest of the answer, if the claim came in a poll.
  std::optional<PollReply> poll;
  // Two claims with equal keys can be given the same jobs of a queue.
  std::string types_key;

  bool takes_commands() const { return poll.has_value() || wants == Wants::kHintOrCommand; }
};

// The answer for `why`. If the poll had acks, heartbeats or logs, these were done, so the answer
// must not say that nothing was done.
inline Unavailable told_of(const Waiter& waiter, Unavailable why) {
  const bool brought =
      waiter.poll && !(waiter.poll->acks.items.empty() && waiter.poll->heartbeats.items.empty() &&
                       waiter.poll->logs.items.empty());
  return brought ? Unavailable::kUnknown : why;
}

class Waiters {
 public:
  using Entry = WaitList<Waiter>::Entry;

  WaitNumber add(ReplyAddress reply_to, Time deadline, Waiter::Wants wants, core::Claim claim,
                 std::optional<PollReply> poll = std::nullopt);

  // The waiter of the queue that has waited longest of those after `after` (0: of all).
  std::optional<WaitNumber> next_of(std::string_view queue, WaitNumber after) const;
  const Entry& at(WaitNumber number) { return *waits_.find(number); }
  Entry take(WaitNumber number);

  // The caller has gone. False: it does not wait here.
  bool cancel(const ReplyAddress& reply_to);
  // In order of arrival.
  std::vector<WaitNumber> of_worker(std::string_view worker) const;
  std::vector<WaitNumber> expired(Time now) const { return waits_.expired(now); }
  std::vector<WaitNumber> all() const { return waits_.all(); }
  // From now on it is only answered at its deadline.
  void stop_offering(WaitNumber number);

  std::optional<Time> next_deadline() const { return waits_.next_deadline(); }
  std::size_t size() const { return waits_.size(); }

 private:
  using Numbers = absl::btree_set<WaitNumber>;
  using Index = StringMap<Numbers>;

  static void forget(Index& index, std::string_view name, WaitNumber number);

  WaitList<Waiter> waits_;
  Index by_queue_;
  Index by_worker_;
};

}  // namespace millrace::engine
