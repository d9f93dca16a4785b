#include "cli/bench/lag.h"

#include <algorithm>
#include <charconv>
#include <chrono>

namespace millrace::cli {
namespace {

constexpr std::chrono::milliseconds kEvery{200};
constexpr std::chrono::milliseconds kEveryOfMetrics{1'000};
constexpr std::string_view kMetric = "millrace_projection_lag_seconds";

std::optional<double> lag_by_nodes(sdk::Client& client) {
  const auto cluster = client.cluster();
  return cluster ? projection_lag_seconds(*cluster) : std::nullopt;
}

std::optional<double> lag_by_metrics(sdk::Client& client) {
  const auto metrics = client.call({.path = "/metrics"});
  return metrics ? projection_lag_seconds(metrics->body) : std::nullopt;
}

}  // namespace

LagWatch::LagWatch(const Session& session)
    : thread_([this, &session](const std::stop_token& end) { watch(end, session); }) {}

std::optional<double> LagWatch::worst() {
  thread_.request_stop();
  if (thread_.joinable()) thread_.join();
  return worst_;
}

void LagWatch::watch(const std::stop_token& end, const Session& session) {
  auto client = session.connect();
  if (!client) return;
  for (bool last = false; !last;) {
    last = end.stop_requested();
    auto lag = lag_by_nodes(*client);
    const bool by_nodes = lag.has_value();
    if (!by_nodes) lag = lag_by_metrics(*client);
    if (lag) worst_ = std::max(worst_.value_or(0), *lag);
    std::unique_lock lock(mutex_);
    ended_.wait_for(lock, end, by_nodes ? kEvery : kEveryOfMetrics, [] { return false; });
  }
}

std::optional<double> projection_lag_seconds(std::string_view metrics) {
  std::optional<double> most;
  for (std::string_view left = metrics; !left.empty();) {
    const std::string_view line = left.substr(0, left.find('\n'));
    left.remove_prefix(std::min(line.size() + 1, left.size()));
    if (!line.starts_with(kMetric)) continue;
    const std::size_t space = line.rfind(' ');
    if (space == std::string_view::npos) continue;
    double value = 0;
    const auto read = std::from_chars(line.data() + space + 1, line.data() + line.size(), value);
    if (read.ec == std::errc()) most = std::max(most.value_or(0), value);
  }
  return most;
}

std::optional<double> projection_lag_seconds(const sdk::Cluster& cluster) {
  std::optional<double> most;
  for (const sdk::Shard& shard : cluster.shards) {
    if (!shard.projection_lag_ms) continue;
    most = std::max(most.value_or(0), static_cast<double>(*shard.projection_lag_ms) / 1'000);
  }
  return most;
}

}  // namespace millrace::cli
