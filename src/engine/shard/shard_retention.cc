// Deletes jobs and workflows whose retention is over. They are found in the tables, so each round
// waits until these show the previous round.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "engine/shard/shard_impl.h"

namespace millrace::engine {
namespace {

// The most deletions per queue, state and step; and the most sweeps in work.
constexpr std::uint32_t kRetentionChunk = 1'000;
constexpr std::uint32_t kWorkflowsChunk = 100;
constexpr std::size_t kMaxSweeps = 64;
constexpr Duration kSweepRetryPause{1'000};

}  // namespace

void Shard::Impl::sweep() {
  for (RetentionCut& cut : retention_.take_due(now_, kMaxSweeps - sweeps_.size())) {
    sweeps_.push_back({std::move(cut), pipeline_.head(), now_});
    if (projector_.projected().seq < pipeline_.head()) projector_.force();
  }
  std::erase_if(sweeps_, [this](Sweep& sweep) {
    return !row_is_full() && sweep.target <= projector_.projected().seq &&
           sweep.not_before <= now_ && sweep_once(sweep);
  });
}

bool Shard::Impl::sweep_once(Sweep& sweep) {
  const RetentionCut& cut = sweep.cut;
  const bool of_jobs = cut.what == EndedThings::kJobs;
  const Result<std::vector<JobId>> ids =
      of_jobs ? tables_.finished_until(cut.queue, cut.state, cut.until, kRetentionChunk)
              : tables_.finished_workflows_until(cut.queue, cut.state, cut.until, kWorkflowsChunk);
  const Result<std::optional<Time>> oldest =
      of_jobs ? tables_.oldest_finished(cut.queue, cut.state)
              : tables_.oldest_finished_workflow(cut.queue, cut.state);
  if (!ids || !oldest) {
    sweep.not_before = now_ + kSweepRetryPause;
    return false;
  }
  if (ids->empty() || !(of_jobs ? delete_due(*ids) : delete_due_workflows(*ids))) {
    // Nothing is left, or the rest was retried, which the tables will show a little later.
    retention_.finished(cut, *oldest, now_);
    return true;
  }
  sweep.target = next(pipeline_.head());
  projector_.force();
  return false;
}

// False: none could be deleted. The machine refuses jobs that it knows to be live again.
bool Shard::Impl::delete_due(std::vector<JobId> ids) {
  core::Delete command{std::move(ids), core::DeleteCause::kRetention};
  Prefetch prefetched;
  prefetched.want(*machine_, command);
  const std::size_t settled = prefetched.load(tables_).value_or(0);
  const std::vector<JobId>& wanted = prefetched.needed();
  const absl::flat_hash_set<JobId> unsettled(wanted.begin() + static_cast<std::ptrdiff_t>(settled),
                                             wanted.end());
  std::erase_if(command.ids, [&](const JobId& id) { return unsettled.contains(id); });
  const std::size_t events_before = events_.size();
  decide(command, prefetched);
  measure();
  return events_.size() > events_before;
}

// False: none could be deleted. A retry may have begun a new generation.
bool Shard::Impl::delete_due_workflows(const std::vector<JobId>& ids) {
  const std::size_t events_before = events_.size();
  for (const JobId& id : ids) {
    if (row_is_full()) break;
    core::DeleteWorkflow command;
    command.id = id;
    command.by_retention = true;
    Prefetch prefetched;
    prefetched.want(*machine_, command);
    if (!prefetched.load_workflows(tables_)) break;
    decide(command, prefetched);
    measure();
  }
  return events_.size() > events_before;
}

std::optional<Time> Shard::Impl::next_sweep() const {
  std::optional<Time> earliest;
  if (sweeps_.size() < kMaxSweeps) earliest = retention_.next_due();
  for (const Sweep& sweep : sweeps_) {
    if (sweep.target > projector_.projected().seq) continue;
    if (!earliest || sweep.not_before < *earliest) earliest = sweep.not_before;
  }
  return earliest;
}

}  // namespace millrace::engine
