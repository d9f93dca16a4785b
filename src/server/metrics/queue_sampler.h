// The queues and limits for /metrics. Reading them takes time on the shards' threads, so it is done
// in small slices with pauses between them. It takes at most a tenth of the time, however often
// /metrics is scraped.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/flow/limit.h"
#include "core/queues/queue.h"
#include "core/reply.h"
#include "engine/models/read_models.h"
#include "engine/routing/gateway.h"

namespace millrace::server {

struct QueueSample {
  std::chrono::steady_clock::time_point taken_at{};
  std::chrono::nanoseconds took{};
  std::vector<core::Queue> queues{};  // the fullest ones have all members
  std::vector<core::LimitView> limits{};
  // For limits by key: the keys with the most waiting jobs, each with its limit's name.
  std::vector<std::pair<std::string, core::GateUse>> limit_keys{};
  // For some queues: api::Scale::desired_slots.
  std::vector<std::pair<std::string, std::int64_t>> desired_slots{};
};

class QueueSampler {
 public:
  // A sample is used for this many times as long as it took.
  static constexpr int kRest = 10;
  static constexpr auto kLongestRest = std::chrono::seconds(15);
  static constexpr std::uint32_t kSlice = 64;  // queues that a shard returns at once
  // Bounds on the reported limits by key, and on the keys of each. Finding the keys requires a look
  // at all of them, so limits with more than kMostKeyed jobs are left out.
  static constexpr std::size_t kKeyedLimits = 10;
  static constexpr std::size_t kKeysEach = 10;
  static constexpr std::uint64_t kMostKeyed = 10'000;

  // Sends a command to a shard and waits for the answer; none: no answer came in time.
  using Ask =
      std::function<std::optional<core::Reply>(engine::Gateway& gateway, core::Command command)>;
  QueueSampler(Ask ask, const engine::ReadModels& models) : ask_(std::move(ask)), models_(models) {}

  // Thread-safe; blocks. While one thread takes a sample, others get the previous one.
  std::shared_ptr<const QueueSample> sample(
      const std::vector<std::shared_ptr<engine::Gateway>>& led, Time now);

 private:
  template <typename Reply, typename Command>
  std::optional<Reply> ask(engine::Gateway& gateway, const Command& command);
  std::shared_ptr<const QueueSample> fresh() const;
  std::vector<core::Queue> queues_of(engine::Gateway& gateway);
  std::vector<core::LimitView> limits_of(engine::Gateway& gateway);
  void add_keys(engine::Gateway& gateway, const std::vector<core::LimitView>& limits,
                QueueSample& sample);
  void look_closely(engine::Gateway& gateway, std::vector<core::Queue>& queues,
                    const std::vector<core::LimitView>& limits, Time now, QueueSample& sample);

  const Ask ask_;
  const engine::ReadModels& models_;
  std::mutex sampling_;  // held by the thread that takes a sample
  mutable std::mutex mutex_;
  std::shared_ptr<const QueueSample> last_;  // guarded by mutex_
};

}  // namespace millrace::server
