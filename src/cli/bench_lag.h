// How far the server's tables were behind its journal while a load ran.
#pragma once

#include <condition_variable>
#include <mutex>
#include <optional>
#include <string_view>
#include <thread>

#include "cli/session.h"

namespace millrace::cli {

// Looks from its construction on, over a connection of its own: five times a second at the list of
// nodes, which costs the server next to nothing; with a token that may not see that, once a second
// at /metrics, which tells of every queue.
class LagWatch {
 public:
  explicit LagWatch(const Session& session);
  ~LagWatch() = default;
  LagWatch(const LagWatch&) = delete;
  LagWatch& operator=(const LagWatch&) = delete;

  // Ends it, after one last look: the most seconds seen of any shard; none: the server does not
  // tell.
  std::optional<double> worst();

 private:
  void watch(const std::stop_token& end, const Session& session);

  std::mutex mutex_;
  std::condition_variable_any ended_;
  std::optional<double> worst_;  // the thread's until it has ended
  std::jthread thread_;
};

// Of a text of /metrics: the most of all shards.
std::optional<double> projection_lag_seconds(std::string_view metrics);
std::optional<double> projection_lag_seconds(const sdk::Cluster& cluster);

}  // namespace millrace::cli
