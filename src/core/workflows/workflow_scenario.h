// For tests: one workflow with a terse interface. A member is named by its ref, a callback by its
// role; the home is shard 0.
#pragma once

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/workflows/workflows_testing.h"

namespace millrace::core {

class WorkflowScenario : public WorkflowShards {
 public:
  using WorkflowShards::WorkflowShards;

  // Needs: "a" has succeeded, "!a" has failed, "*a" has ended.
  MemberDraft member(const std::string& ref, const std::vector<std::string>& needs = {},
                     std::uint32_t on = 0) {
    MemberDraft draft;
    draft.ref = SharedBytes(ref);
    for (const std::string& need : needs) {
      const NeedOn what = need[0] == '!'   ? NeedOn::kFailed
                          : need[0] == '*' ? NeedOn::kEnded
                                           : NeedOn::kSucceeded;
      const bool plain = what == NeedOn::kSucceeded;
      draft.needs.push_back({SharedBytes(plain ? need : need.substr(1)), what});
    }
    draft.queue = SharedBytes(queue_of(on));
    draft.job = submissions.keep(job(queue_of(on)));
    return draft;
  }
  MemberDraft any(const std::string& ref, const std::vector<std::string>& needs) {
    MemberDraft draft = member(ref, needs);
    draft.any = true;
    return draft;
  }
  static JobSpec job(const std::string& queue) {
    JobSpec spec;
    spec.queue = SharedBytes(queue);
    spec.type = SharedBytes("work");
    spec.payload = SharedBytes("1");
    return spec;
  }
  Callback callback(MemberRole role, std::uint32_t on = 0) {
    const std::string queue = queue_of(on);
    return {role, SharedBytes(queue), submissions.keep(job(queue))};
  }
  JobId make_id(std::uint64_t number) const {
    return make_job_id(now, queue_bits(queue_of(0)), number);
  }

  // The command that later ones are about.
  CreateWorkflow workflow(std::vector<MemberDraft> members) {
    CreateWorkflow create;
    create.id = make_id(1);
    create.spec.queue = SharedBytes(queue_of(0));
    create.members = std::move(members);
    create.content = fingerprint("content");
    return create;
  }
  WorkflowReply create(const CreateWorkflow& command) {
    id = command.id;
    return std::get<WorkflowReply>(decide(0, command));
  }
  WorkflowReply create(std::vector<MemberDraft> members) {
    return create(workflow(std::move(members)));
  }
  WorkflowReply tell(const Command& command) { return std::get<WorkflowReply>(decide(0, command)); }
  Rejection add(std::vector<MemberDraft> members, const std::string& by = "") {
    AddMembers add;
    add.id = id;
    add.members = std::move(members);
    add.while_active = SharedBytes(by);
    return tell(add).refusal.why;
  }
  Rejection close() { return tell(CloseWorkflow{id, {}}).refusal.why; }
  Rejection cancel() { return tell(CancelWorkflow{id, SharedBytes("by hand"), {}}).refusal.why; }
  Rejection retry(const std::vector<std::string>& refs = {}) {
    RetryWorkflow retry;
    retry.id = id;
    for (const std::string& ref : refs) retry.refs.emplace_back(ref);
    const Rejection why = tell(retry).refusal.why;
    pass_all();
    return why;
  }
  Rejection skip(const std::string& ref) {
    return tell(SkipMember{id, SharedBytes(ref), {}}).refusal.why;
  }
  Rejection remove(bool by_retention = false) {
    DeleteWorkflow remove;
    remove.id = id;
    remove.by_retention = by_retention;
    const Rejection why = tell(remove).refusal.why;
    pass_all();
    return why;
  }

  // --- The worker.
  // Claims all that is ready, and returns the job of that name; fails the test if there is none.
  Job claim(const std::string& name) {
    pass_all();
    for (std::uint32_t number = 0; number < size(); ++number) {
      Claim claim;
      for (std::uint32_t on = 0; on < size(); ++on) claim.queues.emplace_back(queue_of(on));
      claim.limit = 1'000;
      claim.lease = Duration{3'600'000};
      claim.worker = SharedBytes("worker");
      auto reply = std::get<ClaimReply>(decide(number, claim));
      for (auto& item : reply.jobs) {
        EXPECT_NE(item.job.extras, nullptr);
        const Membership& member = *item.job.extras->member;
        const bool is_member = member.role == MemberRole::kMember;
        leased[is_member ? std::string(member.ref.view()) : std::string(name_of(member.role))] = {
            number, std::move(item.job)};
      }
    }
    const auto found = leased.find(name);
    EXPECT_NE(found, leased.end()) << name << " is not to be had";
    return found == leased.end() ? Job{} : found->second.second;
  }
  ItemReply end(const std::string& name, AckOutcome outcome, AckRight right = AckRight::kLease) {
    if (right == AckRight::kLease) claim(name);
    const auto& [number, job] = leased.at(name);
    Ack ack;
    ack.right = right;
    ack.items.resize(1);
    ack.items[0].id = job.id;
    ack.items[0].token = job.token;
    ack.items[0].outcome = outcome;
    if (outcome == AckOutcome::kDead) ack.items[0].error = std::make_shared<JobError>();
    const ItemReply reply = std::get<ItemsReply>(decide(number, ack)).items.at(0);
    pass_all();
    return reply;
  }
  // The member succeeds, and its ack adds members and skips others. The report stays in its box.
  Refusal grow(const std::string& name, std::vector<MemberDraft> members,
               const std::vector<std::string>& skip = {}) {
    claim(name);
    const auto& [number, job] = leased.at(name);
    Growth growth;
    growth.members = std::move(members);
    for (const std::string& ref : skip) growth.skip.emplace_back(ref);
    Ack ack;
    ack.items.resize(1);
    ack.items[0].id = job.id;
    ack.items[0].token = job.token;
    ack.items[0].outcome = AckOutcome::kSucceeded;
    ack.items[0].grow = std::make_shared<const Growth>(std::move(growth));
    return std::get<ItemsReply>(decide(number, ack)).items.at(0).refusal;
  }
  void run(const std::string& name) { end(name, AckOutcome::kSucceeded); }
  void fail(const std::string& name) { end(name, AckOutcome::kDead); }
  // A transaction of the user has finished the job, which it leased once.
  void finish(const std::string& name) { end(name, AckOutcome::kSucceeded, AckRight::kFence); }

  // --- What is seen.
  const WorkflowEntry* entry() { return machine().workflows().find(id); }
  Workflow record() {
    EXPECT_NE(entry(), nullptr) << "the workflow is not in memory";
    return entry() == nullptr ? Workflow{} : entry()->record();
  }
  std::string state() { return std::string(name_of(record().state)); }
  // "a=active b=failed:dead".
  std::string members() {
    GetWorkflow get;
    get.id = id;
    get.limit = 1'000;
    std::string text;
    for (const MemberView& member : tell(get).members) {
      if (!text.empty()) text += ' ';
      text += std::string(member.spec.ref.view()) + "=" + std::string(name_of(member.fate.state));
      if (member.fate.reason == MemberReason::kNone) continue;
      text += ":" + std::string(name_of(member.fate.reason));
    }
    return text;
  }
  MemberFate fate(const std::string& ref) { return entry()->fate_of(*entry()->find(ref)); }
  JobId job_of(const std::string& ref) { return entry()->job_of(*entry()->find(ref)); }

  JobId id;
  std::map<std::string, std::pair<std::uint32_t, Job>> leased;  // the last lease of each name
};

}  // namespace millrace::core
