// Decides commands about workflows, and what follows from the ends of their members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/decider.h"
#include "core/workflows/resolve.h"
#include "core/workflows/submissions.h"

namespace millrace::core {

class WorkflowDecider : public Decider {
 public:
  using Decider::Decider;
  using Decider::operator();

  // --- workflows.cc
  Reply operator()(const CreateWorkflow& command);
  Reply operator()(const AddMembers& command);
  Reply operator()(const CloseWorkflow& command);
  Reply operator()(const DeleteWorkflow& command);
  Reply operator()(const GetWorkflow& command);
  // --- grow.cc
  Reply operator()(const Ack& command);
  // --- steer_workflows.cc
  Reply operator()(const CancelWorkflow& command);
  Reply operator()(const RetryWorkflow& command);
  Reply operator()(const SkipMember& command);
  Reply operator()(const SettleMembers& command);
  Reply operator()(const RetryMember& command);
  Reply operator()(const CancelMembers& command);
  void end_timeouts(std::size_t limit);

  // --- advance_workflows.cc
  // Decides what the ends of members have made due: at most `limit` releases and skips. `turn`: the
  // workflow that was served last.
  void advance(std::size_t limit, JobId& turn);
  // Makes messages of the ends of this step whose workflows live on other shards, and of retries by
  // hand. Every step must.
  void report();

 private:
  // --- workflows.cc
  // Like resolve_members(), and their limits exist.
  ResolvedMembers resolve(const WorkflowEntry* entry, const std::vector<MemberDraft>& drafts) const;
  std::optional<WorkflowReply> repeated(const CreateWorkflow& command) const;
  WorkflowReply made(const JobId& id, bool created = false) const;
  static WorkflowReply refused_workflow(Rejection why,
                                        RefusalDetail detail = RefusalDetail::kNone) {
    WorkflowReply reply;
    reply.refusal = {why, {}, detail};
    return reply;
  }
  // Null: `refusal` says why.
  const WorkflowEntry* find_workflow(const JobId& id,
                                     const std::optional<std::uint64_t>& if_version,
                                     WorkflowReply& refusal) const;
  bool is_due_for_retention(const Workflow& workflow) const;
  void remove_jobs(const WorkflowEntry& entry);
  void send(const MemberMessage& message, std::string_view about);

  // --- grow.cc
  // What an ack adds, judged at the workflow's home.
  struct Grown {
    Refusal refusal;
    std::vector<MemberSpec> members;
    std::vector<std::uint32_t> skipped;
  };
  Grown judge_growth(const WorkflowEntry* entry, const Growth& growth, std::uint32_t by,
                     std::uint32_t round) const;
  Grown judge_growth(const AckItem& item) const;
  void grow(const JobId& workflow, std::uint32_t by, Grown grown);

  // --- steer_workflows.cc
  static bool may_go_on(const WorkflowEntry& entry);
  void settle_reported(const WorkflowEntry& entry, const MemberReport& report);
  void stop(const JobId& id, WorkflowReason reason, const SharedBytes& text);
  ItemReply retry_job(const RetryMember& command);
  bool is_wanted(const Membership& member);
  bool withdraw(const JobId& box);

  // --- advance_workflows.cc
  void report_wishes();
  std::size_t advance_one(const WorkflowEntry& entry, std::size_t limit);
  std::size_t release_and_skip(const WorkflowEntry& entry, std::size_t limit);
  std::size_t cancel_active(const WorkflowEntry& entry, std::size_t limit);
  bool cancel_member(const WorkflowEntry& entry, std::uint32_t number);
  void settle(const WorkflowEntry& entry, MembersSettled::Cause cause, std::uint32_t number,
              MemberState state, MemberReason reason);
  bool release(const WorkflowEntry& entry, MemberNumber member);
  std::optional<JobSpec> job_for(const WorkflowEntry& entry, MemberNumber member) const;
  std::vector<Parent> parents_of(const WorkflowEntry& entry, MemberNumber member) const;
  // None: it can be submitted.
  std::optional<Refusal> judge_release(const JobSpec& spec) const;
  void submit_judged(const JobSpec& spec, const std::optional<IdempotencyKey>& key = {});
  void end(const WorkflowEntry& entry, WorkflowState state);
  void tell(const WorkflowEntry& entry, WorkflowChange change);
  static bool is_to_stop(const WorkflowEntry& entry);
  bool is_here(std::string_view queue) const {
    return queue_bits(queue) % options_.shards == options_.shard;
  }
};

// What the jobs are told that a stop cancels.
SharedBytes stop_reason(const WorkflowEntry& entry);
// The stops that other shards must hear of, or hear again.
std::vector<CancelMembers> stops_to_tell(const ShardState& state);

}  // namespace millrace::core
