// One thread makes what another uses, a few batches ahead of it: where both have as much to do, it
// takes half of the time.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace millrace {

// put() and end() on the maker's thread, take() on the user's; both last as long as this does.
template <typename Item>
class ReadAhead {
 public:
  using Batch = std::vector<Item>;

  // Waits while the user is far behind.
  void put(Item item) {
    batch_.push_back(std::move(item));
    if (batch_.size() == kBatch) hand_over();
  }
  void end() {
    hand_over();
    const MutexLock lock(mutex_);
    ended_ = true;
    changed_.notify_one();
  }

  // Empty: that was all.
  Batch take() {
    const MutexLock lock(mutex_);
    while (ready_.empty() && !ended_) changed_.wait(mutex_);
    if (ready_.empty()) return {};
    Batch batch = std::move(ready_.front());
    ready_.pop_front();
    changed_.notify_one();
    return batch;
  }

 private:
  static constexpr std::size_t kBatch = 256;
  static constexpr std::size_t kAhead = 8;  // batches

  void hand_over() {
    if (batch_.empty()) return;
    const MutexLock lock(mutex_);
    while (ready_.size() == kAhead) changed_.wait(mutex_);
    ready_.push_back(std::exchange(batch_, {}));
    batch_.reserve(kBatch);
    changed_.notify_one();
  }

  Batch batch_;  // the maker's
  Mutex mutex_;
  WaitCondition changed_;  // one waits at most: there are two, and not both can have to
  std::deque<Batch> ready_ MILLRACE_GUARDED_BY(mutex_);
  bool ended_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
