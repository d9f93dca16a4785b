// All live state of a shard. Only apply() changes it; deciding code reads it through a const
// reference.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/container/btree_set.h"
#include "absl/container/flat_hash_map.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/catalog/catalog.h"
#include "core/change_log.h"
#include "core/event.h"
#include "core/flow/gates.h"
#include "core/flow/order_index.h"
#include "core/jobs/ended_leases.h"
#include "core/jobs/job_slots.h"
#include "core/jobs/key_index.h"
#include "core/jobs/unique_index.h"
#include "core/machine.h"
#include "core/operations/operation.h"
#include "core/queues/queue_index.h"
#include "core/schedules/schedule_index.h"
#include "core/string_map.h"
#include "core/workflows/workflow_index.h"

namespace millrace::core {

struct TimerKey {
  Time at{};
  std::uint64_t ord = 0;
  SlotIndex slot = kNoSlot;
  friend bool operator<(const TimerKey& a, const TimerKey& b) {
    return a.at != b.at ? a.at < b.at : a.ord < b.ord;
  }
};
using Timers = absl::btree_set<TimerKey>;

// The running jobs of one worker. An entry exists while the worker has any.
struct WorkerLeases {
  SharedBytes worker;
  absl::btree_map<std::uint64_t, SlotIndex> by_token;
};

struct ShardState {
  ShardFacts facts;

  SlotPool slots;
  absl::flat_hash_map<JobId, SlotIndex> by_id;
  QueueIndex queues;
  StringMap<std::unique_ptr<WorkerLeases>> workers;

  Timers due;     // scheduled and retrying jobs, at run_at
  Timers expiry;  // waiting jobs that never started, at expires_at
  Timers leases;  // running jobs, at the earlier of lease and deadline

  KeyIndex keys;
  UniqueIndex uniques;
  EndedLeases ended_leases;
  ScheduleIndex schedules;
  CatalogIndex catalog;
  OperationIndex operations;
  GateIndex gates;
  OrderIndex orders;
  WorkflowIndex workflows;
  std::uint64_t workflows_active = 0;  // members of all of them
  std::uint32_t shard = 0;             // of `shards`
  std::uint32_t shards = 1;
  std::uint64_t audited = 0;  // number of entries ever made
  Sha256 audit_head{};        // the hash of the newest one

  ChangeLog changes;
  // Another node writes the tables, so they may hold any job.
  bool following = false;
  std::uint64_t bytes_held = 0;  // payloads and results

  // Within a step: ends of members whose workflows live on other shards.
  std::vector<MemberReport> unreported;
  // Within a step: retries by hand of members' jobs, which their workflows decide.
  std::vector<MemberWish> wishes;
  // Likewise:
  std::vector<QueueEntry*> woken;
  std::vector<Ending> endings;
  // Jobs forgotten on ending, until free_retired(). `retired_slots` has all of them in order,
  // `retired` the last one of each id: within one step an id may be reused, and its job forgotten
  // again.
  absl::flat_hash_map<JobId, SlotIndex> retired;
  std::vector<SlotIndex> retired_slots;
  std::vector<std::unique_ptr<QueueEntry>> deleted_queues;  // jobs in `retired_slots` point to them

  // kNoSlot: the job is not in memory.
  SlotIndex find(const JobId& id) const {
    const auto found = by_id.find(id);
    return found == by_id.end() ? kNoSlot : found->second;
  }
  // The job has not ended. Every unfinished job of the shard is in memory.
  bool lives(const JobId& id) const {
    const SlotIndex index = find(id);
    return index != kNoSlot && !is_terminal(slots.at(index).state);
  }
  // Prefetches the index entries and slots of a batch of jobs, all in parallel, before they are
  // looked up.
  template <typename Items, typename IdOf>
  void prefetch(const Items& items, IdOf id_of) const {
    for (const auto& item : items) by_id.prefetch(id_of(item));
    for (const auto& item : items) {
      if (const SlotIndex index = find(id_of(item)); index != kNoSlot) slots.prefetch(index);
    }
  }
  void retire(const JobId& id, SlotIndex index) {
    retired[id] = index;
    retired_slots.push_back(index);
  }
  bool is_home_of(const JobId& workflow) const { return queue_bits(workflow) % shards == shard; }
  const QueueEntry* find_queue(std::string_view name) const { return queues.find(name); }
  // The running job whose live lease is `token`; kNoSlot: the lease is lost.
  SlotIndex find_leased(const JobId& id, LeaseToken token) const;
};

// The only function that changes state.
void apply_event(ShardState& state, const Event& event, Time at);

// Recovery: loads a job from the tables, with its payload while less than `keep_bytes` are in
// memory.
void load_job(ShardState& state, const Job& job, std::uint64_t keep_bytes);
void load_schedule(ShardState& state, const Schedule& schedule);
void load_workflow(ShardState& state, const WorkflowImage& whole);
// Creates a limit or replaces its settings, and counts its jobs.
void set_limit(ShardState& state, const Limit& limit, Time now);
// Applies the queue's settings for shares and ageing. It must be empty, or the caller re-sorts its
// jobs.
void set_fair(QueueEntry& queue);
// Wakes the queues of gates that have opened.
void wake_opened(ShardState& state);
// Opens gates that are due, and wakes their queues.
void open_gates(ShardState& state, Time now);
// The queue has gained claimable jobs.
void wake(ShardState& state, QueueEntry& queue);
// Frees the jobs and queues retired within the step.
void free_retired(ShardState& state);
// Drops from memory a payload that the tables have.
void let_go_of_payload(ShardState& state, JobSlot& slot);
// Removes a job's slot from memory; the tables keep the job.
void evict(ShardState& state, SlotIndex index);

// The slot as a value; to_view() adds the job's other data in memory.
Job to_job(const JobSlot& slot);
std::shared_ptr<const JobView> to_view(const ShardState& state, const JobSlot& slot);
JobRef to_ref(const JobSlot& slot);
JobRef to_ref(const Job& job);

ReadyKey ready_key(const JobSlot& slot, SlotIndex index);
// When a lease ends: the earlier of its expiry and the attempt's deadline.
Time lease_end(const Activity& activity);

// The job must no longer start, although its timer has not fired yet.
bool is_past_expiry(const JobSlot& slot, Time now);
// When the job became ready. Meaningful only for a ready job.
Time ready_since(const JobSlot& slot);

// The line of a job with an order key that has not ended.
const OrderLine& line_of(const ShardState& state, const JobSlot& slot);

// See Machine::claimable.
std::size_t count_claimable(const ShardState& state, std::string_view queue,
                            const std::vector<SharedBytes>& types, Time now, std::size_t most);

// The projection's side: see Machine::take_changes, changes_stored.
std::unique_ptr<Changes> take_changes(ShardState& state);
void changes_stored(ShardState& state, std::uint64_t keep_bytes);

// Tests: see Machine.
Fingerprint digest(const ShardState& state);
void check_invariants(const ShardState& state);

}  // namespace millrace::core
