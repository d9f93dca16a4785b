// Decides which of a node's shards may flush now, since the database handles only a few flushes at
// a time. A shard takes its changes only when its turn comes, so that they do not grow stale while
// waiting. First come, first served. Thread-safe; must outlive its permits.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>

#include "base/mutex.h"

namespace millrace::server {

class FlushSemaphore {
 public:
  explicit FlushSemaphore(std::size_t at_once) : free_(at_once) {}

  // A place in the queue, later the turn itself. The destructor gives it back.
  class Permit {
   public:
    // `on_grant` is called if the turn comes later rather than at once, on any thread and with a
    // lock held. It must not block, and must not create or destroy a permit.
    Permit(FlushSemaphore& turns, std::function<void()> on_grant);
    ~Permit();
    Permit(const Permit&) = delete;
    Permit& operator=(const Permit&) = delete;

    bool granted() const { return granted_; }

   private:
    FlushSemaphore& turns_;
    const std::function<void()> on_grant_;
    std::atomic<bool> granted_ = false;
  };

 private:
  Mutex mutex_;
  std::size_t free_ MILLRACE_GUARDED_BY(mutex_);
  std::deque<Permit*> waiting_ MILLRACE_GUARDED_BY(mutex_);  // empty while a turn is free
};

}  // namespace millrace::server
