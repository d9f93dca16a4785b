// The schedules of a shard: by name, by the time of their next due action, and by the job whose end
// an instant awaits. An entry's address stays the same until its schedule is deleted.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/schedules/schedule.h"

namespace millrace::core {

struct ScheduleEntry {
  Schedule schedule;
  bool dirty = false;  // the projection must write it
  // The wall-clock time at which the schedule needs attention; none: it waits for an event.
  // Maintained by the index.
  std::optional<Time> wakes;
};

class ScheduleIndex {
 public:
  // Null: there is no such schedule.
  ScheduleEntry* find(std::string_view name) {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second.get();
  }
  const ScheduleEntry* find(std::string_view name) const {
    const auto found = by_name_.find(name);
    return found == by_name_.end() ? nullptr : found->second.get();
  }
  ScheduleEntry& add(Schedule schedule) {
    auto entry = std::make_unique<ScheduleEntry>();
    entry->schedule = std::move(schedule);
    ScheduleEntry& added = *entry;
    by_name_.emplace(added.schedule.name.view(), std::move(entry));
    return added;
  }
  void remove(ScheduleEntry& entry) {
    unlist(entry);
    by_name_.erase(entry.schedule.name.view());
  }

  // Call before and after every change of an entry. `job_lives`: to this shard's knowledge, the
  // newest job of the schedule has not ended.
  void unlist(ScheduleEntry& entry) {
    if (!entry.schedule.progress.broken.empty()) --broken_;
    if (entry.wakes) due_.erase({*entry.wakes, entry.schedule.name.view()});
    entry.wakes.reset();
    if (entry.schedule.progress.waiting) awaited_.erase(awaited_by(entry));
  }
  void list(ScheduleEntry& entry, bool job_lives) {
    const ScheduleProgress& progress = entry.schedule.progress;
    if (!progress.broken.empty()) ++broken_;
    if (progress.waiting) awaited_.insert(awaited_by(entry));
    entry.wakes = wakes_at(entry.schedule, job_lives);
    if (entry.wakes) due_.insert({*entry.wakes, entry.schedule.name.view()});
  }
  // The entries with an instant that awaits the end of this job. There are several if their jobs
  // share a unique key.
  std::vector<ScheduleEntry*> awaiting(const JobId& job) {
    std::vector<ScheduleEntry*> entries;
    if (awaited_.empty()) return entries;
    auto found = awaited_.lower_bound({job, std::string_view()});
    for (; found != awaited_.end() && found->first == job; ++found) {
      entries.push_back(find(found->second));
    }
    return entries;
  }
  // Jobs whose end is awaited, with the names of the schedules.
  const absl::btree_set<std::pair<JobId, std::string_view>>& awaited() const { return awaited_; }

  std::size_t size() const { return by_name_.size(); }
  std::size_t broken() const { return broken_; }
  std::optional<Time> first_due(Time after) const {
    const auto first = due_.lower_bound({after + Duration{1}, std::string_view()});
    if (first == due_.end()) return std::nullopt;
    return first->first;
  }
  // Visits entries in order of time, until `visit` returns false.
  template <typename Visit>
  void walk_due(Visit visit) const {
    for (const auto& [at, name] : due_) {
      if (!visit(at, by_name_.find(name)->second->schedule)) return;
    }
  }
  // Visits entries in order of name, starting after `after`, until `visit` returns false.
  template <typename Visit>
  void walk(std::string_view after, Visit visit) const {
    for (auto at = by_name_.upper_bound(after); at != by_name_.end(); ++at) {
      if (!visit(*at->second)) return;
    }
  }

  static std::optional<Time> wakes_at(const Schedule& schedule, bool job_lives) {
    const ScheduleProgress& progress = schedule.progress;
    if (schedule.paused) return std::nullopt;
    // An unplannable schedule is retried at its `due` time.
    if (!progress.planned) return progress.broken.empty() ? kAtOnce : progress.due;
    if (!progress.waiting || progress.last_box != kNoJob || job_lives) return progress.due;
    return progress.tries == 0 ? kAtOnce : progress.due;
  }

 private:
  static std::pair<JobId, std::string_view> awaited_by(const ScheduleEntry& entry) {
    return {entry.schedule.progress.last_job, entry.schedule.name.view()};
  }

  // Views of the entries' own names.
  absl::btree_map<std::string_view, std::unique_ptr<ScheduleEntry>> by_name_;
  absl::btree_set<std::pair<Time, std::string_view>> due_;
  absl::btree_set<std::pair<JobId, std::string_view>> awaited_;
  std::size_t broken_ = 0;
};

}  // namespace millrace::core
