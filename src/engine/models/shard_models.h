// The read models of one shard, counted from its log for display: the statistics, the groups of
// errors, and the versions of workers. They include the journal up to a position, which is stored
// with them, so that the shard's next leader continues from there.
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

// Rows that the journal had already trimmed when the models reached them; they are not counted.
struct ModelGap {
  Time from{};
  Time to{};
};
inline constexpr std::size_t kGapsRemembered = 16;

struct ModelPosition {
  Seq seq{};  // the last row included
  Time at{};  // its time
  std::vector<ModelGap> gaps;
};

class ShardModels {
 public:
  // `shards`: the number of shards that share the bounds.
  explicit ShardModels(std::size_t shards = 1);

  // --- For one thread at a time: the shard's follower, or the reader of its leader's stored
  // models.

  // Replaces everything by the content of the tables. After request_reproject() it starts from
  // scratch, but keeps chunks of statistics from before `oldest`, the oldest row in the journal;
  // none: the journal is empty.
  struct Oldest {
    Seq seq{};
    Time at{};
  };
  Status load(store::Tables& tables, const std::optional<Oldest>& oldest);
  // Read-only; loads only if the leader has stored models since the last time.
  Status load_if_changed(store::Tables& tables);
  void take(Seq seq, const core::EventBatch& batch, Statistics::Source source);
  void worker_seen(std::string_view worker, std::string_view version, std::string_view sdk,
                   Time at);
  // The last load() found damage, so it started from scratch.
  bool found_damage() const { return damaged_; }
  // The rows after the position up to `to` are gone; the next one has the time `at`.
  void skip(Seq to, Time at);
  bool changed() const;  // since the last save()
  // False: another process has stored models meanwhile; call load().
  Result<bool> save(store::Tables& tables);
  // Whether another process has stored models.
  Result<bool> overtaken(store::Tables& tables) const;
  // Makes the next load() of the shard's leader start from scratch.
  static Status request_reproject(store::Tables& tables);
  // The position stored by the leader; none: nothing is stored, or a reprojection was requested.
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
  // The stored position blob; none: nothing is stored.
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
