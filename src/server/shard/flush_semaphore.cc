#include "server/shard/flush_semaphore.h"

#include <utility>

namespace millrace::server {

FlushSemaphore::Permit::Permit(FlushSemaphore& turns, std::function<void()> on_grant)
    : turns_(turns), on_grant_(std::move(on_grant)) {
  const MutexLock lock(turns_.mutex_);
  if (turns_.free_ > 0) {
    --turns_.free_;
    granted_ = true;
  } else {
    turns_.waiting_.push_back(this);
  }
}

FlushSemaphore::Permit::~Permit() {
  const MutexLock lock(turns_.mutex_);
  if (!granted_) {
    std::erase(turns_.waiting_, this);
  } else if (turns_.waiting_.empty()) {
    ++turns_.free_;
  } else {
    Permit& next = *turns_.waiting_.front();
    turns_.waiting_.pop_front();
    next.granted_ = true;
    next.on_grant_();
  }
}

}  // namespace millrace::server
