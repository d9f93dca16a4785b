// The events of a batch that limits cause, which the model predicts one by one, in their order.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "core/event.h"

namespace millrace::sim {

class GateEvents {
 public:
  // `batch` must outlive the step.
  void begin(const core::EventBatch& batch);
  // Nothing that was not predicted.
  void check_over() const;

  // The next one must be this.
  void expect(const core::LimitSet& event);
  void expect(const core::LimitDeleted& event);
  void expect(const core::SlowedDown& event);
  void expect(const core::BreakerTurned& event);
  void expect(const core::Debounced& event);
  // With what its bucket holds, which only the batch tells.
  const core::ShareTaken& expect(const core::ShareTaken& event);

 private:
  template <typename T>
  const T& next(const char* id, const char* what, std::string_view of);

  std::vector<const core::Event*> events_;
  std::size_t at_ = 0;
};

}  // namespace millrace::sim
