// The read models of one shard: what is counted from its log for people who look at it. The
// statistics, the groups of errors, and the versions of workers. They stand at a position of the
// journal, and are stored with it, so that whoever leads the shard next goes on from there.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/result.h"
#include "base/time.h"
#include "engine/models/error_book.h"
#include "engine/models/job_labels.h"
#include "engine/models/version_book.h"
#include "engine/statistics/statistics.h"
#include "store/tables.h"

namespace millrace::engine {

// Rows that the journal no longer had when the models got there: what they said is missing.
struct ModelGap {
  Time from{};
  Time to{};
};
inline constexpr std::size_t kGapsRemembered = 16;

struct ModelPosition {
  Seq seq{};  // the row that they include
  Time at{};  // its time
  std::vector<ModelGap> gaps;
};

class ShardModels {
 public:
  // `shards`: the number of shards that share the bounds.
  explicit ShardModels(std::size_t shards = 1);

  // --- For one thread at a time: that which follows the shard, or that which reads what its leader
  // has stored.

  // Replaces everything by what the tables hold. After request_reproject() it begins anew, but for
  // chunks of statistics from before `oldest`, the oldest row that the journal has; none: there is
  // none.
  struct Oldest {
    Seq seq{};
    Time at{};
  };
  Status load(store::Tables& tables, const std::optional<Oldest>& oldest);
  // Only reads, and only if its leader has stored something since the last time.
  Status load_if_changed(store::Tables& tables);
  void take(Seq seq, const core::EventBatch& batch, Statistics::Source source);
  void worker_seen(std::string_view worker, std::string_view version, std::string_view sdk,
                   Time at);
  // What the last load() found was damaged, so that it began anew.
  bool found_damage() const { return damaged_; }
  // The rows after the position are gone; the next one is of that time.
  void skip(Seq to, Time at);
  bool changed() const;  // since the last save()
  // False: somebody else has stored models meanwhile; load() them.
  Result<bool> save(store::Tables& tables);
  // Whether somebody else has.
  Result<bool> overtaken(store::Tables& tables) const;
  // The next load() of whoever leads the shard begins anew.
  static Status request_reproject(store::Tables& tables);
  // As whoever leads the shard has stored it; none: nothing is stored, or it is to begin anew.
  static Result<std::optional<ModelPosition>> stored_position(store::Tables& tables);

  // --- Thread-safe.
  // Which groups of errors make room first.
  void set_resolved(ErrorBook::IsResolved is_resolved);
  Statistics& statistics() { return statistics_; }
  const Statistics& statistics() const { return statistics_; }
  ModelPosition position() const;
  struct Figures {
    std::uint64_t groups = 0;
    std::uint64_t evicted_groups = 0;
    std::uint64_t failed_jobs = 0;
    std::uint64_t labelled_jobs = 0;
    std::uint64_t passed_over = 0;  // jobs beyond the bounds
    std::uint64_t gaps = 0;
  };
  Figures figures() const;
  // Calls `visit` with each group of errors.
  template <typename Visit>
  void each_group(const Visit& visit) const {
    const MutexLock lock(mutex_);
    for (const auto& [fingerprint, group] : errors_.groups()) visit(group);
  }
  std::optional<ErrorGroup> group(std::uint64_t fingerprint) const;
  std::vector<Deploy> deploys() const;

 private:
  std::string position_blob() const MILLRACE_REQUIRES(mutex_);
  Status begin_anew(store::Tables& tables, const std::optional<Oldest>& oldest);
  Status load(store::Tables& tables, const std::optional<Oldest>& oldest, bool to_follow);
  Result<bool> load_parts(store::Tables& tables, Time at, bool to_follow);

  const std::size_t shards_;
  Statistics statistics_;
  JobLabels labels_;  // only for the thread
  // As stored; none: nothing is.
  std::optional<std::string> stored_;
  std::vector<std::string> to_delete_;
  bool damaged_ = false;

  mutable Mutex mutex_;
  ErrorBook::IsResolved is_resolved_ MILLRACE_GUARDED_BY(mutex_) = [](std::uint64_t, Time) {
    return false;
  };
  ErrorBook errors_ MILLRACE_GUARDED_BY(mutex_);
  VersionBook versions_ MILLRACE_GUARDED_BY(mutex_);
  ModelPosition position_ MILLRACE_GUARDED_BY(mutex_);
  std::uint64_t gaps_ MILLRACE_GUARDED_BY(mutex_) = 0;
  bool changed_ MILLRACE_GUARDED_BY(mutex_) = false;
  std::uint64_t labelled_ MILLRACE_GUARDED_BY(mutex_) = 0;
  std::uint64_t unlabelled_ MILLRACE_GUARDED_BY(mutex_) = 0;
};

}  // namespace millrace::engine
