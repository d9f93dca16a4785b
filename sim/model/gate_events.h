// The events of a batch that result from limits. The model predicts each of them, in order.
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
  // The batch must have no events that were not predicted.
  void check_over() const;

  // The next event must equal this one.
  void expect(const core::LimitSet& event);
  void expect(const core::LimitDeleted& event);
  void expect(const core::SlowedDown& event);
  void expect(const core::BreakerTurned& event);
  void expect(const core::Debounced& event);
  // The bucket's level is known only from the batch.
  const core::ShareTaken& expect(const core::ShareTaken& event);

 private:
  template <typename T>
  const T& next(const char* id, const char* what, std::string_view of);

  std::vector<const core::Event*> events_;
  std::size_t at_ = 0;
};

}  // namespace millrace::sim
