// A thread produces items a few batches ahead of the thread that consumes them. If both have the
// same amount of work, this halves the time.
#pragma once

#include <cstddef>
#include <deque>
#include <utility>
#include <vector>

#include "base/mutex.h"

namespace millrace {

// put() and end() run on the producer's thread, take() on the consumer's; both threads must end
// before this object does.
template <typename Item>
class ReadAhead {
 public:
  using Batch = std::vector<Item>;

  // Waits if the consumer is far behind.
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

  // Empty: there are no more.
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

  Batch batch_;  // the producer's
  Mutex mutex_;
  WaitCondition changed_;  // of the two threads at most one waits at a time
  std::deque<Batch> ready_ MILLRACE_GUARDED_BY(mutex_);
  bool ended_ MILLRACE_GUARDED_BY(mutex_) = false;
};

}  // namespace millrace
