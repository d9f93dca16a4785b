#include "node/inbox_intake.h"

#include <gtest/gtest.h>

#include <utility>

namespace millrace::node {
namespace {

using std::chrono_literals::operator""ms;
using store::InboxKey;
using store::InboxKind;

// All rows that submit are for one queue.
class InboxIntakeTest : public testing::Test {
 protected:
  static store::InboxRow row(std::uint64_t id, InboxKind kind = InboxKind::kEnqueue) {
    store::InboxRow row;
    row.key = {1, id};
    row.kind = kind;
    return row;
  }

  void prove() {
    intake_.begin_round();
    EXPECT_FALSE(intake_.next_call(now_));
    const auto proof = intake_.next_offer(now_);
    ASSERT_TRUE(proof);
    EXPECT_EQ(proof->row, InboxKey{});
    answer({}, core::Reply(core::JobReply{}));
  }
  template <typename Call>
  Call next() {
    const auto call = intake_.next_call(now_);
    EXPECT_TRUE(call && std::holds_alternative<Call>(*call));
    return call && std::holds_alternative<Call>(*call) ? std::get<Call>(*call) : Call{};
  }
  void read(std::vector<store::InboxRow> rows) {
    intake_.begin_round();
    next<ReadPage>();
    store::InboxPage page;
    page.snapshot.next = ++snapshots_;
    page.rows = std::move(rows);
    intake_.read(intake_.reader(), page);
  }
  // The rows offered at the end of a round.
  std::vector<std::uint64_t> offers() {
    std::vector<std::uint64_t> ids;
    while (const auto offer = intake_.next_offer(now_)) ids.push_back(offer->row.id);
    return ids;
  }
  void answer(InboxKey row, const engine::Answer& answer) { intake_.answered(row, answer, now_); }
  void answer(std::uint64_t id, core::Fate fate, core::Rejection why = {}) {
    core::EnqueueReply reply;
    reply.items.resize(1);
    reply.items.front().fate = fate;
    reply.items.front().refusal.why = why;
    answer({1, id}, core::Reply(std::move(reply)));
  }
  void answer_schedule(std::uint64_t id, bool changed, core::Rejection why = {}) {
    core::ScheduleReply reply;
    reply.changed = changed;
    reply.refusal.why = why;
    answer({1, id}, core::Reply(std::move(reply)));
  }
  // The next row of a queue or schedule, which is the only one that is due.
  void fetch_again(store::InboxRow due) {
    EXPECT_EQ(next<FetchRows>().keys, std::vector<InboxKey>{due.key});
    intake_.fetched({{std::move(due)}, {}, {}});
  }
  void refuse(std::uint64_t id) { answer(id, core::Fate::kRefused, core::Rejection::kQueueFull); }

  Instant now_{std::chrono::hours{1}};
  std::uint64_t snapshots_ = 10;
  InboxIntake intake_{
      {.shard = 1,
       .shards = 4,
       .command_of = [](const store::InboxRow& row) -> std::expected<core::Command, std::string> {
         const SharedBytes name("q");
         if (row.kind == InboxKind::kDeleteSchedule) return core::DeleteSchedule{name, {}};
         if (row.kind == InboxKind::kSetSchedule) {
           core::SetSchedule set;
           set.name = name;
           return set;
         }
         if (row.kind == InboxKind::kWorkflow) {
           core::CreateWorkflow create;
           create.spec.queue = name;
           return create;
         }
         if (row.kind != InboxKind::kEnqueue) return core::Ack{};
         core::Enqueue enqueue;
         enqueue.jobs.resize(1);
         enqueue.jobs.front().queue = SharedBytes("q");
         return enqueue;
       },
       .sentence_of = [](core::RefusalDetail) { return std::string_view("refused"); },
       .bounds = {.rows_of_queues = 3, .rows_due = 2}}};
};

TEST_F(InboxIntakeTest, AWorkflowIsTakenInTheOrderOfItsQueue) {
  const auto answer_workflow = [&](std::uint64_t id, bool created, core::Rejection why) {
    core::WorkflowReply reply;
    reply.created = created;
    reply.refusal.why = why;
    answer({1, id}, core::Reply(std::move(reply)));
  };
  prove();
  read({row(1, InboxKind::kWorkflow)});
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{1});
  answer_workflow(1, false, core::Rejection::kOverloaded);  // for now
  read({row(2)});
  EXPECT_FALSE(intake_.next_call(now_));
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{});  // it stands behind the workflow
  now_ += InboxQueues::kPause;
  read({});
  fetch_again(row(1, InboxKind::kWorkflow));
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{1});
  answer_workflow(1, true, {});  // the append deletes the row
  read({});
  EXPECT_EQ(next<FetchRows>().keys, (std::vector<InboxKey>{{1, 2}}));
}

TEST_F(InboxIntakeTest, AWorkflowThatIsThereAlreadyIsDroppedAndABadOneIsRejected) {
  prove();
  read({row(1, InboxKind::kWorkflow), row(2, InboxKind::kWorkflow)});
  EXPECT_EQ(offers(), (std::vector<std::uint64_t>{1, 2}));
  answer({1, 1}, core::Reply(core::WorkflowReply{}));
  core::WorkflowReply bad;
  bad.refusal = {core::Rejection::kUnfitMembers, {}, core::RefusalDetail::kCircle};
  answer({1, 2}, core::Reply(bad));
  intake_.begin_round();
  const auto drop = next<DropRows>();
  EXPECT_EQ(drop.keys, (std::vector<InboxKey>{{1, 1}}));
  intake_.done(drop);
  const auto reject = next<RejectRows>();
  ASSERT_EQ(reject.rows.size(), 1U);
  EXPECT_EQ(reject.rows[0].reason, "refused");
}

TEST_F(InboxIntakeTest, ReadsNothingBeforeItsTermIsProved) {
  prove();
  read({row(1)});
  EXPECT_FALSE(intake_.next_call(now_));
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{1});
}

TEST_F(InboxIntakeTest, AProofThatIsNotGivenIsAskedForAgainAfterAMoment) {
  intake_.begin_round();
  EXPECT_TRUE(intake_.next_offer(now_));
  EXPECT_FALSE(intake_.next_offer(now_));
  answer({}, engine::Unavailable::kNoLeader);
  EXPECT_FALSE(intake_.next_offer(now_ + 99ms));
  EXPECT_TRUE(intake_.next_offer(now_ + 100ms));
}

TEST_F(InboxIntakeTest, WhatCantBePutAwayKeepsNothingFromBeingRead) {
  prove();
  read({row(1), row(2)});
  offers();
  answer(1, core::Fate::kExisting);
  answer(2, core::Fate::kRefused, core::Rejection::kDuplicateJob);
  intake_.begin_round();
  intake_.failed(next<DropRows>(), now_);
  intake_.failed(next<RejectRows>(), now_);
  next<ReadPage>();
  // The next round retries, and one success is enough.
  intake_.begin_round();
  intake_.done(next<DropRows>());
  intake_.done(next<RejectRows>());
  intake_.begin_round();
  next<ReadPage>();
}

TEST_F(InboxIntakeTest, RowsOfAFullQueueAreFetchedAnewWhenTheyAreDue) {
  prove();
  read({row(1)});
  offers();
  refuse(1);
  read({row(2)});
  EXPECT_FALSE(intake_.next_call(now_));
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{});
  now_ += InboxQueues::kPause;
  read({});
  EXPECT_EQ(next<FetchRows>().keys, (std::vector<InboxKey>{{1, 1}}));
  intake_.fetched({{row(1)}, {}, {}});
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{1});
  answer(1, core::Fate::kCreated);
  read({});
  const FetchRows both = next<FetchRows>();
  EXPECT_EQ(both.keys, (std::vector<InboxKey>{{1, 2}}));
  intake_.failed(both, now_);
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{});
  now_ += 100ms;
  read({});
  EXPECT_EQ(next<FetchRows>().keys, both.keys);
}

TEST_F(InboxIntakeTest, WhileQueuesHoldTooManyRowsFinishesAloneAreRead) {
  prove();
  read({row(1)});
  offers();
  refuse(1);
  read({row(2), row(3)});
  offers();
  intake_.begin_round();
  next<ReadFinishes>();
  intake_.read({row(4, InboxKind::kFinish)});
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{4});
  // At intervals.
  intake_.begin_round();
  EXPECT_FALSE(intake_.next_call(now_));
  now_ += 500ms;
  intake_.begin_round();
  next<ReadFinishes>();
}

TEST_F(InboxIntakeTest, ARowOfAScheduleWaitsUntilTheOneBeforeIsGoneFromTheTable) {
  prove();
  const store::InboxRow second = row(2, InboxKind::kSetSchedule);
  const store::InboxRow third = row(3, InboxKind::kDeleteSchedule);
  read({row(1, InboxKind::kDeleteSchedule), second, third});
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{1});
  answer_schedule(1, false, core::Rejection::kNotFound);
  intake_.begin_round();
  const DropRows drop = next<DropRows>();
  EXPECT_EQ(drop.keys, (std::vector<InboxKey>{{1, 1}}));
  intake_.failed(drop, now_);
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{});
  intake_.begin_round();
  intake_.done(next<DropRows>());
  next<ReadPage>();
  fetch_again(second);
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{2});
  // Its append deleted the row.
  answer_schedule(2, true);
  intake_.begin_round();
  next<ReadPage>();
  fetch_again(third);
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{3});
}

TEST_F(InboxIntakeTest, ARowOfAScheduleIsOfferedAgainOrPutAside) {
  prove();
  const store::InboxRow set = row(1, InboxKind::kSetSchedule);
  read({set});
  EXPECT_EQ(offers(), std::vector<std::uint64_t>{1});
  for (const bool heard : {false, true}) {
    if (heard) {
      answer_schedule(1, false, core::Rejection::kOverloaded);
    } else {
      answer({1, 1}, engine::Unavailable::kOverloaded);
    }
    EXPECT_EQ(offers(), std::vector<std::uint64_t>{});
    now_ += InboxQueues::kPause;
    read({});
    fetch_again(set);
    EXPECT_EQ(offers(), std::vector<std::uint64_t>{1});
  }
  answer_schedule(1, false, core::Rejection::kTooManySchedules);
  intake_.begin_round();
  const RejectRows put_aside = next<RejectRows>();
  ASSERT_EQ(put_aside.rows.size(), 1U);
  EXPECT_EQ(put_aside.rows.front().key, (InboxKey{1, 1}));
}

// A schedule and a queue of the same name are independent.
TEST_F(InboxIntakeTest, AScheduleKeepsNoQueueOfItsNameWaiting) {
  prove();
  read({row(1, InboxKind::kSetSchedule), row(2), row(3, InboxKind::kSetSchedule)});
  EXPECT_EQ(offers(), (std::vector<std::uint64_t>{1, 2}));
}

}  // namespace
}  // namespace millrace::node
