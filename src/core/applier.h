// Applies events to the state, one operator per event type. Nothing else changes the state.
// apply.cc implements the life of a job, apply_operate.cc the actions of operators and retention,
// apply_schedules.cc the schedules, apply_workflows.cc
// the workflows, catalog.cc the catalog, operations.cc the operations.
#pragma once

#include <optional>
#include <string_view>

#include "base/check.h"
#include "core/shard_state.h"

namespace millrace::core {

class Applier {
 public:
  Applier(ShardState& state, Time at) : state_(state), at_(at) {}

  void operator()(const QueueChanged& event);
  void operator()(const Submitted& event);
  void operator()(const Claimed& event);
  void operator()(const Extended& event);
  void operator()(const AttemptEnded& event);
  void operator()(const Logged& event);
  void operator()(const BecameDue& event);
  void operator()(const Expired& event);
  void operator()(const CancelRequested& event);
  void operator()(const Cancelled& event);
  void operator()(const Retried& event);
  void operator()(const Edited& event);
  void operator()(const Deleted& event);
  void operator()(const QueuePurged&) {}  // only for the log: the deletions came before
  void operator()(const KeysExpired& event);
  void operator()(const UniquesReleased& event);
  void operator()(const EpochStarted& event);
  void operator()(const LeasesExtended& event);
  void operator()(const Finished& event);
  void operator()(const QueueDeleted& event);
  void operator()(const ScheduleSet& event);
  void operator()(const ScheduleAdvanced& event);
  void operator()(const ScheduleDeleted& event);
  void operator()(const CatalogPut& event);
  void operator()(const CatalogDeleted& event);
  void operator()(const LimitSet& event);
  void operator()(const LimitDeleted& event);
  void operator()(const SlowedDown& event);
  void operator()(const BreakerTurned& event);
  void operator()(const Debounced& event);
  void operator()(const ShareTaken& event);
  void operator()(const SharesSet& event);
  void operator()(const OperationSet& event);
  void operator()(const OperationAdvanced& event);
  void operator()(const OperationsForgotten& event);
  void operator()(const Audited& event);
  void operator()(const WorkflowSet& event);
  void operator()(const MembersAdded& event);
  void operator()(const MembersReleased& event);
  void operator()(const MembersSettled& event);
  void operator()(const MembersRevived& event);
  void operator()(const WorkflowForgotten& event);

  SlotIndex add(const Job& job);
  void set_payload(JobSlot& slot, const SharedBytes& payload);
  void set_result(JobSlot& slot, const SharedBytes& result);
  void drop(SlotIndex index);

 private:
  SlotIndex existing(const JobId& id) const {
    const SlotIndex index = state_.find(id);
    MILLRACE_CHECK(index != kNoSlot);
    return index;
  }
  void enter(SlotIndex index, JobSlot& slot);
  void leave(SlotIndex index, JobSlot& slot);
  // Call between leave() and enter(): the job may now need a token of a retry budget.
  void choose_lane(JobSlot& slot);
  // Moves jobs that have started before into lanes of their own.
  void choose_lanes_again(const Limit& limit);
  // A successor takes the running job's unique key.
  void supersede(const Job& successor);
  // Adds the job to the ready jobs of its lane; withdraw() removes it.
  void offer(SlotIndex index, JobSlot& slot);
  void withdraw(SlotIndex index, JobSlot& slot);
  // Offers the job of the line whose turn it is, and no other.
  void settle_line(std::string_view queue, const SharedBytes& key);
  void move(SlotIndex index, State to);
  void end(SlotIndex index, State to, Keep keep);
  void finish(SlotIndex index, Keep keep);
  // Ends the running attempt and its lease.
  void end_attempt(JobSlot& slot, AttemptOutcome outcome, State to);
  void hold_unique(const JobSlot& slot, const SharedBytes& key, std::optional<Time> until);
  void forget(SlotIndex index);
  void mark(const JobSlot& slot, MarkKind kind, const SharedBytes& reason = {});
  void wake(QueueEntry& queue);
  void set_queue_gate(QueueEntry& queue);
  // Gives the queue its settings, and re-sorts its jobs if their order changed.
  void set_queue_order(QueueEntry& queue, const QueueSettings& settings);
  bool is_offered(SlotIndex index, const JobSlot& slot) const;
  // Adds the job to the counts of its lane, gates and key, or (`more` is false) removes it from
  // them.
  void count_in_lane(const JobSlot& slot, bool more);
  void note_pace(const JobSlot& slot);
  void start_lease(SlotIndex index, JobSlot& slot, const Claimed::Item& item, WorkerLeases& holder);
  void delete_stored(const Deleted::Item& item);
  WorkerLeases& leases_of(const SharedBytes& worker);
  void tell_schedules(const JobId& job);
  void resume_operations();
  void list(ScheduleEntry& entry);
  // --- apply_workflows.cc
  WorkflowEntry& existing_workflow(const JobId& id);
  void note(WorkflowEntry& entry);
  void note(WorkflowEntry& entry, std::uint32_t member);
  void note_all(WorkflowEntry& entry);
  void end_member(WorkflowEntry& entry, const MembersSettled::Item& item);
  void tell_workflow(const JobSlot& slot);
  void tell_workflow(const MemberReport& report);

  ShardState& state_;
  const Time at_;
};

}  // namespace millrace::core
