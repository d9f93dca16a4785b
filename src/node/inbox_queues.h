// The order in which rows that submit jobs or change schedules are offered to their shard. The rows
// of one queue are offered in their order, even if some are refused; queues are independent of each
// other. The rows of one schedule form a queue of their own. Many rows may wait, so this keeps only
// their keys.
//
// A queue of jobs flows until one of its rows cannot be taken for now (the queue is full, for
// example). Then no more of its rows are offered until all that are out have been answered. The
// shard takes none of these behind the refused one, since they belong to one round
// (engine/shard/inbox_order.h). After a pause one row is offered, then twice as many each time all
// have been taken.
//
// One row of a schedule is out at a time, until it is gone from the table. If a row changes
// nothing, no append deletes it. If later rows were taken and the leader failed before the row was
// deleted, the next leader would repeat it, and undo the change of a later row.
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "node/instant.h"
#include "store/inbox_key.h"

namespace millrace::node {

// One thread. A row waits, or is out: offered, with its outcome unknown.
class InboxQueues {
 public:
  // The pause before a queue that has refused a row is offered one again.
  static constexpr std::chrono::milliseconds kPause{100};
  // The most rows that are out at once for a queue that has refused one.
  static constexpr std::size_t kMostOfQueue = 512;

  std::size_t size() const { return rows_.size(); }
  bool holds(const store::InboxKey& key) const { return rows_.contains(key); }

  // Adds a row that was read. True: it may be offered now, and is out. False: it waits behind
  // others.
  enum class Flow : std::uint8_t { kFree, kOneByOne };
  bool add(const std::string& queue, const store::InboxKey& key, Flow flow = Flow::kFree);
  // The round of a row that is out; see FromInbox.
  std::uint64_t round(const store::InboxKey& key) const;
  // The rows to offer now, at most `most`, which are out from now on: in order within a queue, and
  // from the queues in turn.
  std::vector<store::InboxKey> due(std::size_t most, Instant now);

  // The outcome of a row that was out:
  // refused(): it can't be taken for now.
  void refused(const store::InboxKey& key, Instant now);
  // The row and those behind it in its queue were not offered.
  void put_back(const store::InboxKey& key);
  // The row is finished. Ignores rows that are not here.
  void settle(const store::InboxKey& key);

 private:
  struct Queue {
    std::set<store::InboxKey> waiting;
    std::size_t out = 0;
    std::uint64_t round = 0;
    Flow flow{};
    bool refuses = false;   // in this round
    std::size_t burst = 1;  // the number of rows to offer next
    Instant not_before{};
  };
  using Queues = std::map<std::string, Queue>;  // none is empty

  Queues queues_;
  std::map<store::InboxKey, Queues::iterator> rows_;  // waiting and out
  std::uint64_t rounds_ = 0;
  std::string last_;  // the queue that had its turn last
};

}  // namespace millrace::node
