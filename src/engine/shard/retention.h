// Plans the deletion of ended jobs and workflows: for each queue and terminal state, the next time
// at which one is due. The shard reads the tables and decides the deletions.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "base/bytes.h"
#include "base/time.h"
#include "core/event.h"
#include "core/queues/queue.h"

namespace millrace::engine {

// The least time between two cuts of one queue and state: jobs that end one by one are deleted
// together.
inline constexpr Duration kRetentionPause{200};

enum class EndedThings : std::uint8_t { kJobs, kWorkflows };

// All jobs, or workflows, of a queue that ended in `state` at or before `until` are due. For a
// workflow it is the state of jobs that are kept as long (core::retained_as).
struct RetentionCut {
  EndedThings what{};
  SharedBytes queue;
  core::State state{};
  Time until{};
};

class RetentionPlanner {
 public:
  // `of_no_queue`: how long workflows are kept whose queue was deleted.
  explicit RetentionPlanner(const core::Retention& of_no_queue = {}) : of_no_queue_(of_no_queue) {}

  // At restart: the planner looks in the tables once for each state that has any jobs. `workflows`:
  // the store may have some, which queues do not count.
  void restart(const core::Queue& queue, bool workflows = false);
  // Learns endings and settings from a batch.
  void learn(const core::EventBatch& batch);

  // The cuts due at `now`, at most `limit`. Each is in work until finished() is called.
  std::vector<RetentionCut> take_due(Time now, std::size_t limit);
  // All jobs of the cut are deleted, and the tables show it. `oldest`: when the oldest job of that
  // queue and state left in the tables ended.
  void finished(const RetentionCut& cut, std::optional<Time> oldest, Time now);

  std::optional<Time> next_due() const;

 private:
  using Key = std::tuple<std::string, core::State, EndedThings>;
  struct Pair {
    SharedBytes queue;
    std::optional<Duration> keep;  // none: for ever
    // When the oldest job that may exist ended; none: there is no such job.
    std::optional<Time> oldest;
    Time not_before{};
    std::optional<Time> due;  // its entry in `due_`
    bool in_work = false;
    std::optional<Time> learnt_in_work;  // the first job that ended since the cut was taken
  };
  void ended(const core::JobRef& job, core::State state, core::Keep keep, Time at);
  void ended(const core::Workflow& workflow);
  void note_end(const Key& key, Pair& pair, Time at);
  void set_keep(const SharedBytes& queue, const core::Retention& retention);
  void forget(const SharedBytes& queue);
  void reschedule(const Key& key, Pair& pair);

  const core::Retention of_no_queue_;
  absl::btree_map<Key, Pair> pairs_;
  absl::btree_set<std::pair<Time, Key>> due_;
};

}  // namespace millrace::engine
