#include "server/inbox_backlog.h"

#include <algorithm>

#include "base/check.h"

namespace millrace::server {

void InboxBacklog::refused(const std::string& queue, const store::InboxKey& key,
                           Clock::time_point now) {
  const auto place = queues_.try_emplace(queue).first;
  if (!rows_.try_emplace(key, place).second) --place->second.out;
  place->second.waiting.insert(key);
  place->second.burst = 1;
  place->second.not_before = now + kPause;
}

bool InboxBacklog::follows(const std::string& queue, const store::InboxKey& key) {
  const auto place = queues_.find(queue);
  if (place == queues_.end()) return false;
  const bool fresh = rows_.try_emplace(key, place).second;
  MILLRACE_CHECK(fresh);
  place->second.waiting.insert(key);
  return true;
}

std::vector<store::InboxKey> InboxBacklog::due(std::size_t most, Clock::time_point now) {
  std::vector<store::InboxKey> due;
  auto next = queues_.upper_bound(last_);
  for (std::size_t left = queues_.size(); left > 0 && due.size() < most; --left, ++next) {
    if (next == queues_.end()) next = queues_.begin();
    Queue& queue = next->second;
    last_ = next->first;
    if (queue.out > 0 || now < queue.not_before) continue;
    while (!queue.waiting.empty() && queue.out < queue.burst && due.size() < most) {
      due.push_back(queue.waiting.extract(queue.waiting.begin()).value());
      ++queue.out;
    }
  }
  return due;
}

void InboxBacklog::put_back(const store::InboxKey& key) {
  Queue& queue = rows_.at(key)->second;
  --queue.out;
  queue.waiting.insert(key);
}

void InboxBacklog::settle(const store::InboxKey& key) {
  const auto row = rows_.find(key);
  if (row == rows_.end()) return;
  const auto place = row->second;
  rows_.erase(row);
  Queue& queue = place->second;
  if (--queue.out > 0) return;
  if (queue.waiting.empty()) {
    queues_.erase(place);
  } else {
    queue.burst = std::min(queue.burst * 2, kMostOfQueue);
  }
}

}  // namespace millrace::server
