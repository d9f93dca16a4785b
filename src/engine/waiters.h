// Claims that found nothing and wait: first come, first served, queue by queue; a queue need not
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
#include "engine/parked.h"
#include "engine/request.h"

namespace millrace::engine {

struct Waiter {
  // What is wanted: jobs, or only to be told that there may be some (AwaitWork), or an order.
  enum class Wants : std::uint8_t { kJobs, kHint, kHintOrOrder };
  Wants wants{};
  // Of no queue: it can't be served (its worker is quiet) and waits for its deadline.
  core::Claim claim;
  // The rest of the answer, if the claim came in a poll.
  std::optional<PollReply> poll;
  // Two claims with equal ones are alike in what they can be given from a queue.
  std::string types_key;

  bool takes_orders() const { return poll.has_value() || wants == Wants::kHintOrOrder; }
};

// What its asker is told instead of `why`, which says that nothing was done: what the poll brought
// was.
inline Unavailable told_of(const Waiter& waiter, Unavailable why) {
  const bool brought =
      waiter.poll && !(waiter.poll->acks.items.empty() && waiter.poll->heartbeats.items.empty() &&
                       waiter.poll->logs.items.empty());
  return brought ? Unavailable::kUnknown : why;
}

class Waiters {
 public:
  using Entry = Parked<Waiter>::Entry;

  ParkingNumber park(Asker asker, Time deadline, Waiter::Wants wants, core::Claim claim,
                     std::optional<PollReply> poll = std::nullopt);

  // The longest waiting one of a queue that came after `after` (0: any).
  std::optional<ParkingNumber> next_of(std::string_view queue, ParkingNumber after) const;
  const Entry& at(ParkingNumber number) { return *parked_.find(number); }
  Entry take(ParkingNumber number);

  // The asker went away. False: it does not wait here.
  bool cancel(const Asker& asker);
  // By arrival.
  std::vector<ParkingNumber> of_worker(std::string_view worker) const;
  std::vector<ParkingNumber> expired(Time now) const { return parked_.expired(now); }
  std::vector<ParkingNumber> all() const { return parked_.all(); }
  // From now on it is only told when its time is up.
  void starve(ParkingNumber number);

  std::optional<Time> next_deadline() const { return parked_.next_deadline(); }
  std::size_t size() const { return parked_.size(); }

 private:
  using Numbers = absl::btree_set<ParkingNumber>;
  using Index = StringMap<Numbers>;

  static void forget(Index& index, std::string_view name, ParkingNumber number);

  Parked<Waiter> parked_;
  Index by_queue_;
  Index by_worker_;
};

}  // namespace millrace::engine
