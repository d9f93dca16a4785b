// For tests: a shard, of several, with a workflow whose home it may be. A member is named by its
// ref, a callback by its role.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/workflows/workflow_index.h"
#include "digest/fingerprint.h"
#include "engine/schedules/planner.h"
#include "engine/shard/outbox.h"
#include "engine/shard/shard_fixture.h"
#include "engine/shard/shards_testing.h"
#include "store/memory/memory_journal.h"
#include "store/memory/memory_tables.h"

namespace millrace::engine {

struct WorkflowWorld : ShardFixture {
  explicit WorkflowWorld(ShardNumber shard = 0, ShardNumber of = 1)
      : WorkflowWorld(shard, of, memory_store_of(shard)) {}
  WorkflowWorld(ShardNumber shard, ShardNumber of, store::Store in)
      : ShardFixture(std::move(in), placed(shard, of)), shards(of), queue(queue_on(shard, of)) {
    run();
  }
  static store::Store memory_store_of(ShardNumber shard) {
    return {"memory", std::make_unique<store::MemoryJournal>(shard),
            std::make_unique<store::MemoryTables>(), nullptr};
  }
  static ShardOptions placed(ShardNumber shard, ShardNumber of) {
    ShardOptions options;
    options.shard = options.machine.shard = shard;
    options.shards = options.machine.shards = of;
    return options;
  }

  static core::JobSpec job_in(const std::string& queue) {
    core::JobSpec job = spec("", queue, "work");
    job.max_attempts = 1;
    return job;
  }
  // Needs the success of others.
  core::MemberDraft member(const std::string& ref, const std::vector<std::string>& needs = {},
                           ShardNumber on = 0) const {
    core::MemberDraft draft;
    draft.ref = SharedBytes(ref);
    for (const std::string& need : needs) draft.needs.push_back({SharedBytes(need)});
    draft.queue = SharedBytes(queue_on(on, shards));
    draft.job = template_of(job_in(queue_on(on, shards)));
    return draft;
  }
  core::CreateWorkflow workflow(std::vector<core::MemberDraft> members) {
    core::CreateWorkflow create;
    create.id = id = make_job_id(now, queue_bits(queue), 1);
    create.spec.queue = SharedBytes(queue);
    create.content = fingerprint("content");
    create.members = std::move(members);
    return create;
  }
  core::WorkflowReply tell(core::Command command) {
    return now_answer<core::WorkflowReply>(std::move(command));
  }
  core::Rejection create(std::vector<core::MemberDraft> members) {
    return tell(workflow(std::move(members))).refusal.why;
  }
  core::Rejection retry() {
    core::RetryWorkflow retry;
    retry.id = id;
    return tell(std::move(retry)).refusal.why;
  }
  core::Rejection cancel_workflow() {
    core::CancelWorkflow cancel;
    cancel.id = id;
    return tell(std::move(cancel)).refusal.why;
  }
  core::Rejection delete_workflow() {
    core::DeleteWorkflow command;
    command.id = id;
    return tell(std::move(command)).refusal.why;
  }

  // --- The worker.
  // Claims all that is ready in the shard's queue: "b c", by name.
  std::string work() {
    core::Claim wanted = ShardFixture::claim({queue}, {}, 100);
    wanted.lease = std::chrono::hours{1};
    const auto claim = now_answer<core::ClaimReply>(core::Command(std::move(wanted)));
    std::map<std::string, core::Job> got;
    for (const core::ClaimReply::Item& item : claim.jobs) got[name_in(item.job)] = item.job;
    std::string names;
    for (auto& [name, job] : got) {
      names += (names.empty() ? "" : " ") + name;
      leased[name] = std::move(job);
    }
    return names;
  }
  static std::string name_in(const core::Job& job) {
    if (job.extras == nullptr || job.extras->member == nullptr) return "a stranger";
    const core::Membership& member = *job.extras->member;
    const bool is_member = member.role == core::MemberRole::kMember;
    return std::string(is_member ? member.ref.view() : name_of(member.role));
  }
  core::Command end_of(const std::string& name, core::AckOutcome outcome) const {
    core::AckItem item;
    item.id = leased.at(name).id;
    item.token = leased.at(name).token;
    item.outcome = outcome;
    if (outcome == core::AckOutcome::kDead) item.error = std::make_shared<core::JobError>();
    return core::Ack{{item}, core::Detail::kIds};
  }
  void end(const std::string& name, core::AckOutcome outcome = core::AckOutcome::kSucceeded) {
    const auto reply = now_answer<core::ItemsReply>(end_of(name, outcome));
    EXPECT_FALSE(reply.items.at(0).refusal) << name;
  }

  // --- What is seen.
  // In memory, or in the tables: "succeeded". "gone": in neither.
  std::string workflow_state() {
    if (const core::WorkflowEntry* const entry = machine().workflows().find(id)) {
      return std::string(name_of(entry->workflow.state));
    }
    const auto stored = store.tables->workflow(id, 0, 0);
    EXPECT_TRUE(stored.has_value());
    if (!stored || !*stored) return "gone";
    return std::string(name_of((*stored)->workflow.state));
  }
  // "a=active b=blocked"; of a workflow in memory.
  std::string members() {
    core::GetWorkflow get;
    get.id = id;
    get.limit = 1'000;
    std::string text;
    for (const core::MemberView& member : tell(std::move(get)).members) {
      if (!text.empty()) text += ' ';
      text += std::string(member.spec.ref.view()) + "=" + std::string(name_of(member.fate.state));
    }
    return text;
  }

  const ShardNumber shards;
  const std::string queue;                  // of the shard
  JobId id;                                 // of the workflow
  std::map<std::string, core::Job> leased;  // the last lease of each name
};

}  // namespace millrace::engine
