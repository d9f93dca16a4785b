// The queues and limits for /metrics. To read them takes the time of the shards' threads, so it is
// done in small slices with pauses between them, and not more often than in a tenth of the time,
// however often somebody scrapes.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "base/time.h"
#include "core/limit.h"
#include "core/queue.h"
#include "core/reply.h"
#include "engine/models/read_models.h"
#include "engine/routing/gateway.h"

namespace millrace::server {

struct QueueSample {
  std::chrono::steady_clock::time_point taken_at{};
  std::chrono::nanoseconds took{};
  std::vector<core::Queue> queues{};  // those that are fullest with all members
  std::vector<core::LimitView> limits{};
  // Of limits by key, the keys for which most jobs wait, with the limit's name.
  std::vector<std::pair<std::string, core::GateUse>> limit_keys{};
  // Of some queues: api::Scale::desired_slots.
  std::vector<std::pair<std::string, std::int64_t>> desired_slots{};
};

class QueueSampler {
 public:
  // A sample is used for this many times as long as it took.
  static constexpr int kRest = 10;
  static constexpr auto kLongestRest = std::chrono::seconds(15);
  static constexpr std::uint32_t kSlice = 64;  // queues that a shard tells at once
  // Limits by key whose keys are told, and keys of each. To find them takes a look at all keys, so
  // no more than this many jobs may be theirs.
  static constexpr std::size_t kKeyedLimits = 10;
  static constexpr std::size_t kKeysEach = 10;
  static constexpr std::uint64_t kMostKeyed = 10'000;

  // Sends a command to a shard and waits for the answer; none: no answer came in time.
  using Ask =
      std::function<std::optional<core::Reply>(engine::Gateway& gateway, core::Command command)>;
  QueueSampler(Ask ask, const engine::ReadModels& models) : ask_(std::move(ask)), models_(models) {}

  // Thread-safe; blocks. While one thread takes a sample, others get the one before.
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
  std::mutex sampling_;  // held by who takes a sample
  mutable std::mutex mutex_;
  std::shared_ptr<const QueueSample> last_;  // guarded by mutex_
};

}  // namespace millrace::server
