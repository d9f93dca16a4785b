// The capacity of one step of a shard. A step accepts no more than fits in a row, and the auditor
// assumes that all offered requests are decided in the next step. So requests that do not fit are
// offered later.
#pragma once

#include <cstddef>
#include <variant>

#include "engine/request.h"
#include "engine/shard/row_budget.h"

namespace millrace::sim {

class StepBudget {
 public:
  // Whether the request fits into the next step; if so, it is counted.
  bool takes(const engine::Request& request) {
    const std::size_t more = bytes(request);
    if (bytes_ > 0 && bytes_ + more > engine::kRowBudgetBytes / 2) return false;
    bytes_ += more;
    return true;
  }
  // The step has been decided.
  void decided() { bytes_ = 0; }

 private:
  static std::size_t bytes(const engine::Request& request) {
    if (const auto* const command = std::get_if<core::Command>(&request)) {
      return engine::row_bytes(*command);
    }
    const auto* const poll = std::get_if<engine::Poll>(&request);
    if (poll == nullptr) return 0;
    return engine::row_bytes(core::Command(poll->acks)) +
           engine::row_bytes(core::Command(poll->heartbeats)) +
           engine::row_bytes(core::Command(poll->logs));
  }

  std::size_t bytes_ = 0;
};

}  // namespace millrace::sim
