// For tests: shards with workflows, as machines with tables, with the relay between them and a
// worker. After each step a second machine has replayed the events, and must have the same state.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/machine.h"
#include "core/stored_testing.h"
#include "core/workflows/submissions_testing.h"
#include "core/workflows/workflow_index.h"

namespace millrace::core {

class WorkflowShards {
 public:
  struct Shard {
    MachineOptions options;
    std::unique_ptr<Machine> machine;
    std::unique_ptr<Machine> follower;
    StoredForTests tables;
    std::vector<EventBatch> since;  // the tables
    std::uint64_t epoch = 1;
  };

  explicit WorkflowShards(std::uint32_t shards = 1, MachineOptions options = {}) {
    options.submissions = &submissions;
    options.shards = shards;
    for (std::uint32_t number = 0; number < shards; ++number) {
      Shard& shard = *shards_.emplace_back(std::make_unique<Shard>());
      options.shard = number;
      shard.options = options;
      shard.machine = std::make_unique<Machine>(options);
      shard.follower = std::make_unique<Machine>(options);
      shard.follower->follow();
      step(number, [&](auto& events) { shard.machine->start_epoch(Epoch{1}, now, events); });
    }
  }

  std::uint32_t size() const { return static_cast<std::uint32_t>(shards_.size()); }
  Shard& shard(std::uint32_t number) { return *shards_.at(number); }
  Machine& machine(std::uint32_t number = 0) { return *shards_.at(number)->machine; }
  std::uint32_t shard_of(std::uint16_t bits) const { return bits % size(); }
  // The first queue of a shard by name: "q0", "q1", ...
  std::string queue_of(std::uint32_t number) const {
    for (int i = 0;; ++i) {
      std::string name = "q" + std::to_string(i);
      if (shard_of(queue_bits(name)) == number) return name;
    }
  }

  // What an engine does in a step: then all that is due, up to `advances`, and the messages.
  void step(std::uint32_t number, const std::function<void(std::vector<Event>&)>& decide) {
    Shard& shard = *shards_.at(number);
    EventBatch batch;
    batch.at = now;
    decide(batch.events);
    for (std::size_t left = advances; left > 0; --left) {
      const std::size_t before = batch.events.size();
      shard.machine->advance_workflows(at_once, now, admission, batch.events);
      if (batch.events.size() == before) break;
    }
    shard.machine->report_members(now, batch.events);
    shard.machine->end_step();
    for (const Event& event : batch.events) shard.follower->apply(event, batch.at);
    shard.follower->end_step();
    shard.machine->check_invariants();
    shard.follower->check_invariants();
    EXPECT_TRUE(shard.machine->digest() == shard.follower->digest())
        << "the fold of the events differs from the live state";
    if (watch) watch(number, batch);
    shard.since.push_back(std::move(batch));
  }
  Reply decide(std::uint32_t number, const Command& command) {
    tick(number);
    Shard& shard = *shards_.at(number);
    Read read;
    std::vector<JobId> ids;
    shard.machine->needed(command, ids);
    for (const JobId& id : ids) {
      if (const Job* job = shard.tables.find(id)) read.jobs[id] = *job;
    }
    for (const JobId& id : shard.machine->needed_workflows(command)) {
      if (const WorkflowImage* image = shard.tables.workflow(id)) read.workflows[id] = *image;
    }
    Reply reply;
    step(number, [&](std::vector<Event>& events) {
      reply = shard.machine->decide(command, now, read, admission, events);
    });
    return reply;
  }
  void tick(std::uint32_t number) {
    Machine& machine = *shards_.at(number)->machine;
    while (machine.next_timer() && *machine.next_timer() <= now) {
      step(number, [&](std::vector<Event>& events) { machine.tick(now, events); });
    }
  }
  void wait(Duration length) {
    now += length;
    for (std::uint32_t number = 0; number < size(); ++number) tick(number);
  }
  // Steps without a command, until nothing is due.
  void advance(std::uint32_t number) {
    for (std::size_t before = 0; machine(number).has_pending_workflows();) {
      before = shard(number).since.size();
      step(number, [](std::vector<Event>&) {});
      if (shard(number).since.size() > before && shard(number).since.back().events.empty()) return;
    }
  }

  // --- The tables.
  void flush(std::uint32_t number) {
    Shard& shard = *shards_.at(number);
    shard.tables.store(*shard.machine->take_changes());
    shard.machine->changes_stored();
    shard.machine->check_invariants();
    shard.since.clear();
    if (shard.follower->take_changes()) shard.follower->changes_stored();
  }
  // A machine of the tables and of what came later.
  std::unique_ptr<Machine> loaded(std::uint32_t number) {
    const Shard& shard = *shards_.at(number);
    auto machine = std::make_unique<Machine>(shard.options);
    shard.tables.load(*machine);
    for (const EventBatch& batch : shard.since) {
      for (const Event& event : batch.events) machine->apply(event, batch.at);
      machine->end_step();
    }
    machine->check_invariants();
    EXPECT_TRUE(machine->digest() == shard.machine->digest())
        << "a restart differs from the live state";
    return machine;
  }
  void restart(std::uint32_t number) {
    Shard& shard = *shards_.at(number);
    shard.machine = loaded(number);
    step(number, [&](std::vector<Event>& events) {
      shard.machine->start_epoch(Epoch{++shard.epoch}, now, events);
    });
  }

  // --- The relay. `again`: as if it had died before the box was acked.
  std::vector<Job> boxes(std::uint32_t number) {
    Claim claim;
    claim.queues = {SharedBytes("~outbox")};
    claim.limit = 1'000;
    claim.lease = Duration{60'000};
    claim.worker = SharedBytes("relay");
    std::vector<Job> boxes;
    auto reply = std::get<ClaimReply>(decide(number, claim));
    for (auto& item : reply.jobs) {
      boxes.push_back(std::move(item.job));
    }
    return boxes;
  }
  void pass_on(std::uint32_t number, const Job& box, bool again = false) {
    const bool passed = box.type == SharedBytes("members")
                            ? pass_on(submissions.message(box.payload))
                            : pass_on(*submissions.read(box.payload));
    Ack ack;
    ack.items.resize(1);
    ack.items[0].id = box.id;
    ack.items[0].token = box.token;
    ack.items[0].outcome = AckOutcome::kSucceeded;
    if (!passed) {
      ack.items[0].outcome = AckOutcome::kSnoozed;
      ack.items[0].delay = Duration{100};
    }
    if (again) ack.items[0].outcome = AckOutcome::kReleased;
    decide(number, ack);
  }
  // Until no box is left that can be passed on now.
  void pass_all() {
    for (bool some = true; some;) {
      some = false;
      for (std::uint32_t number = 0; number < size(); ++number) {
        advance(number);
        for (const Job& box : boxes(number)) {
          pass_on(number, box);
          some = true;
        }
      }
    }
  }
  void tell_stops() {
    for (std::uint32_t number = 0; number < size(); ++number) {
      for (const ShareMessage& message : machine(number).take_share_messages(now)) {
        decide(message.shard, message.command);
      }
    }
  }

  SubmissionsForTests submissions;
  Time now = time_from_ms(1'700'000'000'000);
  Admission admission = Admission::kOpen;
  std::size_t advances = kMaxAdvancedPerStep;  // of a step, each of `at_once` releases and skips
  std::size_t at_once = 1;
  std::function<void(std::uint32_t, const EventBatch&)> watch;

 private:
  struct Read final : Prefetched {
    const Job* find(const JobId& id) const override {
      const auto found = jobs.find(id);
      return found == jobs.end() ? nullptr : &found->second;
    }
    const WorkflowImage* workflow(const JobId& id) const override {
      const auto found = workflows.find(id);
      return found == workflows.end() ? nullptr : &found->second;
    }
    std::map<JobId, Job> jobs;
    std::map<JobId, WorkflowImage> workflows;
  };

  bool pass_on(const MemberMessage& message) {
    if (message.settle) decide(message.settle->shard, *message.settle);
    if (message.wish) {
      const auto wish = decide(shard_of(queue_bits(message.wish->id)), *message.wish);
      return std::get<WorkflowReply>(wish).refusal.why != Rejection::kOverloaded;
    }
    if (!message.remove.empty()) {
      const std::uint32_t there = shard_of(queue_bits(message.remove.front()));
      decide(there, Delete{message.remove, DeleteCause::kWorkflow});
    }
    if (!message.retry) return true;
    const auto reply = std::get<ItemsReply>(decide(message.retry->shard, *message.retry));
    return !reply.items.at(0).refusal;
  }
  bool pass_on(const JobSpec& spec) {
    Enqueue enqueue;
    enqueue.jobs = {spec};
    const std::uint32_t there = shard_of(queue_bits(spec.queue.view()));
    const auto item = std::get<EnqueueReply>(decide(there, enqueue)).items.at(0);
    if (!item.refusal || item.refusal.why == Rejection::kOverloaded) return !item.refusal;
    const Membership& member = *spec.extras->member;
    SettleMembers settle{shard_of(queue_bits(member.workflow)), {}};
    settle.reports.push_back({member.workflow, member.role, member.number, member.round,
                              MemberState::kFailed, MemberReason::kRefused});
    decide(settle.shard, settle);
    return true;
  }

  std::vector<std::unique_ptr<Shard>> shards_;
};

}  // namespace millrace::core
