// Memory for the bodies of requests under way, all connections together. Small ones are not
// counted: every connection has a buffer for them.
#pragma once

#include <atomic>
#include <cstddef>

namespace millrace::http {

// Any thread.
class BodyBudget {
 public:
  explicit BodyBudget(std::size_t bytes) : free_(bytes) {}

  // False: there is not so much left, and nothing was taken.
  bool take(std::size_t bytes) {
    std::size_t free = free_.load(std::memory_order_relaxed);
    while (free >= bytes) {
      if (free_.compare_exchange_weak(free, free - bytes, std::memory_order_relaxed)) return true;
    }
    return false;
  }
  void give_back(std::size_t bytes) { free_.fetch_add(bytes, std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> free_;
};

}  // namespace millrace::http
