// Deletes jobs whose retention is over. The tables know which, so each round waits until they show
// the round before.
#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "engine/shard_impl.h"

namespace millrace::engine {

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
  Result<std::vector<JobId>> ids =
      tables_.finished_until(cut.queue, cut.state, cut.until, kRetentionChunk);
  const Result<std::optional<Time>> oldest =
      ids && ids->empty() ? tables_.oldest_finished(cut.queue, cut.state) : std::nullopt;
  if (!ids || !oldest) {
    sweep.not_before = now_ + kSweepRetryPause;
    return false;
  }
  if (ids->empty()) {
    retention_.finished(cut, *oldest, now_);
    return true;
  }
  if (delete_due(sweep, std::move(*ids)) == 0) {
    // All of them live again in memory, which the tables don't show yet: nothing to do until later.
    sweep.not_before = now_ + kRetentionPause;
    sweep.target = pipeline_.head();
  } else {
    sweep.target = next(pipeline_.head());
  }
  projector_.force();
  return false;
}

// How many were.
std::size_t Shard::Impl::delete_due(const Sweep& sweep, std::vector<JobId> ids) {
  // Memory wins: a job may have been retried, and ended again, since the tables were written.
  std::erase_if(ids, [&](const JobId& id) {
    const auto view = machine_->view(id);
    return machine_->is_tombstone(id) ||
           (view != nullptr && (view->job.state != sweep.cut.state || !view->job.finished_at ||
                                *view->job.finished_at > sweep.cut.until));
  });
  core::Delete command{std::move(ids), core::DeleteCause::kRetention};
  std::vector<JobId> wanted;
  machine_->wanted(command, wanted);
  Prefetch prefetched;
  const std::size_t settled = prefetched.load(tables_, wanted).value_or(0);
  const absl::flat_hash_set<JobId> unsettled(wanted.begin() + static_cast<std::ptrdiff_t>(settled),
                                             wanted.end());
  std::erase_if(command.ids, [&](const JobId& id) { return unsettled.contains(id); });
  if (command.ids.empty()) return 0;
  const std::size_t events_before = events_.size();
  decide(command, prefetched);
  measure();
  return events_.size() == events_before ? 0 : command.ids.size();
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
