// Limits the number of connections, in total and from one address.
#pragma once

#include <cstddef>
#include <mutex>
#include <string>
#include <unordered_map>

namespace millrace::net {

class ConnectionGate {
 public:
  ConnectionGate(std::size_t max_total, std::size_t max_per_address)
      : max_total_(max_total), max_per_address_(max_per_address) {}

  // Thread-safe. True: the connection is counted until leave() with the same address.
  bool enter(const std::string& address) {
    const std::lock_guard lock(mutex_);
    if (total_ >= max_total_) return false;
    std::size_t& count = by_address_[address];  // a new entry is never left at zero
    if (count >= max_per_address_) return false;
    ++count;
    ++total_;
    return true;
  }
  void leave(const std::string& address) {
    const std::lock_guard lock(mutex_);
    --total_;
    const auto found = by_address_.find(address);
    if (--found->second == 0) by_address_.erase(found);
  }

 private:
  const std::size_t max_total_;
  const std::size_t max_per_address_;
  std::mutex mutex_;
  std::size_t total_ = 0;                                    // guarded by mutex_
  std::unordered_map<std::string, std::size_t> by_address_;  // guarded by mutex_
};

}  // namespace millrace::net
