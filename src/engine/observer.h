// Reports durable batches to statistics, metrics and the event feed.
#pragma once

#include "base/ids.h"
#include "core/event.h"

namespace millrace::engine {

// Called on the shard's thread, in order, once for each batch; must not block.
class DurableObserver {
 public:
  virtual ~DurableObserver() = default;
  virtual void durable(Seq seq, const core::EventBatch& batch) = 0;
};

}  // namespace millrace::engine
