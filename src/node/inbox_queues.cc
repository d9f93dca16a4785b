#include "node/inbox_queues.h"

#include <algorithm>

#include "base/check.h"

namespace millrace::node {

bool InboxQueues::add(const std::string& name, const store::InboxKey& key, Flow flow) {
  const auto [place, first] = queues_.try_emplace(name);
  const bool fresh = rows_.try_emplace(key, place).second;
  MILLRACE_CHECK(fresh);
  Queue& queue = place->second;
  if (first) {
    queue.round = ++rounds_;
    queue.flow = flow;
  }
  const bool occupied = queue.flow == Flow::kOneByOne && queue.out > 0;
  if (queue.refuses || occupied || !queue.waiting.empty()) {
    queue.waiting.insert(key);
    return false;
  }
  ++queue.out;
  return true;
}

std::uint64_t InboxQueues::round(const store::InboxKey& key) const {
  return rows_.at(key)->second.round;
}

std::vector<store::InboxKey> InboxQueues::due(std::size_t most, Instant now) {
  std::vector<store::InboxKey> due;
  auto next = queues_.upper_bound(last_);
  for (std::size_t left = queues_.size(); left > 0 && due.size() < most; --left, ++next) {
    if (next == queues_.end()) next = queues_.begin();
    Queue& queue = next->second;
    last_ = next->first;
    if (queue.waiting.empty() || queue.out > 0 || now < queue.not_before) continue;
    queue.round = ++rounds_;
    queue.refuses = false;
    while (!queue.waiting.empty() && queue.out < queue.burst && due.size() < most) {
      due.push_back(queue.waiting.extract(queue.waiting.begin()).value());
      ++queue.out;
    }
  }
  return due;
}

void InboxQueues::refused(const store::InboxKey& key, Instant now) {
  put_back(key);
  Queue& queue = rows_.at(key)->second;
  queue.refuses = true;
  queue.burst = 1;
  queue.not_before = now + kPause;
}

void InboxQueues::put_back(const store::InboxKey& key) {
  Queue& queue = rows_.at(key)->second;
  --queue.out;
  queue.waiting.insert(key);
}

void InboxQueues::settle(const store::InboxKey& key) {
  const auto row = rows_.find(key);
  if (row == rows_.end()) return;
  const auto place = row->second;
  rows_.erase(row);
  Queue& queue = place->second;
  if (--queue.out > 0) return;
  if (queue.waiting.empty()) {
    queues_.erase(place);
  } else if (!queue.refuses && queue.flow == Flow::kFree) {
    queue.burst = std::min(queue.burst * 2, kMostOfQueue);
  }
}

}  // namespace millrace::node
