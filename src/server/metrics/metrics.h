// The figures of /metrics, in Prometheus' text format. Frequent events are counted here in atomics
// as they happen; the rest is read from its owners at each scrape. docs/reference/metrics.md lists
// the names.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "api/push_target.h"
#include "base/time.h"
#include "engine/models/read_models.h"
#include "engine/observer.h"
#include "http/observer.h"
#include "server/metrics/queue_sampler.h"
#include "server/metrics/recent_times.h"
#include "server/metrics/trace_metrics.h"
#include "server/shard/driver.h"
#include "server/shard/shard_report.h"

namespace millrace::server {

// Thread-safe.
class Metrics final : public engine::DurableObserver, public DriverProbe, public http::Observer {
 public:
  Metrics();
  ~Metrics() override;

  void durable(Seq seq, const core::EventBatch& batch) override;

  void committed(std::chrono::nanoseconds took, std::size_t body_bytes,
                 std::size_t requests) override;
  void append_failed(store::AppendOutcome outcome) override;
  void flushed(std::chrono::nanoseconds took, std::size_t jobs, bool ok) override;

  void answered(const http::RequestRecord& record) override;
  void connection(Connection what) override;
  void streamed(Streamed what) override;

  // The state of the figures' owners at the time of the scrape.
  struct Sources {
    std::string version;
    std::string commit;
    const engine::ReadModels& models;
    std::vector<ShardReport> shards;
    Time started_at{};
    // The push targets that this node serves, by name.
    std::vector<std::pair<std::string, api::PushHealth>> push{};
    // Error groups by api::ErrorStatus; none if another node reports them.
    std::optional<std::array<std::uint64_t, 3>> error_groups{};
    std::optional<TraceCounts> traces{};
  };
  std::string text(const Sources& sources, const QueueSample& sample) const;
  // Durations of recent appends to the journal.
  std::optional<RecentTimes::Summary> recent_commits() const;

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace millrace::server
