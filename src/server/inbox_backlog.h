// Rows of an inbox whose queues are full: their places only, since there may be many, with the
// order in which they are offered again. So a full queue keeps no other one waiting.
#pragma once

#include <chrono>
#include <cstddef>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "store/inbox_key.h"

namespace millrace::server {

// One thread's. A row waits until it is due, and is out until it is known what has become of it.
class InboxBacklog {
 public:
  using Clock = std::chrono::steady_clock;
  // Before a queue that has refused a row is offered one again.
  static constexpr std::chrono::milliseconds kPause{100};
  // Rows of a queue that are out at once: one, then twice as many whenever all have been taken.
  static constexpr std::size_t kMostOfQueue = 512;

  std::size_t size() const { return rows_.size(); }
  bool holds(const store::InboxKey& key) const { return rows_.contains(key); }

  // Its queue has refused it, for the first time or while it was out.
  void refused(const std::string& queue, const store::InboxKey& key, Clock::time_point now);
  // True: rows of the queue wait, and so does this one, behind them.
  bool follows(const std::string& queue, const store::InboxKey& key);
  // What to offer now, at most `most`: a queue's in their order, and the queues in turn. They are
  // out.
  std::vector<store::InboxKey> due(std::size_t most, Clock::time_point now);
  // Out no more: to be offered again.
  void put_back(const store::InboxKey& key);
  // Done with. Nothing happens for a row that is not out.
  void settle(const store::InboxKey& key);

 private:
  struct Queue {
    std::set<store::InboxKey> waiting;
    std::size_t out = 0;
    std::size_t burst = 1;
    Clock::time_point not_before{};
  };
  using Queues = std::map<std::string, Queue>;  // none is empty

  Queues queues_;
  std::map<store::InboxKey, Queues::iterator> rows_;  // waiting and out
  std::string last_;                                  // whose turn it was
};

}  // namespace millrace::server
