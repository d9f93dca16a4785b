// The store's format level, as this node last read it from the registry (store/registry.h). It only
// rises, so anything it allows stays allowed.
#pragma once

#include <atomic>

#include "store/event_codec.h"

namespace millrace::engine {

// One for each node. Thread-safe.
class StoreFormat {
 public:
  store::EventFormat level() const { return level_.load(std::memory_order_relaxed); }
  void heard(store::EventFormat level) { level_.store(level, std::memory_order_relaxed); }

 private:
  std::atomic<store::EventFormat> level_ = store::EventFormat::kFirst;
};

}  // namespace millrace::engine
