// The projection's view of the machine, and any run of commands as a property.

#include <gtest/gtest.h>  // before RapidCheck's, which needs it
#include <rapidcheck/gtest.h>

#include "base/random.h"
#include "core/jobs/error_fingerprint.h"
#include "core/scenario.h"
#include "digest/fingerprint.h"

namespace millrace::core {
namespace {

TEST(Projection, AJobThatLivedAndDiedBetweenTwoFlushesIsOneRow) {
  Scenario s;
  s.enqueue("a");
  s.claim();
  s.ack("a", AckOutcome::kSucceeded);
  const auto changes = s.machine().take_changes();
  ASSERT_EQ(changes->jobs.size(), 1u);
  EXPECT_EQ(changes->jobs.at(0).state, State::kSucceeded);
  EXPECT_EQ(changes->attempts.size(), 0u);  // the latest attempt stands in the job
  EXPECT_EQ(changes->ended_leases.size(), 1u);
  EXPECT_EQ(s.state("a"), "succeeded");  // stays until the tables hold it
  s.machine().changes_stored();
  EXPECT_EQ(s.state("a"), "gone");
  EXPECT_TRUE(s.machine().take_changes()->empty());
}

TEST(Projection, WithRetentionZeroItIsNoRowAtAll) {
  Scenario s;
  QueuePatch patch;
  patch.succeeded = Duration{0};
  s.set_queue("mail", patch);
  s.enqueue("a");
  s.claim();
  s.ack("a", AckOutcome::kSucceeded);
  EXPECT_EQ(s.machine().rows_to_flush(), 0U);
  s.enqueue("b");
  EXPECT_EQ(s.machine().rows_to_flush(), 1U);
  s.remove("b");
  EXPECT_EQ(s.machine().rows_to_flush(), 0U);
  const auto changes = s.machine().take_changes();
  EXPECT_TRUE(changes->jobs.empty());
  EXPECT_TRUE(changes->deleted.empty());
}

TEST(Projection, CountsWhatAFlushWouldWriteOrDelete) {
  Scenario s;
  s.enqueue("a");
  s.enqueue("b");
  s.claim();
  EXPECT_EQ(s.machine().rows_to_flush(), 2U);
  s.machine().take_changes();
  EXPECT_EQ(s.machine().rows_to_flush(), 0U);
  s.machine().changes_stored();
  // The tables have the job and must delete it.
  s.remove("b");
  EXPECT_EQ(s.machine().rows_to_flush(), 1U);
}

TEST(Projection, WhileAnotherWritesTheTablesWhateverIsForgottenIsDeletedThere) {
  Scenario s;
  s.machine().follow();
  s.enqueue("a");
  s.remove("a");
  EXPECT_TRUE(s.machine().is_tombstone(Scenario::id("a")));
  const auto changes = s.machine().take_changes();
  EXPECT_TRUE(changes->jobs.empty());
  ASSERT_EQ(changes->deleted.size(), 1u);
  EXPECT_EQ(changes->deleted.at(0), Scenario::id("a"));
  s.machine().changes_stored();
  EXPECT_FALSE(s.machine().is_tombstone(Scenario::id("a")));
  s.machine().lead();
  s.enqueue("b");
  s.remove("b");
  EXPECT_TRUE(s.machine().take_changes()->deleted.empty());
}

TEST(Projection, WhatChangesWhileAFlushIsUnderWayStays) {
  Scenario s;
  s.enqueue("a");
  s.claim();
  s.ack("a", AckOutcome::kDead);
  const auto first = s.machine().take_changes();
  s.retry("a");
  s.claim();
  s.ack("a", AckOutcome::kDead);
  s.machine().changes_stored();
  EXPECT_EQ(s.state("a"), "dead");
  const auto second = s.machine().take_changes();
  ASSERT_EQ(second->jobs.size(), 1u);
  EXPECT_EQ(second->jobs.at(0).generation, 2u);
  ASSERT_EQ(second->attempts.size(), 1u);
  EXPECT_EQ(second->attempts.at(0).attempt.n, 1u);
  s.machine().changes_stored();
  EXPECT_EQ(s.state("a"), "gone");
}

TEST(Projection, AnswersSayThatARowInTheTablesIsOlderThanItsJobsEnd) {
  Scenario s;
  QueuePatch patch;
  patch.succeeded = Duration{0};
  s.set_queue("mail", patch);
  const auto submit = [&](const std::string& name) {
    Enqueue command;
    command.jobs = {Scenario::spec(name)};
    command.key = IdempotencyKey{fingerprint("mail", "k"), fingerprint("body"), {}};
    command.key_window = Duration{10'000};
    return std::get<EnqueueReply>(s.decide(std::move(command))).items.at(0);
  };
  EXPECT_FALSE(submit("a").deleted);
  s.claim();
  EXPECT_FALSE(s.machine().take_changes()->jobs.empty());  // as running
  s.machine().changes_stored();
  const AckItem ack = s.ack_of("a", AckOutcome::kSucceeded);
  EXPECT_FALSE(s.ack(ack).deleted);  // shows the job
  EXPECT_TRUE(s.ack(ack).deleted);
  const auto again = submit("b");
  EXPECT_EQ(again.fate, Fate::kExisting);
  EXPECT_EQ(again.state, std::nullopt);
  EXPECT_TRUE(again.deleted);
  s.machine().take_changes();
  s.machine().changes_stored();
  EXPECT_FALSE(submit("c").deleted);
  EXPECT_FALSE(s.ack(ack).deleted);
}

TEST(Projection, HistoryIsSeenThroughoutAFlush) {
  Scenario s;
  s.enqueue("a");
  s.claim();
  s.ack("a", AckOutcome::kReleased);
  s.claim();
  const auto changes = s.machine().take_changes();
  s.ack("a", AckOutcome::kReleased);
  s.claim();
  EXPECT_EQ(s.machine().view(Scenario::id("a"))->attempts.size(), 2u);
  s.machine().changes_stored();
  EXPECT_EQ(s.machine().view(Scenario::id("a"))->attempts.size(), 1u);
}

TEST(Projection, ATableLoadedAndTheRestReplayedGiveTheLiveState) {
  Scenario s;
  s.enqueue({Scenario::spec("a"), Scenario::spec("b"), Scenario::spec("c")});
  s.claim(2);
  s.ack("a", AckOutcome::kFailed);
  const auto changes = s.machine().take_changes();
  const std::size_t projected = s.journal().size();
  s.machine().changes_stored();
  s.wait_ms(10'000);
  s.claim(3);
  s.ack("b", AckOutcome::kSucceeded);

  Machine recovered({});
  recovered.load_facts(changes->facts);
  for (const Queue& queue : changes->queues) recovered.load_queue(queue);
  for (const Job& job : changes->jobs) {
    if (!is_terminal(job.state)) recovered.load_job(job);
  }
  for (const EndedLease& lease : changes->ended_leases) recovered.load_ended_lease(lease);
  EXPECT_EQ(recovered.unprojected(), 0u);
  for (std::size_t i = projected; i < s.journal().size(); ++i) {
    for (const Event& event : s.journal()[i].events) recovered.apply(event, s.journal()[i].at);
    recovered.end_step();
  }
  recovered.check_invariants();
  EXPECT_TRUE(recovered.digest() == s.machine().digest());
}

// Tables can be altered by anyone who may write to them.
TEST(Projection, ARowThatNoLongerSaysRunningLoadsWithoutItsLease) {
  Scenario s;
  s.enqueue({Scenario::spec("a")});
  s.claim(1);
  const auto changes = s.machine().take_changes();
  Job job = changes->jobs.at(0);
  ASSERT_TRUE(job.state == State::kRunning && job.lease_expires_at);
  job.state = State::kRetrying;
  Queue queue = changes->queues.at(0);
  --queue.counts[static_cast<std::size_t>(State::kRunning)];
  ++queue.counts[static_cast<std::size_t>(State::kRetrying)];

  Machine recovered({});
  recovered.load_facts(changes->facts);
  recovered.load_queue(queue);
  recovered.load_job(job);
  recovered.check_invariants();
  const Job loaded = recovered.view(job.id)->job;
  EXPECT_EQ(loaded.token, kNoToken);
  EXPECT_FALSE(loaded.lease_expires_at);
}

TEST(Projection, ADeletedQueueIsGoneUnlessItWasMadeAgain) {
  Scenario s;
  const auto remove = [&](const char* name) { s.decide(DeleteQueue{SharedBytes(name)}); };
  const auto names = [](const auto& queues, const auto& name_of) {
    std::string joined;
    for (const auto& queue : queues) joined += name_of(queue).view();
    return joined;
  };
  for (const char* name : {"c", "a", "b"}) s.set_queue(name, {});
  s.project();
  for (const char* name : {"b", "a", "c"}) remove(name);
  s.set_queue("c", {});
  s.set_queue("d", {});
  remove("d");
  const auto changes = s.machine().take_changes();
  EXPECT_EQ(names(changes->deleted_queues, [](const SharedBytes& name) { return name; }), "abd");
  EXPECT_EQ(names(changes->queues, [](const Queue& queue) { return queue.name; }), "c");
  remove("c");  // while that is being stored
  s.machine().changes_stored();
  const auto next = s.machine().take_changes();
  EXPECT_EQ(names(next->deleted_queues, [](const SharedBytes& name) { return name; }), "c");
  EXPECT_TRUE(next->queues.empty());
  EXPECT_FALSE(next->empty());
}

// After any sequence of commands the invariants hold and the folded journal equals the live state
// (the scenario checks both after every step), and no job is given out twice at once.
RC_GTEST_PROP(Machine, HoldsUnderAnyRunOfCommands, ()) {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  Scenario s;
  QueuePatch patch;
  if (random.next() % 2 == 0) patch.succeeded = Duration{0};
  if (random.next() % 3 == 0) patch.max_ready = std::optional<std::uint64_t>(3);
  s.set_queue("mail", patch);
  const auto any_job = [&] { return "j" + std::to_string(random.next() % 8); };
  for (int i = 0; i < 60; ++i) {
    const std::string name = any_job();
    switch (random.next() % 12) {
      case 0:
      case 1:
      case 2: {
        auto job = Scenario::spec(name, "mail", random.next() % 2 == 0 ? "send" : "index");
        job.id_origin = IdOrigin::kClient;
        job.priority = static_cast<std::int16_t>(random.next() % 3);
        if (random.next() % 4 == 0)
          job.delay = Duration{static_cast<std::int64_t>(random.next() % 5'000)};
        if (random.next() % 4 == 0)
          job.expires_in = Duration{static_cast<std::int64_t>(random.next() % 5'000)};
        if (random.next() % 4 == 0)
          job.timeout = Duration{1 + static_cast<std::int64_t>(random.next() % 40'000)};
        s.enqueue(job);
        break;
      }
      case 3:
      case 4: {
        const auto claimed = s.claim(s.claim_of(1 + random.next() % 3));
        for (const Job& job : claimed) RC_ASSERT(job.state == State::kRunning);
        break;
      }
      case 5:
      case 6:
        s.ack(name, static_cast<AckOutcome>(random.next() % 6));
        break;
      case 7:
        s.heartbeat(name, Duration{1'000 + static_cast<std::int64_t>(random.next() % 60'000)});
        break;
      case 8:
        s.wait_ms(static_cast<std::int64_t>(random.next() % 40'000));
        break;
      case 9:
        random.next() % 2 == 0 ? s.cancel(name) : s.retry(name);
        break;
      case 10:
        s.remove(name);
        s.decide(DeleteQueue{SharedBytes("mail")});
        break;
      default:
        s.project();
        break;
    }
  }
}

TEST(ErrorFingerprint, IsOneForErrorsThatDifferInNumbersAndQuotedText) {
  EXPECT_EQ(error_fingerprint("T", "user 42 not found in \"mail\""),
            error_fingerprint("T", "user 7 not found in \"x\""));
  EXPECT_EQ(error_fingerprint("T", "at 0xdeadbeef01"), error_fingerprint("T", "at 0xcafe02"));
  EXPECT_EQ(error_fingerprint("T", "no `a b`, no 'c'"), error_fingerprint("T", "no `x`, no 'y z'"));
  EXPECT_NE(error_fingerprint("T", "it's open"), error_fingerprint("T", "its open"));
  EXPECT_NE(error_fingerprint("T", "user not found"), error_fingerprint("T", "queue not found"));
  EXPECT_NE(error_fingerprint("T", "x"), error_fingerprint("U", "x"));
  EXPECT_NE(error_fingerprint("", ""), 0u);
}

}  // namespace
}  // namespace millrace::core
