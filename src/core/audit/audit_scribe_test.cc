#include "core/audit/audit_scribe.h"

#include <gtest/gtest.h>

#include "core/audit/audit_chain.h"
#include "core/scenario.h"

namespace millrace::core {
namespace {

SharedOrigin ann() {
  Origin origin;
  origin.actor.name = SharedBytes("ann");
  origin.actor.request = SharedBytes("r-1");
  return std::make_shared<const Origin>(std::move(origin));
}

class AuditTest : public ::testing::Test {
 protected:
  // The entry of the command, if it has one.
  template <typename C>
  std::optional<Audited> entry(C command, SharedOrigin by = ann()) {
    command.by = std::move(by);
    const std::size_t before = rows_.size();
    world_.decide(Command(std::move(command)));
    take();
    return rows_.size() == before ? std::nullopt : std::optional(rows_.back().entry);
  }
  void take() {
    for (const AuditRow& row : world_.machine().take_changes()->audit) rows_.push_back(row);
    world_.machine().changes_stored();
  }

  Scenario world_;
  std::vector<AuditRow> rows_;
};

TEST_F(AuditTest, AChangeHasItsEntryInItsBatch) {
  SetQueue set{SharedBytes("mail"), true, {}, {}};
  set.by = ann();
  PauseQueue pause{SharedBytes("mail"), SharedBytes("lunch")};
  pause.by = ann();
  std::vector<Event> events;
  Machine machine{MachineOptions{}};
  class None final : public Prefetched {
    const Job* find(const JobId&) const override { return nullptr; }
  } none;
  for (const Command& command : {Command(set), Command(pause)}) {
    machine.decide(command, Time{}, none, Admission::kOpen, events);
  }
  ASSERT_EQ(events.size(), 4U);
  const auto& first = std::get<Audited>(events[1]);
  const auto& second = std::get<Audited>(events[3]);
  EXPECT_EQ((std::pair{first.n, second.n}), (std::pair{1UL, 2UL}));
  EXPECT_EQ(second.action.view(), "queue.paused");
  EXPECT_EQ(second.actor.name.view(), "ann");
  EXPECT_EQ(second.reason.view(), "lunch");
  EXPECT_FALSE(second.before.queue->paused);
  EXPECT_TRUE(second.after.queue->paused);
  EXPECT_EQ(first.before.queue, nullptr);
}

TEST_F(AuditTest, WhatIsRefusedOrChangesNothingHasNone) {
  EXPECT_FALSE(entry(ResumeQueue{SharedBytes("nowhere")}));
  EXPECT_TRUE(entry(SetQueue{SharedBytes("mail"), true, {}, {}}));
  EXPECT_FALSE(entry(ResumeQueue{SharedBytes("mail")}));
  EXPECT_FALSE(entry(Cancel{{Scenario::id("a")}, {}}));
  // No user requested it.
  EXPECT_FALSE(entry(PauseQueue{SharedBytes("mail"), {}, true}, nullptr));
}

TEST_F(AuditTest, OneJobIsShownManyAreCounted) {
  world_.enqueue(
      {Scenario::spec("a"), Scenario::spec("b"), Scenario::spec("c"), Scenario::spec("d")});
  const auto one = entry(Cancel{{Scenario::id("a")}, SharedBytes("why not")});
  ASSERT_TRUE(one);
  EXPECT_EQ(one->kind.view(), "job");
  EXPECT_EQ(one->name.view(), to_string(Scenario::id("a")));
  EXPECT_FALSE(one->jobs);
  EXPECT_EQ(one->before.job->state, State::kReady);
  EXPECT_EQ(one->after.job->state, State::kCancelled);
  const auto many = entry(Delete{{Scenario::id("b"), Scenario::id("d"), Scenario::id("x")}});
  ASSERT_TRUE(many);
  EXPECT_EQ(many->kind.view(), "jobs");
  EXPECT_EQ(many->jobs, 2U);
  EXPECT_EQ(many->before.job, nullptr);
  Edit edit;
  edit.ids = {Scenario::id("c")};
  edit.payload = SharedBytes("\"secret\"");
  const auto edited = entry(std::move(edit));
  ASSERT_TRUE(edited);
  EXPECT_TRUE(edited->after.job->new_payload);
}

TEST_F(AuditTest, TheOriginSaysWhatSeveralCommandsDo) {
  world_.enqueue({Scenario::spec("a"), Scenario::spec("b")});
  Origin origin = *ann();
  origin.action = SharedBytes("queue.purged");
  origin.kind = SharedBytes("queue");
  origin.name = SharedBytes("mail");
  const auto by = std::make_shared<const Origin>(std::move(origin));
  const auto part = entry(Delete{{Scenario::id("a")}, DeleteCause::kPurge}, by);
  ASSERT_TRUE(part);
  EXPECT_EQ(part->action.view(), "queue.purged");
  EXPECT_EQ(part->name.view(), "mail");
  EXPECT_EQ(part->jobs, 1U);
  const auto note = entry(NotePurge{SharedBytes("mail"), 1}, by);
  ASSERT_TRUE(note);
  EXPECT_EQ(note->jobs, 0U);
}

TEST_F(AuditTest, OnlyKeysThatChangedAreKept) {
  SetLimit set;
  set.name = SharedBytes("api");
  set.settings.per_key = true;
  for (int i = 0; i < 50; ++i) {
    set.settings.keys.push_back({SharedBytes("k" + std::to_string(i)), {std::uint32_t{1}, {}}});
  }
  const auto made = entry(set);
  ASSERT_TRUE(made);
  EXPECT_EQ(made->after.limit->settings.keys.size(), kMaxAuditedKeys);
  set.settings.keys[7].bounds.concurrency = 2;
  const auto changed = entry(set);
  ASSERT_TRUE(changed);
  ASSERT_EQ(changed->before.limit->settings.keys.size(), 1U);
  EXPECT_EQ(changed->before.limit->settings.keys[0].key.view(), "k7");
  EXPECT_EQ(changed->after.limit->settings.keys[0].bounds.concurrency, 2U);
}

TEST_F(AuditTest, EachEntryIsChainedToTheOneBefore) {
  for (int i = 0; i < 3; ++i) entry(PauseQueue{SharedBytes("mail"), {}, true});
  ASSERT_EQ(rows_.size(), 3U);
  Sha256 before{};
  for (const AuditRow& row : rows_) {
    EXPECT_EQ(chained(before, row), row.hash);
    before = row.hash;
  }
  AuditRow altered = rows_[1];
  altered.entry.reason = SharedBytes("another");
  EXPECT_NE(chained(rows_[0].hash, altered), rows_[1].hash);
  altered = rows_[1];
  altered.at += Duration{1};
  EXPECT_NE(chained(rows_[0].hash, altered), rows_[1].hash);
  // After a restart the next one follows.
  Machine later{MachineOptions{}};
  later.load_audited(rows_[2]);
  EXPECT_EQ(later.audited(), 3U);
}

TEST_F(AuditTest, RowsThatAreTooOldGo) {
  MachineOptions options;
  options.audit_retention = Duration{3'600'000};
  Scenario world{options};
  const Time begin = world.now();
  EXPECT_EQ(world.machine().take_changes()->audit_until, begin - Duration{3'600'000});
  world.machine().changes_stored();
  world.wait_ms(1'000);
  EXPECT_FALSE(world.machine().take_changes()->audit_until);  // too soon to prune again
}

}  // namespace
}  // namespace millrace::core
