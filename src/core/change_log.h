// The changes since the projection last took them. Filled by apply(); decides nothing.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/ids.h"
#include "core/catalog/catalog.h"
#include "core/changes.h"
#include "core/jobs/job_slots.h"
#include "core/queues/queue_entry.h"
#include "core/schedules/schedule_index.h"
#include "core/workflows/workflow_index.h"

namespace millrace::core {

// History rows of a job that the tables do not hold yet.
struct PendingHistory {
  std::vector<Attempt> attempts;
  std::vector<LogLine> logs;
  std::vector<Changes::LogTrim> trims;
  std::vector<Mark> marks;
};
using PendingHistories = absl::flat_hash_map<std::uint64_t, PendingHistory>;  // by ord

struct ChangeLog {
  std::vector<std::pair<SlotIndex, std::uint64_t>>
      jobs;                    // (slot, ord): the slot may have been freed since
  std::size_t jobs_freed = 0;  // entries of `jobs` whose slot was freed; not written
  std::vector<QueueEntry*> queues;
  std::vector<SharedBytes> deleted_queues;  // some may exist again
  std::vector<ScheduleEntry*> schedules;
  std::vector<SharedBytes> deleted_schedules;  // some may exist again
  std::vector<ScheduleRunRow> schedule_runs;   // of schedules that exist
  absl::btree_set<CatalogKey> catalog;         // put or deleted
  absl::btree_set<JobId> operations;           // set, advanced or forgotten
  // By kind and name. A limit that was deleted and made again is in both.
  std::vector<std::pair<LimitKind, SharedBytes>> limits;
  std::vector<std::pair<LimitKind, SharedBytes>> deleted_limits;
  std::vector<JobId> workflows;  // some may be gone
  absl::btree_set<JobId> deleted_workflows;
  std::vector<JobId> deleted;
  PendingHistories histories;
  std::vector<KeyRow> keys;
  std::optional<Time> keys_expired_until;
  std::optional<Time> uniques_released_until;
  std::vector<HeldUnique> held_uniques;
  std::vector<EndedLease> ended_leases;
  std::vector<AuditRow> audit;
  // Deleted jobs that the tables may still contain.
  absl::flat_hash_set<JobId> tombstones;

  // Changes that the projection has taken and not yet stored.
  struct InFlight {
    std::vector<std::pair<SlotIndex, std::uint64_t>> ended_jobs;  // to leave memory once stored
    std::vector<std::pair<SlotIndex, std::uint64_t>> payloads;    // of jobs that have not ended
    std::vector<JobId> deleted;
    PendingHistories histories;
    std::vector<ScheduleRunRow> schedule_runs;
    std::vector<JobId> workflows;  // those that can't change any more leave memory once stored
    absl::btree_set<JobId> deleted_workflows;
  };
  std::optional<InFlight> in_flight;

  void note(JobSlot& slot, SlotIndex index) {
    if (slot.dirty) return;
    slot.dirty = true;
    jobs.emplace_back(index, slot.ord);
  }
  std::size_t changed_jobs() const { return jobs.size() - jobs_freed; }
  void note(QueueEntry& queue) {
    if (queue.dirty) return;
    queue.dirty = true;
    queues.push_back(&queue);
  }
  void note(ScheduleEntry& schedule) {
    if (schedule.dirty) return;
    schedule.dirty = true;
    schedules.push_back(&schedule);
  }
  void note(WorkflowEntry& workflow) {
    if (workflow.dirty) return;
    workflow.dirty = true;
    workflows.push_back(workflow.workflow.id);
  }
  // The workflow is deleted, and the tables may still show it.
  bool is_forgotten(const JobId& workflow) const {
    return deleted_workflows.contains(workflow) ||
           (in_flight && in_flight->deleted_workflows.contains(workflow));
  }
  void note_deleted(const JobId& id) {
    deleted.push_back(id);
    tombstones.insert(id);
  }
};

}  // namespace millrace::core
