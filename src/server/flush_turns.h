// Who may write tables now, of the shards of a node: the database takes few flushes at a time, and
// a shard takes its changes together when its turn comes, so that none grow old in the line. First
// come, first served. Any thread; outlives its places.
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

  // In the line, then the turn itself; given back by its end.
  class Place {
   public:
    // `come`: the turn has come, later than at once; on whose thread ever, and with a lock held: it
    // must not block, nor make or end a place.
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
  std::deque<Place*> line_ MILLRACE_GUARDED_BY(mutex_);  // nobody waits while one is free
};

}  // namespace millrace::server
