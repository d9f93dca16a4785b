#include "engine/shard/retention.h"

#include <algorithm>
#include <array>
#include <variant>

#include "base/check.h"

namespace millrace::engine {
namespace {

constexpr std::array kTerminalStates = {core::State::kSucceeded, core::State::kDead,
                                        core::State::kCancelled, core::State::kExpired};

}  // namespace

void RetentionPlanner::restart(const core::Queue& queue) {
  for (const core::State state : kTerminalStates) {
    const Key key(queue.name.view(), state);
    Pair& pair = pairs_[key];
    pair.queue = queue.name;
    pair.keep = queue.settings.retention.of(state);
    // Unknown until the tables are read, which the first cut, due at once, does.
    if (queue.counts[static_cast<std::size_t>(state)] > 0) pair.oldest = time_from_ms(kMinTimeMs);
    reschedule(key, pair);
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
    } else if (const auto* changed = std::get_if<core::QueueChanged>(&event)) {
      set_keep(changed->queue, changed->settings.retention);
    } else if (const auto* deleted = std::get_if<core::QueueDeleted>(&event)) {
      forget(deleted->queue);
    }
  }
}

void RetentionPlanner::ended(const core::JobRef& job, core::State state, core::Keep keep, Time at) {
  if (!core::is_terminal(state) || keep == core::Keep::kForgotten) return;
  const Key key(job.queue.view(), state);
  const auto found = pairs_.find(key);
  MILLRACE_CHECK(found != pairs_.end());  // a queue is announced before its jobs
  Pair& pair = found->second;
  if (pair.in_work) {
    if (!pair.learnt_in_work) pair.learnt_in_work = at;
  } else if (!pair.oldest) {
    pair.oldest = at;
    reschedule(key, pair);
  }
}

void RetentionPlanner::set_keep(const SharedBytes& queue, const core::Retention& retention) {
  for (const core::State state : kTerminalStates) {
    const Key key(queue.view(), state);
    const auto [found, created] = pairs_.try_emplace(key);
    Pair& pair = found->second;
    const std::optional<Duration>& keep = retention.of(state);
    if (!created && pair.keep == keep) continue;
    pair.queue = queue;
    pair.keep = keep;
    reschedule(key, pair);
  }
}

void RetentionPlanner::forget(const SharedBytes& queue) {
  for (const core::State state : kTerminalStates) {
    const auto found = pairs_.find(Key(queue.view(), state));
    if (found == pairs_.end()) continue;
    if (found->second.due) due_.erase({*found->second.due, found->first});
    pairs_.erase(found);
  }
}

std::vector<RetentionCut> RetentionPlanner::take_due(Time now, std::size_t limit) {
  std::vector<RetentionCut> cuts;
  while (cuts.size() < limit && !due_.empty() && due_.begin()->first <= now) {
    const Key key = due_.begin()->second;
    Pair& pair = pairs_.find(key)->second;
    cuts.push_back({pair.queue, key.second, now - *pair.keep});
    pair.in_work = true;
    reschedule(key, pair);
  }
  return cuts;
}

void RetentionPlanner::finished(const RetentionCut& cut, std::optional<Time> oldest, Time now) {
  const Key key(cut.queue.view(), cut.state);
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
