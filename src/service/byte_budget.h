// A memory budget for large messages in either direction, shared by all connections. Small messages
// are not counted: every connection has a buffer for them.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>

namespace millrace::service {

// Any thread.
class ByteBudget {
 public:
  explicit ByteBudget(std::size_t bytes)
      : whole_(static_cast<std::int64_t>(bytes)), free_(whole_) {}

  // False: less than that is left, and nothing was taken. A message larger than the whole budget is
  // admitted if nothing else is counted, because otherwise it could never be sent.
  bool take(std::size_t bytes) {
    const auto wanted = static_cast<std::int64_t>(bytes);
    std::int64_t free = free_.load(std::memory_order_relaxed);
    while (free >= wanted || (free == whole_ && wanted > whole_)) {
      if (free_.compare_exchange_weak(free, free - wanted, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  // For a message that can no longer be refused; may exceed the budget.
  void take_anyway(std::size_t bytes) {
    free_.fetch_sub(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  }
  void give_back(std::size_t bytes) {
    free_.fetch_add(static_cast<std::int64_t>(bytes), std::memory_order_relaxed);
  }

 private:
  const std::int64_t whole_;
  std::atomic<std::int64_t> free_;
};

}  // namespace millrace::service
