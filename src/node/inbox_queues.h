// In which order the rows of an inbox that submit jobs are offered to their shard: a queue's in
// theirs, whatever is refused in between, and the queues independently. Of rows that wait there may
// be many, so their places only are kept here.
//
// A queue flows until a row of it can't be taken at the moment (the queue is full, say). Then no
// more of it is offered until all that are out have been answered; of those the shard takes none
// behind the refused one (engine/inbox_order.h: they are of one round). After a pause one row is
// offered, then twice as many whenever all have been taken.
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

// One thread's. A row waits, or is out until it is known what has become of it.
class InboxQueues {
 public:
  // Before a queue that has refused a row is offered one again.
  static constexpr std::chrono::milliseconds kPause{100};
  // Rows of a queue that has refused some which are out at once, at most.
  static constexpr std::size_t kMostOfQueue = 512;

  std::size_t size() const { return rows_.size(); }
  bool holds(const store::InboxKey& key) const { return rows_.contains(key); }

  // It was read. True: it may be offered now, and is out. False: it waits, behind others.
  bool add(const std::string& queue, const store::InboxKey& key);
  // Out, and of which round; see FromInbox.
  std::uint64_t round(const store::InboxKey& key) const;
  // What to offer now, at most `most`: a queue's in their order, and the queues in turn. They are
  // out.
  std::vector<store::InboxKey> due(std::size_t most, Instant now);

  // What became of one that was out.
  // It can't be taken at the moment.
  void refused(const store::InboxKey& key, Instant now);
  // It was not offered, nor any of its queue behind it.
  void put_back(const store::InboxKey& key);
  // Done with. Nothing happens for a row that is not here.
  void settle(const store::InboxKey& key);

 private:
  struct Queue {
    std::set<store::InboxKey> waiting;
    std::size_t out = 0;
    std::uint64_t round = 0;
    bool refuses = false;   // in this round
    std::size_t burst = 1;  // of the next
    Instant not_before{};
  };
  using Queues = std::map<std::string, Queue>;  // none is empty

  Queues queues_;
  std::map<store::InboxKey, Queues::iterator> rows_;  // waiting and out
  std::uint64_t rounds_ = 0;
  std::string last_;  // whose turn it was
};

}  // namespace millrace::node
