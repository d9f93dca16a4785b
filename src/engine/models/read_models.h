// The read models of all shards as one. A follower keeps the models of a shard that this node leads
// up to date; for other shards this node reads the models that their leaders have stored.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/mutex.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/models/shard_models.h"
#include "engine/routing/scatter_gather.h"
#include "store/tables.h"

namespace millrace::engine {

// How often the models stored by other leaders are read again.
inline constexpr Duration kReadModelsEvery{2'000};
// The longest that a reader waits for rows that were durable before it came.
inline constexpr Duration kModelsPatience{500};

// Keeps one shard's models up to date. Thread-safe.
class ModelFollower {
 public:
  virtual ~ModelFollower() = default;
  // Waits until it has read everything that is durable now. False: it took longer than `at_most`.
  virtual bool await(Duration at_most) = 0;
  // The time since the oldest unread row became durable; zero: it has read all.
  virtual Duration lag() const = 0;
};

// Thread-safe.
class ReadModels {
 public:
  // By shard; both must outlive this object. Initially no shard is led. Without journals it cannot
  // tell whether the models of another node's shard are up to date.
  explicit ReadModels(std::vector<store::Tables*> tables,
                      std::vector<store::Journal*> journals = {});

  // One shard's models, for its follower; valid as long as this object.
  ShardModels& of(ShardNumber shard) { return *shards_[shard].live; }
  // Null: the models are always up to date.
  void led(ShardNumber shard, std::shared_ptr<ModelFollower> follower = nullptr);
  void not_led(ShardNumber shard);

  // Whether the other shards were last read too long ago. refresh() reads them, waits for the
  // followers, and blocks for both. Models that cannot be read stay as they were.
  bool is_stale(Time now) const;
  void refresh(Time now);

  // Percentiles are over all attempts on all shards. Reads the tables; an unreadable chunk is left
  // out.
  StatsReply query(const StatsQuery& query) const;
  // For a queue of a shard led elsewhere: as last stored by its leader.
  QueueRates rates(std::string_view queue, Time now) const;
  std::optional<Duration> mean_run(std::string_view queue, Time now) const;
  // The counts of this node; other nodes report their own.
  std::vector<SeriesTotals> totals() const;

  std::map<std::uint64_t, ErrorGroup> error_groups() const;
  std::optional<ErrorGroup> error_group(std::uint64_t fingerprint) const;
  // Each version once, with the time when it was first seen anywhere.
  std::vector<Deploy> deploys() const;
  std::vector<ModelGap> gaps() const;
  // The time up to which everything is counted.
  Time as_of(Time now) const;

  // Whether all of each shard's log had been read at the last check of this node.
  bool complete() const;

  // The rows that the logs of all shards still have.
  Result<std::uint64_t> rows() const;

  // For the shards that this node leads.
  struct Figures {
    Duration lag{};
    ShardModels::Figures models;
  };
  Figures figures() const;

 private:
  struct Shard {
    store::Tables* tables = nullptr;
    store::Journal* journal = nullptr;
    std::unique_ptr<ShardModels> live;
  };
  // The source of a shard's models.
  struct Source {
    bool led = false;
    std::shared_ptr<ModelFollower> follower;
    std::shared_ptr<ShardModels> copy;  // of what its leader has stored
    std::optional<Time> read_at;
    bool up_to_date = false;  // the copy was up to date when it was read
  };

  bool is_led(ShardNumber shard) const;
  static bool must_read(const Source& source, Time now);
  void refresh(ShardNumber shard, Time now);
  // Calls `visit` with this node's view of each shard's models.
  template <typename Visit>
  void each(const Visit& visit) const;

  std::vector<Shard> shards_;
  Mutex reading_;  // one thread at a time reads the copies
  mutable Mutex mutex_;
  std::vector<Source> sources_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::engine
