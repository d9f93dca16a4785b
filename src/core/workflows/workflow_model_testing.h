// For tests: a model of workflows that knows nothing but lists. It reads the events of every shard,
// checks each decision against the needs and the ends so far, and recomputes all fates.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "core/machine.h"
#include "core/workflows/workflow_index.h"
#include "core/workflows/workflow_lists_testing.h"

namespace millrace::core {

// The reason of cancellations that are no workflow's.
inline constexpr std::string_view kByHand = "by hand";

class WorkflowModel {
 public:
  using Flow = ListedFlow;
  using Member = Flow::Member;

  explicit WorkflowModel(std::uint32_t shards) : shards_(shards) {}

  void apply(std::uint32_t shard, const EventBatch& batch) {
    shard_ = shard;
    for (const Event& event : batch.events) {
      std::visit([&](const auto& known) { note(known); }, event);
    }
  }
  // The machine's members are as the model has them.
  void compare(std::uint32_t shard, const Machine& machine) const {
    for (const auto& [id, flow] : flows_) {
      if (queue_bits(id) % shards_ != shard) continue;
      const WorkflowEntry* const entry = machine.workflows().find(id);
      if (entry == nullptr) {  // only the tables have it
        ASSERT_TRUE(terms::has_ended(flow.record.state));
        ASSERT_EQ(flow.count(MemberState::kFailed), 0U);
        continue;
      }
      ASSERT_EQ(entry->members.size(), flow.members.size());
      for (std::uint32_t i = 0; i < flow.members.size(); ++i) {
        ASSERT_EQ(entry->fate_of(MemberNumber{i}), flow.members[i].fate) << "member " << i;
        ASSERT_EQ(entry->graph.is_uncaught(MemberNumber{i}), flow.is_uncaught(i)) << i;
      }
      ASSERT_EQ(entry->workflow.state, flow.record.state);
    }
    for (const auto& [id, entry] : machine.workflows().all()) ASSERT_TRUE(flows_.contains(id));
  }
  const std::map<JobId, Flow>& flows() const { return flows_; }
  // Whether each callback that a workflow's end promised, and no other, was submitted.
  void check_callbacks() const {
    for (const JobId& id : promised_) EXPECT_TRUE(called_.contains(id)) << "a callback never ran";
    for (const JobId& id : called_) EXPECT_TRUE(promised_.contains(id)) << "an unknown callback";
  }

 private:
  // --- Jobs.
  void remember(const Job& job) {
    if (job.extras == nullptr || job.extras->member == nullptr) return;
    jobs_[job.id] = *job.extras->member;
    if (job.extras->member->role != MemberRole::kMember) called_.insert(job.id);
  }
  void job_ended(const JobId& job, State state) {
    const auto found = jobs_.find(job);
    if (found == jobs_.end() || found->second.role != MemberRole::kMember) return;
    const Membership& member = found->second;
    const auto flow = flows_.find(member.workflow);
    if (flow == flows_.end() || queue_bits(member.workflow) % shards_ != shard_) return;
    const bool succeeded = state == State::kSucceeded;
    const MemberReason reason = succeeded                    ? MemberReason::kNone
                                : state == State::kExpired   ? MemberReason::kExpired
                                : state == State::kCancelled ? MemberReason::kCancelled
                                : state == State::kDead      ? MemberReason::kDead
                                                             : MemberReason::kDeleted;
    flow->second.end(member.number, member.round,
                     succeeded ? MemberState::kSucceeded : MemberState::kFailed, reason);
  }
  // Once a workflow has been stopped and has ended, none of its jobs starts. One that was made
  // twice is a repetition of the relay after the job was gone.
  void note(const Claimed& event) {
    for (const Claimed::Item& item : event.items) {
      const auto found = jobs_.find(item.job.id);
      if (found == jobs_.end() || found->second.role != MemberRole::kMember) continue;
      const auto flow = flows_.find(found->second.workflow);
      if (flow == flows_.end() || made_[item.job.id] > 1) continue;
      ASSERT_FALSE(flow->second.stopped && terms::has_ended(flow->second.record.state));
    }
  }
  // A stop meets only the round that it is about.
  void cancelled(const JobId& job, const SharedBytes& reason) {
    const auto found = jobs_.find(job);
    if (found == jobs_.end() || reason == SharedBytes(kByHand)) return;
    const auto flow = flows_.find(found->second.workflow);
    if (flow == flows_.end()) return;
    ASSERT_TRUE(flow->second.stopped);
    ASSERT_EQ(flow->second.members.at(found->second.number).fate.round, found->second.round);
  }
  void note(const CancelRequested& event) { cancelled(event.job.id, event.reason); }
  void note(const Submitted& event) {
    ++made_[event.job.id];
    remember(event.job);
  }
  void note(const Retried& event) { remember(event.job); }
  void note(const AttemptEnded& event) {
    if (is_terminal(event.state)) job_ended(event.job.id, event.state);
  }
  void note(const Expired& event) { job_ended(event.job.id, State::kExpired); }
  void note(const Cancelled& event) {
    cancelled(event.job.id, event.reason);
    job_ended(event.job.id, State::kCancelled);
  }
  void note(const Finished& event) { job_ended(event.job.id, State::kSucceeded); }
  void note(const Deleted& event) {
    for (const Deleted::Item& item : event.items) {
      if (!is_terminal(item.state)) job_ended(item.job.id, item.state);
    }
  }

  // --- Workflows.
  void note(const MembersAdded& event) {
    Flow& flow = flows_.at(event.workflow);
    ASSERT_FALSE(terms::has_ended(flow.record.state));
    for (const MemberSpec& spec : event.members) {
      flow.members.push_back({spec.needs, spec.any, {}, false});
    }
  }
  void note(const MembersReleased& event) {
    Flow& flow = flows_.at(event.workflow);
    for (const std::uint32_t number : event.numbers) {
      Member& member = flow.members.at(number);
      ASSERT_EQ(flow.record.state, WorkflowState::kRunning);
      ASSERT_EQ(member.fate.state, MemberState::kBlocked);
      ASSERT_EQ(flow.fate(number), MemberState::kActive);
      const std::uint32_t most = flow.record.spec.max_active;
      ASSERT_TRUE(most == 0 || flow.count(MemberState::kActive) < most);
      ASSERT_FALSE(flow.record.spec.on_member_failed == OnMemberFailed::kStop && flow.has_lost());
      member.fate = {MemberState::kActive, MemberReason::kNone, member.fate.round + 1};
      member.refused = false;
    }
  }
  void note(const MembersSettled& event) {
    Flow& flow = flows_.at(event.workflow);
    const bool stops = flow.record.state == WorkflowState::kStopping;
    for (const MembersSettled::Item& item : event.items) {
      Member& member = flow.members.at(item.number);
      const bool blocked = member.fate.state == MemberState::kBlocked;
      switch (event.cause) {
        case MembersSettled::Cause::kReported:
          flow.end(item.number, item.round, item.state, item.reason);
          continue;
        case MembersSettled::Cause::kNeeds:
          ASSERT_TRUE(blocked);
          ASSERT_EQ(flow.fate(item.number), MemberState::kSkipped);
          ASSERT_EQ(item.reason, stops ? MemberReason::kCancelled : MemberReason::kNone);
          break;
        case MembersSettled::Cause::kCall:
          ASSERT_TRUE(blocked);
          ASSERT_EQ(item.reason, MemberReason::kByCall);
          break;
        case MembersSettled::Cause::kRefused:
          ASSERT_TRUE(blocked ? flow.fate(item.number) == MemberState::kActive
                              : stops && member.fate.state == MemberState::kActive);
          member.refused = blocked;
      }
      member.fate.state = item.state;
      member.fate.reason = item.reason;
    }
  }
  void note(const MembersRevived& event) {
    Flow& flow = flows_.at(event.workflow);
    flow.unskip();
    for (const std::uint32_t number : event.numbers) {
      MemberFate& fate = flow.members.at(number).fate;
      ASSERT_EQ(fate.state, MemberState::kFailed);
      fate = {MemberState::kBlocked, MemberReason::kNone, fate.round};
    }
  }
  void note(const WorkflowSet& event) {
    const bool created = event.change == WorkflowChange::kCreated;
    ASSERT_EQ(flows_.contains(event.workflow.id), !created);
    Flow& flow = flows_[event.workflow.id];
    const Workflow before = std::exchange(flow.record, event.workflow);
    if (created) return;
    if (event.change == WorkflowChange::kStopping) flow.stopped = true;
    if (event.change == WorkflowChange::kRetried) flow.stopped = false;
    ASSERT_GT(event.workflow.version, before.version);
    const bool anew = event.change == WorkflowChange::kRetried && terms::has_ended(before.state);
    ASSERT_EQ(event.workflow.generation, before.generation + (anew ? 1 : 0));
    if (event.change == WorkflowChange::kStopping) {
      const bool by_failure = event.workflow.reason == WorkflowReason::kMemberFailed;
      ASSERT_TRUE(!by_failure || flow.has_lost());
    }
    if (event.change == WorkflowChange::kEnded) note_end(flow, before);
  }
  void note_end(const Flow& flow, const Workflow& before) {
    const bool stopped = before.state == WorkflowState::kStopping;
    ASSERT_TRUE(stopped || (before.state == WorkflowState::kRunning && !before.open));
    for (const Member& member : flow.members) ASSERT_TRUE(terms::has_ended(member.fate.state));
    const bool ignores = before.spec.on_member_failed == OnMemberFailed::kIgnore;
    const bool fails =
        stopped ? before.reason != WorkflowReason::kCancelled : flow.is_any_uncaught() && !ignores;
    ASSERT_EQ(flow.record.state, fails     ? WorkflowState::kFailed
                                 : stopped ? WorkflowState::kCancelled
                                           : WorkflowState::kSucceeded);
    std::set<MemberRole> due, run;
    const bool succeeded = flow.record.state == WorkflowState::kSucceeded;
    for (const Callback& callback : before.spec.callbacks) {
      const bool applies = callback.role == MemberRole::kOnEnd ||
                           (callback.role == MemberRole::kOnSuccess) == succeeded;
      if (applies) due.insert(callback.role);
    }
    for (const CallbackRun& callback : flow.record.callbacks) {
      run.insert(callback.role);
      if (!callback.ended) promised_.insert(callback.job);
    }
    ASSERT_EQ(due, run);
  }
  void note(const WorkflowForgotten& event) { flows_.erase(event.workflow); }
  template <typename Other>
  void note(const Other&) {}

  std::uint32_t shards_;
  std::uint32_t shard_ = 0;  // whose events are read
  std::map<JobId, Flow> flows_;
  std::map<JobId, Membership> jobs_;
  std::map<JobId, int> made_;  // how often
  std::set<JobId> promised_, called_;
};

}  // namespace millrace::core
