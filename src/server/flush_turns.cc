#include "server/flush_turns.h"

#include <utility>

namespace millrace::server {

FlushTurns::Place::Place(FlushTurns& turns, std::function<void()> come)
    : turns_(turns), come_(std::move(come)) {
  const MutexLock lock(turns_.mutex_);
  if (turns_.free_ > 0) {
    --turns_.free_;
    has_come_ = true;
  } else {
    turns_.line_.push_back(this);
  }
}

FlushTurns::Place::~Place() {
  const MutexLock lock(turns_.mutex_);
  if (!has_come_) {
    std::erase(turns_.line_, this);
  } else if (turns_.line_.empty()) {
    ++turns_.free_;
  } else {
    Place& next = *turns_.line_.front();
    turns_.line_.pop_front();
    next.has_come_ = true;
    next.come_();
  }
}

}  // namespace millrace::server
