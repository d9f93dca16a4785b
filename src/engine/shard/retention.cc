#include "engine/shard/retention.h"

#include <algorithm>
#include <array>
#include <variant>

#include "base/check.h"

namespace millrace::engine {
namespace {

constexpr std::array kTerminalStates = {core::State::kSucceeded, core::State::kDead,
                                        core::State::kCancelled, core::State::kExpired};
constexpr std::array kKinds = {EndedThings::kJobs, EndedThings::kWorkflows};

}  // namespace

void RetentionPlanner::restart(const core::Queue& queue, bool workflows) {
  for (const core::State state : kTerminalStates) {
    for (const EndedThings what : kKinds) {
      const Key key(queue.name.view(), state, what);
      Pair& pair = pairs_[key];
      pair.queue = queue.name;
      pair.keep = queue.settings.retention.of(state);
      const bool any = what == EndedThings::kWorkflows
                           ? workflows && state != core::State::kExpired
                           : queue.counts[static_cast<std::size_t>(state)] > 0;
      // Unknown until the tables are read, which the first cut, due at once, does.
      if (any) pair.oldest = time_from_ms(kMinTimeMs);
      reschedule(key, pair);
    }
  }
}

void RetentionPlanner::learn(const core::EventBatch& batch) {
  for (const core::Event& event : batch.events) {
    if (const auto* attempt = std::get_if<core::AttemptEnded>(&event)) {
      ended(attempt->job, attempt->state, attempt->keep, batch.at);
    } else if (const auto* cancelled = std::get_if<core::Cancelled>(&event)) {
      ended(cancelled->job, core::State::kCancelled, cancelled->keep, batch.at);
    } else if (const auto* expired = std::get_if<core::Expired>(&event)) {
      ended(expired->job, core::State::kExpired, expired->keep, batch.at);
    } else if (const auto* finished = std::get_if<core::Finished>(&event)) {
      const core::Job& job = finished->job;
      ended({job.id, job.queue, job.type, job.attempt}, job.state, finished->keep, batch.at);
    } else if (const auto* set = std::get_if<core::WorkflowSet>(&event)) {
      ended(set->workflow);
    } else if (const auto* changed = std::get_if<core::QueueChanged>(&event)) {
      set_keep(changed->queue, changed->settings.retention);
    } else if (const auto* deleted = std::get_if<core::QueueDeleted>(&event)) {
      forget(deleted->queue);
    }
  }
}

void RetentionPlanner::ended(const core::JobRef& job, core::State state, core::Keep keep, Time at) {
  if (!core::is_terminal(state) || keep == core::Keep::kForgotten) return;
  const Key key(job.queue.view(), state, EndedThings::kJobs);
  const auto found = pairs_.find(key);
  MILLRACE_CHECK(found != pairs_.end());  // a queue is announced before its jobs
  note_end(key, found->second, at);
}

// A workflow with a callback that still runs is not due before the end of that, which is a further
// change of it.
void RetentionPlanner::ended(const core::Workflow& workflow) {
  if (!terms::has_ended(workflow.state) || core::calls_back(workflow)) return;
  const core::State state = core::retained_as(workflow.state);
  const Key key(workflow.spec.queue.view(), state, EndedThings::kWorkflows);
  const auto [found, created] = pairs_.try_emplace(key);
  Pair& pair = found->second;
  if (created) {  // its queue was deleted
    pair.queue = workflow.spec.queue;
    pair.keep = of_no_queue_.of(state);
  }
  note_end(key, pair, *workflow.ended_at);
}

void RetentionPlanner::note_end(const Key& key, Pair& pair, Time at) {
  if (pair.in_work) {
    pair.learnt_in_work = std::min(pair.learnt_in_work.value_or(at), at);
  } else if (!pair.oldest || at < *pair.oldest) {
    pair.oldest = at;
    reschedule(key, pair);
  }
}

void RetentionPlanner::set_keep(const SharedBytes& queue, const core::Retention& retention) {
  for (const core::State state : kTerminalStates) {
    for (const EndedThings what : kKinds) {
      const Key key(queue.view(), state, what);
      const auto [found, created] = pairs_.try_emplace(key);
      Pair& pair = found->second;
      const std::optional<Duration>& keep = retention.of(state);
      if (!created && pair.keep == keep) continue;
      pair.queue = queue;
      pair.keep = keep;
      reschedule(key, pair);
    }
  }
}

void RetentionPlanner::forget(const SharedBytes& queue) {
  for (const core::State state : kTerminalStates) {
    const auto jobs = pairs_.find(Key(queue.view(), state, EndedThings::kJobs));
    if (jobs != pairs_.end()) {
      if (jobs->second.due) due_.erase({*jobs->second.due, jobs->first});
      pairs_.erase(jobs);
    }
    // Workflows outlive their queue.
    const auto workflows = pairs_.find(Key(queue.view(), state, EndedThings::kWorkflows));
    if (workflows == pairs_.end()) continue;
    workflows->second.keep = of_no_queue_.of(state);
    reschedule(workflows->first, workflows->second);
  }
}

std::vector<RetentionCut> RetentionPlanner::take_due(Time now, std::size_t limit) {
  std::vector<RetentionCut> cuts;
  while (cuts.size() < limit && !due_.empty() && due_.begin()->first <= now) {
    const Key key = due_.begin()->second;
    Pair& pair = pairs_.find(key)->second;
    const auto& [queue, state, what] = key;
    cuts.push_back({what, pair.queue, state, now - *pair.keep});
    pair.in_work = true;
    reschedule(key, pair);
  }
  return cuts;
}

void RetentionPlanner::finished(const RetentionCut& cut, std::optional<Time> oldest, Time now) {
  const Key key(cut.queue.view(), cut.state, cut.what);
  const auto found = pairs_.find(key);
  // The queue was deleted meanwhile, and perhaps created again.
  if (found == pairs_.end() || !found->second.in_work) return;
  Pair& pair = found->second;
  pair.in_work = false;
  pair.oldest = oldest ? oldest : pair.learnt_in_work;
  pair.learnt_in_work.reset();
  pair.not_before = now + kRetentionPause;
  reschedule(key, pair);
}

std::optional<Time> RetentionPlanner::next_due() const {
  if (due_.empty()) return std::nullopt;
  return due_.begin()->first;
}

void RetentionPlanner::reschedule(const Key& key, Pair& pair) {
  if (pair.due) due_.erase({*pair.due, key});
  pair.due.reset();
  if (pair.in_work || !pair.keep || !pair.oldest) return;
  pair.due = std::max(add_saturating(*pair.oldest, *pair.keep), pair.not_before);
  due_.emplace(*pair.due, key);
}

}  // namespace millrace::engine
