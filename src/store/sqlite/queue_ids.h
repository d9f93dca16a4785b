// Small numbers for the queues' names; rows and index entries hold these instead.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/bytes.h"
#include "base/mutex.h"

namespace millrace::store {

// Thread-safe. A number is known here before the commit of any row that holds it.
class QueueIds {
 public:
  std::optional<std::int64_t> find(std::string_view name) const {
    const MutexLock lock(mutex_);
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? std::nullopt : std::optional(found->second);
  }
  // Empty: there is no such number.
  SharedBytes name(std::int64_t id) const {
    const MutexLock lock(mutex_);
    const auto found = by_id_.find(id);
    return found == by_id_.end() ? SharedBytes() : found->second;
  }
  void add(std::int64_t id, std::string_view name) {
    const MutexLock lock(mutex_);
    by_name_.emplace(name, id);
    by_id_.emplace(id, SharedBytes(name));
    next_ = std::max(next_, id + 1);
  }
  // Greater than every number known so far: the number of a deleted queue is not reused while a
  // reader may still see its jobs.
  std::int64_t unused() const {
    const MutexLock lock(mutex_);
    return next_;
  }
  // The queue was deleted. A reader that began before still finds its name.
  void retire(std::string_view name) {
    const MutexLock lock(mutex_);
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return;
    retired_.push_back(found->second);
    by_name_.erase(found);
    if (retired_.size() <= kMostRetired) return;
    by_id_.erase(retired_.front());
    retired_.pop_front();
  }
  void forget(std::string_view name) {
    const MutexLock lock(mutex_);
    const auto found = by_name_.find(name);
    if (found == by_name_.end()) return;
    by_id_.erase(found->second);
    by_name_.erase(found);
  }
  // The numbers of the queues whose names `wanted` accepts.
  std::vector<std::int64_t> select(const std::function<bool(std::string_view)>& wanted) const {
    const MutexLock lock(mutex_);
    std::vector<std::int64_t> ids;
    for (const auto& [name, id] : by_name_) {
      if (wanted(name)) ids.push_back(id);
    }
    return ids;
  }

 private:
  // More queues than can be deleted in the few seconds that a read takes.
  static constexpr std::size_t kMostRetired = 50'000;

  mutable Mutex mutex_;
  std::map<std::string, std::int64_t, std::less<>> by_name_ MILLRACE_GUARDED_BY(mutex_);
  std::unordered_map<std::int64_t, SharedBytes> by_id_ MILLRACE_GUARDED_BY(mutex_);
  std::deque<std::int64_t> retired_ MILLRACE_GUARDED_BY(mutex_);  // found in by_id_ only
  std::int64_t next_ MILLRACE_GUARDED_BY(mutex_) = 1;
};

}  // namespace millrace::store
