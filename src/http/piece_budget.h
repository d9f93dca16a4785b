// The memory of event streams: of the pieces that were made and that their clients have not read.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>

#include "service/byte_budget.h"

namespace millrace::http {

// Any thread.
class PieceBudget {
 public:
  static constexpr std::size_t kMostBytes = 256 * 1024;
  static constexpr std::size_t kLeastBytes = 4 * 1024;

  // Takes at most `bytes` of `answers`, which must outlive this object.
  PieceBudget(service::ByteBudget& answers, std::size_t bytes)
      : answers_(answers), bytes_(bytes), free_(bytes) {}

  // What the next piece may have. It gets smaller as more pieces wait, so that a few thousand
  // clients that read nothing don't use up the budget, and other streams go on.
  std::size_t room() const {
    const std::size_t pieces = pieces_.load(std::memory_order_relaxed) + 1;
    return std::clamp(bytes_ / 8 / pieces, kLeastBytes, kMostBytes);
  }
  // False: there is no room now, and nothing was taken.
  bool take(std::size_t bytes) {
    if (!free_.take(bytes)) return false;
    if (!answers_.take(bytes)) {
      free_.give_back(bytes);
      return false;
    }
    pieces_.fetch_add(1, std::memory_order_relaxed);
    return true;
  }
  // For one piece that was taken.
  void give_back(std::size_t bytes) {
    pieces_.fetch_sub(1, std::memory_order_relaxed);
    answers_.give_back(bytes);
    free_.give_back(bytes);
  }

 private:
  service::ByteBudget& answers_;
  const std::size_t bytes_;
  service::ByteBudget free_;
  std::atomic<std::size_t> pieces_ = 0;
};

}  // namespace millrace::http
