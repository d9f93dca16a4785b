// Reports durable batches to statistics, metrics and the event feed.
#pragma once

#include <memory>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"
#include "core/event.h"

namespace millrace::engine {

// Called on the shard's thread, in order, once for each batch; must not block.
class DurableObserver {
 public:
  virtual ~DurableObserver() = default;
  virtual void durable(Seq seq, const core::EventBatch& batch) = 0;
  // The same, for an observer that reads the batch later, on its own thread.
  virtual void share(Seq seq, const std::shared_ptr<const core::EventBatch>& batch) {
    durable(seq, *batch);
  }
  // A worker reports its version for the first time, or a different one than before.
  virtual void worker_seen(std::string_view worker, std::string_view version, std::string_view sdk,
                           Time at) {
    static_cast<void>(worker), static_cast<void>(version);
    static_cast<void>(sdk), static_cast<void>(at);
  }
};

}  // namespace millrace::engine
