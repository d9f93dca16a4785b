// Measures how far the server's tables lag behind its journal during a load.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "cli/session.h"

namespace millrace::cli {

// Samples from its construction on, over its own connection: the list of nodes five times a second,
// which costs the server almost nothing. If the token does not allow that, it reads /metrics once a
// second, which lists every queue.
class LagWatch {
 public:
  explicit LagWatch(const Session& session);
  ~LagWatch() = default;
  LagWatch(const LagWatch&) = delete;
  LagWatch& operator=(const LagWatch&) = delete;

  // Stops after one last sample. Returns the greatest lag seen of any shard, in seconds; none: the
  // server does not report it.
  std::optional<double> worst();

 private:
  void watch(const std::stop_token& end, const Session& session);

  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::optional<double> worst_;  // owned by the thread until that has ended
  std::jthread thread_;
};

// From the text of /metrics: the greatest of all shards.
std::optional<double> projection_lag_seconds(std::string_view metrics);
std::optional<double> projection_lag_seconds(const sdk::Cluster& cluster);

}  // namespace millrace::cli
