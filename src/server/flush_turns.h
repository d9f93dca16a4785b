// Decides which of a node's shards may flush now, since the database takes few flushes at a time. A
// shard takes its changes only when its turn comes, so that none grow old while waiting. First
// come, first served. Thread-safe; must outlive its places.
#pragma once

#include <atomic>
#include <cstddef>
#include <deque>
#include <functional>

#include "base/mutex.h"

namespace millrace::server {

class FlushTurns {
 public:
  explicit FlushTurns(std::size_t at_once) : free_(at_once) {}

  // A place in the line, later the turn itself; its destructor gives it back.
  class Place {
   public:
    // `come` is called if the turn comes later rather than at once, on any thread and with a lock
    // held. It must not block, and must not make or destroy a place.
    Place(FlushTurns& turns, std::function<void()> come);
    ~Place();
    Place(const Place&) = delete;
    Place& operator=(const Place&) = delete;

    bool has_come() const { return has_come_; }

   private:
    FlushTurns& turns_;
    const std::function<void()> come_;
    std::atomic<bool> has_come_ = false;
  };

 private:
  Mutex mutex_;
  std::size_t free_ MILLRACE_GUARDED_BY(mutex_);
  std::deque<Place*> line_ MILLRACE_GUARDED_BY(mutex_);  // empty while a turn is free
};

}  // namespace millrace::server
