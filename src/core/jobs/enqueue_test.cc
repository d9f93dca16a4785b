#include "core/operations/pace.h"
#include "core/scenario.h"
#include "digest/fingerprint.h"

namespace millrace::core {
namespace {

std::shared_ptr<const JobExtras> unique(const std::string& key,
                                        OnConflict on_conflict = OnConflict::kReturn,
                                        std::optional<Duration> hold_for = {}) {
  JobExtras extras;
  extras.unique = UniqueRule{SharedBytes(key), hold_for, on_conflict};
  return std::make_shared<const JobExtras>(extras);
}

TEST(Enqueue, AJobIsReadyAtOnceAndItsQueueIsMade) {
  Scenario s;
  const auto item = s.enqueue("a");
  EXPECT_EQ(item.fate, Fate::kCreated);
  EXPECT_EQ(item.state, State::kReady);
  const Queue queue = s.queue();
  EXPECT_EQ(queue.created, 1u);
  EXPECT_EQ(queue.counts[static_cast<std::size_t>(State::kReady)], 1u);
  EXPECT_EQ(queue.oldest_ready_at, s.now());
}

TEST(Enqueue, TheQueuesSettingsStandInWhereTheJobIsSilent) {
  Scenario s;
  QueuePatch patch;
  patch.max_attempts = 9;
  patch.lease = Duration{7'000};
  s.set_queue("mail", patch);
  s.enqueue("a");
  EXPECT_EQ(s.job("a").max_attempts, 9u);
  EXPECT_EQ(s.job("a").lease, Duration{7'000});
  EXPECT_EQ(*s.job("a").retry, *default_retry_policy());
}

TEST(Enqueue, ADelayedJobWaitsAndAPastOneIsDueNow) {
  Scenario s;
  auto later = Scenario::spec("later");
  later.delay = Duration{2'000};
  auto past = Scenario::spec("past");
  past.run_at = s.now() - Duration{5'000};
  s.enqueue({later, past});
  EXPECT_EQ(s.state("later"), "scheduled");
  EXPECT_EQ(s.job("past").run_at,
            s.now() - Duration{5'000});  // as given: it goes before what is due now
  s.wait_ms(1'999);
  EXPECT_EQ(s.claim(9), "past");
  s.wait_ms(1);
  EXPECT_EQ(s.claim(9), "later");
}

TEST(Enqueue, AKnownIdIsAnsweredWithItsJobAndIsInTheWayInAnotherQueue) {
  Scenario s;
  auto job = Scenario::spec("a");
  job.id_origin = IdOrigin::kClient;
  s.enqueue(job);
  EXPECT_EQ(s.enqueue(job).fate, Fate::kExisting);
  auto elsewhere = Scenario::spec("a", "other");
  elsewhere.id_origin = IdOrigin::kClient;
  EXPECT_EQ(s.enqueue(elsewhere).refusal.why, Rejection::kDuplicateJob);

  s.claim();
  s.ack("a", AckOutcome::kSucceeded);
  s.project();  // out of memory: found through the tables
  EXPECT_EQ(s.state("a"), "gone");
  EXPECT_EQ(s.enqueue(job).fate, Fate::kExisting);
  EXPECT_EQ(s.enqueue(job).state, State::kSucceeded);
  EXPECT_EQ(s.enqueue(elsewhere).refusal.why, Rejection::kDuplicateJob);
}

TEST(Enqueue, AKnownIdWithOtherContentIsRefusedWhereverItsJobIs) {
  Scenario s;
  auto job = Scenario::spec("a");
  job.id_origin = IdOrigin::kClient;
  job.extras = std::make_shared<const JobExtras>(
      JobExtras{{}, {SharedBytes("blue")}, {{SharedBytes("from"), SharedBytes("shop")}}, {}, {}});
  std::vector<JobSpec> others(6, job);
  others[0].type = SharedBytes("other");
  others[1].payload = SharedBytes("{}");
  others[2].priority = 1;
  others[3].timeout = Duration{1'000};
  others[4].extras = nullptr;
  others[5].extras = unique("key");
  // Members that change with the job, or come with each request, are not compared.
  auto same = job;
  same.delay = Duration{60'000};
  same.max_attempts = 3;
  same.expires_in = Duration{1'000};
  auto extras = *job.extras;
  extras.traceparent = SharedBytes("00-1-2-3");
  same.extras = std::make_shared<const JobExtras>(extras);

  const auto expect_mismatch = [&] {
    EXPECT_EQ(s.enqueue(job).fate, Fate::kExisting);
    EXPECT_EQ(s.enqueue(same).fate, Fate::kExisting);
    for (const JobSpec& other : others) {
      const auto item = s.enqueue(other);
      EXPECT_EQ(item.refusal.why, Rejection::kIdMismatch);
      EXPECT_EQ(item.refusal.other, job.id);
    }
  };
  s.enqueue(job);
  expect_mismatch();
  s.claim();
  expect_mismatch();
  s.ack("a", AckOutcome::kSucceeded);
  expect_mismatch();
  s.project();
  ASSERT_EQ(s.state("a"), "gone");  // only in the tables
  expect_mismatch();
}

TEST(Enqueue, WhatAnOperatorHasEditedIsComparedAsItIsNow) {
  Scenario s;
  auto job = Scenario::spec("a");
  job.id_origin = IdOrigin::kClient;
  s.enqueue(job);
  Edit edit;
  edit.ids = {job.id};
  edit.run_at = s.now();
  s.items(edit);
  EXPECT_EQ(s.enqueue(job).fate, Fate::kExisting) << "times are not compared";
  edit.payload = SharedBytes("{}");
  s.items(edit);
  EXPECT_EQ(s.enqueue(job).refusal.why, Rejection::kIdMismatch);
  job.payload = SharedBytes("{}");
  EXPECT_EQ(s.enqueue(job).fate, Fate::kExisting) << "as it is now";
}

// A job with an idempotency key, as of a batch with this body.
JobSpec keyed(const std::string& name, const std::string& key, const std::string& body) {
  auto spec = Scenario::spec(name);
  spec.key = std::make_shared<const SubmissionKey>(
      SubmissionKey{fingerprint("mail", key), fingerprint(body), Duration{10'000}});
  return spec;
}

TEST(Enqueue, AnAtomicSubmissionCountsInItsOwnIdsAndKeys) {
  Scenario s;
  auto other = Scenario::spec("a");
  other.payload = SharedBytes("{}");
  EXPECT_EQ(s.enqueue({Scenario::spec("a"), other}, Atomicity::kAll).items[1].refusal.why,
            Rejection::kIdMismatch);
  EXPECT_EQ(
      s.enqueue({keyed("a", "k", "1"), keyed("b", "k", "2")}, Atomicity::kAll).items[1].refusal.why,
      Rejection::kIdempotencyMismatch);
  EXPECT_EQ(s.state("a"), "gone");  // nothing was stored
  for (const Atomicity atomicity : {Atomicity::kAll, Atomicity::kEach}) {
    const auto reply = s.enqueue({keyed("a", "k", "1"), keyed("b", "k", "1")}, atomicity);
    EXPECT_EQ(reply.items[0].fate, atomicity == Atomicity::kAll ? Fate::kCreated : Fate::kExisting);
    EXPECT_EQ(reply.items[1].fate, Fate::kExisting);
    EXPECT_EQ(reply.items[1].id, Scenario::id("a"));
  }
}

TEST(Enqueue, EachJobOfABatchMayHaveAKeyOfItsOwn) {
  Scenario s;
  const auto reply = s.enqueue({keyed("a", "k", "1"), keyed("b", "l", "1"), keyed("c", "k", "1"),
                                keyed("d", "l", "2"), Scenario::spec("e")});
  EXPECT_EQ(reply.items[0].fate, Fate::kCreated);
  EXPECT_EQ(reply.items[1].fate, Fate::kCreated);
  EXPECT_EQ(reply.items[2].id, Scenario::id("a"));
  EXPECT_EQ(reply.items[3].refusal.why, Rejection::kIdempotencyMismatch);
  EXPECT_EQ(reply.items[4].fate, Fate::kCreated);
  EXPECT_EQ(s.machine().keys_held(), 2U);
  s.wait_ms(10'000);
  EXPECT_EQ(s.enqueue(keyed("f", "k", "2")).fate, Fate::kCreated);
}

TEST(Enqueue, ANameMoreThanThereMayBeQueuesIsRefused) {
  MachineOptions options;
  options.max_queues = 2;
  Scenario s(options);
  s.enqueue(Scenario::spec("a", "one"));
  const auto reply = s.enqueue({Scenario::spec("b", "two"), Scenario::spec("c", "three")});
  EXPECT_EQ(reply.items[0].fate, Fate::kCreated);
  EXPECT_EQ(reply.items[1].refusal.why, Rejection::kTooManyQueues);
  EXPECT_EQ(s.enqueue(Scenario::spec("d", "one")).fate, Fate::kCreated);
  s.remove("b");
  s.decide(DeleteQueue{SharedBytes("two")});
  EXPECT_TRUE(s.enqueue({Scenario::spec("e", "four"), Scenario::spec("f", "five")}, Atomicity::kAll)
                  .refused_as_one);
  EXPECT_FALSE(
      s.enqueue({Scenario::spec("e", "four"), Scenario::spec("f", "four")}, Atomicity::kAll)
          .refused_as_one);
}

TEST(Enqueue, AnIdempotencyKeyMakesOneJobWithinItsWindow) {
  Scenario s;
  const auto submit = [&](const std::string& name, const std::string& key,
                          const std::string& body) {
    Enqueue command;
    command.jobs = {Scenario::spec(name)};
    command.key = IdempotencyKey{fingerprint("mail", key), fingerprint(body), {}};
    command.key_window = Duration{10'000};
    return std::get<EnqueueReply>(s.decide(std::move(command))).items.at(0);
  };
  EXPECT_EQ(submit("a", "k", "body").fate, Fate::kCreated);
  const auto again = submit("b", "k", "body");
  EXPECT_EQ(again.fate, Fate::kExisting);
  EXPECT_EQ(again.id, Scenario::id("a"));
  EXPECT_EQ(submit("c", "k", "other body").refusal.why, Rejection::kIdempotencyMismatch);
  EXPECT_EQ(submit("d", "other", "body").fate, Fate::kCreated);

  s.remove("a");  // the key outlives its job
  EXPECT_EQ(submit("e", "k", "body").id, Scenario::id("a"));
  s.wait_ms(9'999);
  EXPECT_EQ(submit("f", "k", "body").fate, Fate::kExisting);
  s.wait_ms(1);
  EXPECT_EQ(submit("g", "k", "other body").fate, Fate::kCreated);
  s.wait_ms(60'000);
  EXPECT_EQ(s.machine().keys_held(), 0u);
}

TEST(Enqueue, KeysAreLimitedAndNoneIsReleasedEarly) {
  MachineOptions options;
  options.max_keys = 1;
  Scenario s(options);
  const auto submit = [&](const std::string& name) {
    Enqueue command;
    command.jobs = {Scenario::spec(name)};
    command.key = IdempotencyKey{fingerprint(name), fingerprint(name), {}};
    return std::get<EnqueueReply>(s.decide(std::move(command))).items.at(0);
  };
  EXPECT_EQ(submit("a").fate, Fate::kCreated);
  EXPECT_EQ(submit("b").refusal.why, Rejection::kOverloaded);
  EXPECT_EQ(submit("a").fate, Fate::kExisting);
}

TEST(Enqueue, AUniqueKeyHoldsWhileItsJobLives) {
  Scenario s;
  auto first = Scenario::spec("a");
  first.extras = unique("report");
  auto second = Scenario::spec("b");
  second.extras = unique("report");
  auto rejecting = Scenario::spec("c");
  rejecting.extras = unique("report", OnConflict::kReject);
  s.enqueue(first);
  EXPECT_EQ(s.enqueue(second).id, Scenario::id("a"));
  EXPECT_EQ(s.enqueue(rejecting).refusal.why, Rejection::kDuplicateJob);
  EXPECT_EQ(s.enqueue(rejecting).refusal.other, Scenario::id("a"));
  s.claim();
  s.ack("a", AckOutcome::kFailed);  // retrying: still alive
  EXPECT_EQ(s.enqueue(second).id, Scenario::id("a"));
  s.cancel("a");
  EXPECT_EQ(s.enqueue(second).fate, Fate::kCreated);
}

TEST(Enqueue, AUniqueKeyMayHoldPastTheEndEvenOfAJobThatLeavesNothingBehind) {
  Scenario s;
  QueuePatch nothing_behind;
  nothing_behind.succeeded = Duration{0};
  s.set_queue("mail", nothing_behind);
  auto first = Scenario::spec("a");
  first.extras = unique("report", OnConflict::kReject, Duration{5'000});
  s.enqueue(first);
  s.claim();
  s.ack("a", AckOutcome::kSucceeded);
  EXPECT_EQ(s.state("a"), "gone");
  auto second = first;
  second.id = Scenario::id("b");
  EXPECT_EQ(s.enqueue(second).refusal.why, Rejection::kDuplicateJob);
  s.wait_ms(5'000);
  EXPECT_EQ(s.enqueue(second).fate, Fate::kCreated);
}

TEST(Enqueue, ReplaceCancelsAWaitingHolderButNotARunningOne) {
  Scenario s;
  const auto replacing = [](const std::string& name) {
    auto spec = Scenario::spec(name);
    spec.extras = unique("report", OnConflict::kReplace);
    return spec;
  };
  s.enqueue(replacing("a"));
  EXPECT_EQ(s.enqueue(replacing("b")).fate, Fate::kCreated);
  EXPECT_EQ(s.state("a"), "cancelled");
  EXPECT_EQ(s.claim(), "b");
  EXPECT_EQ(s.enqueue(replacing("c")).refusal.why, Rejection::kDuplicateJob);
  s.ack("b", AckOutcome::kSucceeded);
  EXPECT_EQ(s.enqueue(replacing("d")).fate, Fate::kCreated);
}

TEST(Enqueue, AnAtomicSubmissionIsAllOrNothing) {
  Scenario s;
  auto taken = Scenario::spec("taken");
  taken.extras = unique("k", OnConflict::kReject);
  s.enqueue(taken);
  auto conflicting = Scenario::spec("b");
  conflicting.extras = unique("k", OnConflict::kReject);
  const auto refused = s.enqueue({Scenario::spec("a"), conflicting}, Atomicity::kAll);
  EXPECT_TRUE(refused.refused_as_one);
  EXPECT_EQ(refused.items.at(0).fate, Fate::kCreated);  // it alone would have been
  EXPECT_EQ(refused.items.at(1).refusal.why, Rejection::kDuplicateJob);
  EXPECT_EQ(s.state("a"), "gone");
  EXPECT_FALSE(
      s.enqueue({Scenario::spec("a"), Scenario::spec("c")}, Atomicity::kAll).refused_as_one);
}

TEST(Enqueue, AnAtomicSubmissionCountsInItsOwnConflicts) {
  Scenario s;
  QueuePatch patch;
  patch.max_ready = std::optional<std::uint64_t>(2);
  s.set_queue("mail", patch);
  const auto full =
      s.enqueue({Scenario::spec("a"), Scenario::spec("b"), Scenario::spec("c")}, Atomicity::kAll);
  EXPECT_TRUE(full.refused_as_one);
  EXPECT_EQ(full.items.at(2).refusal.why, Rejection::kQueueFull);
  auto one = Scenario::spec("d");
  one.extras = unique("k", OnConflict::kReject);
  auto other = Scenario::spec("e");
  other.extras = unique("k", OnConflict::kReject);
  EXPECT_TRUE(s.enqueue({one, other}, Atomicity::kAll).refused_as_one);
  EXPECT_EQ(s.queue().created, 0u);
}

JobSpec of_client(const std::string& name, std::shared_ptr<const JobExtras> extras = nullptr) {
  JobSpec spec = Scenario::spec(name);
  spec.id_origin = IdOrigin::kClient;
  spec.extras = std::move(extras);
  return spec;
}

TEST(Enqueue, AnAtomicSubmissionCountsInThatAReplacedJobIsForgotten) {
  Scenario s;
  QueuePatch patch;
  patch.cancelled = Duration{0};
  s.set_queue("mail", patch);
  s.enqueue(of_client("h", unique("k")));
  const JobSpec replacing = of_client("j", unique("k", OnConflict::kReplace));
  const JobSpec again = of_client("h", unique("k", OnConflict::kReject));
  const auto refused = s.enqueue({replacing, again}, Atomicity::kAll);
  EXPECT_TRUE(refused.refused_as_one);
  EXPECT_EQ(refused.items.at(1).refusal.why, Rejection::kDuplicateJob);
  EXPECT_EQ(s.state("h"), "ready");

  // With room for it, it is a new job.
  const auto taken = s.enqueue({replacing, of_client("h")}, Atomicity::kAll);
  EXPECT_EQ(taken.items.at(1).fate, Fate::kCreated);
  EXPECT_EQ(s.claim(9), "j h");
}

TEST(Enqueue, AnAtomicSubmissionCountsInThatOneOfItsOwnJobsIsForgotten) {
  MachineOptions options;
  options.default_retention.cancelled = Duration{0};
  Scenario s(options);  // the queue is made by the first job
  const JobSpec first = of_client("a", unique("k"));
  const JobSpec replacing = of_client("b", unique("k", OnConflict::kReplace));
  const JobSpec again = of_client("a", unique("k", OnConflict::kReject));
  EXPECT_TRUE(s.enqueue({first, replacing, again}, Atomicity::kAll).refused_as_one);
  // Replaced, created again by its id, and known from then on.
  const auto taken = s.enqueue({first, replacing, of_client("a"), of_client("a")}, Atomicity::kAll);
  ASSERT_FALSE(taken.refused_as_one);
  EXPECT_EQ(taken.items.at(2).fate, Fate::kCreated);
  EXPECT_EQ(taken.items.at(3).fate, Fate::kExisting);
}

TEST(Enqueue, AReplacedJobThatIsForgottenNeedsRoomToComeBack) {
  Scenario s;
  QueuePatch patch;
  patch.cancelled = Duration{0};
  patch.max_ready = std::optional<std::uint64_t>(1);
  s.set_queue("mail", patch);
  JobSpec delayed = of_client("h", unique("k"));
  delayed.delay = Duration{1'000};
  s.enqueue(delayed);
  const JobSpec replacing = of_client("j", unique("k", OnConflict::kReplace));
  const auto refused = s.enqueue({replacing, of_client("h")}, Atomicity::kAll);
  EXPECT_TRUE(refused.refused_as_one);
  EXPECT_EQ(refused.items.at(1).refusal.why, Rejection::kQueueFull);
}

TEST(Enqueue, JobsThatComeWithAnAckCountInWhatTheyReplace) {
  Scenario s;
  QueuePatch patch;
  patch.cancelled = Duration{0};
  s.set_queue("mail", patch);
  s.enqueue("acked");
  s.claim();
  s.enqueue(of_client("h", unique("k")));
  AckItem ack = s.ack_of("acked", AckOutcome::kSucceeded);
  ack.enqueue = {of_client("j", unique("k", OnConflict::kReplace)),
                 of_client("h", unique("k", OnConflict::kReject))};
  EXPECT_EQ(s.ack(ack).refusal.why, Rejection::kDuplicateJob);
  EXPECT_EQ(s.state("acked"), "running");
  EXPECT_EQ(s.state("h"), "ready");
}

TEST(Enqueue, MaxReadyRefusesTheJobAboveIt) {
  Scenario s;
  QueuePatch patch;
  patch.max_ready = std::optional<std::uint64_t>(1);
  s.set_queue("mail", patch);
  EXPECT_EQ(s.enqueue("a").fate, Fate::kCreated);
  EXPECT_EQ(s.enqueue("b").refusal.why, Rejection::kQueueFull);
  EXPECT_EQ(s.enqueue("a").fate, Fate::kExisting);  // a known job is still returned
  s.claim();
  EXPECT_EQ(s.enqueue("b").fate, Fate::kCreated);
}

TEST(Enqueue, WhenClosedNothingNewIsTakenAndWhatRunsEnds) {
  Scenario s;
  s.enqueue("a");
  s.claim();
  s.admission = Admission::kClosed;
  EXPECT_EQ(s.enqueue("b").refusal.why, Rejection::kOverloaded);
  auto with_more = s.ack_of("a", AckOutcome::kSucceeded);
  with_more.enqueue = {Scenario::spec("c")};
  EXPECT_EQ(s.ack(with_more).refusal.why, Rejection::kOverloaded);
  EXPECT_EQ(s.ack("a", AckOutcome::kSucceeded).state, State::kSucceeded);
  EXPECT_EQ(s.retry("a").refusal.why, Rejection::kOverloaded);
}

TEST(Enqueue, AKeysJobThatWasDeletedInTheSameStepIsNotShown) {
  Machine machine{MachineOptions{}};
  std::vector<Event> events;
  class Nothing final : public Prefetched {
   public:
    const Job* find(const JobId&) const override { return nullptr; }
  } nothing;
  const Time now = time_from_ms(1'000);
  Enqueue command;
  command.jobs = {Scenario::spec("a")};
  command.detail = Detail::kJobs;
  command.key = IdempotencyKey{fingerprint("key"), fingerprint("body"), {}};
  const auto decide = [&](const Command& each) {
    return machine.decide(each, now, nothing, Admission::kOpen, events);
  };
  decide(command);
  decide(Delete{{Scenario::id("a")}, DeleteCause::kOperator});
  const auto again = std::get<EnqueueReply>(decide(command)).items.at(0);
  EXPECT_EQ(again.fate, Fate::kExisting);
  EXPECT_EQ(again.id, Scenario::id("a"));
  EXPECT_EQ(again.job, nullptr);
}

TEST(EnqueueFull, TellsHowFullAndWhenToComeBack) {
  Scenario s;
  QueuePatch patch;
  patch.max_ready = std::optional<std::uint64_t>(20);
  s.set_queue("mail", patch);
  const auto fill = [&](const std::string& prefix, int count) {
    EnqueueReply::Item last;
    for (int i = 0; i < count; ++i) last = s.enqueue(prefix + std::to_string(i));
    return last.refusal;
  };
  Refusal refusal = fill("a", 21);
  ASSERT_NE(refusal.full, nullptr);
  EXPECT_EQ(refusal.full->depth, 20U);
  EXPECT_EQ(refusal.full->room_in, std::nullopt);  // nothing has started yet
  s.wait_ms(5'000);
  for (int i = 0; i < 4; ++i) {  // a start each second
    EXPECT_NE(s.claim(), "");
    s.wait_ms(1'000);
  }
  refusal = fill("b", 5);
  EXPECT_EQ(refusal.full->oldest, Duration{9'000});
  EXPECT_EQ(refusal.full->room_in, Duration{2'000});  // a tenth of 20 jobs
  s.wait_ms(30'000);
  EXPECT_EQ(s.enqueue("c").refusal.full->room_in, Pace::kMost);  // nothing drains it
}

TEST(EnqueueFull, AKeyHasABoundOfItsOwn) {
  Scenario s;
  QueuePatch patch;
  patch.max_ready_per_key = std::optional<std::uint64_t>(2);
  const auto alone = std::get<QueueReply>(s.decide(SetQueue{SharedBytes("mail"), true, patch, {}}));
  EXPECT_EQ(alone.refusal.detail, RefusalDetail::kKeyBoundWithoutFair);
  patch.fair.emplace(FairSettings{});
  s.set_queue("mail", patch);
  const auto of_key = [](const std::string& job, const std::string& key, bool ordered = false) {
    JobSpec spec = Scenario::spec(job);
    JobExtras extras;
    extras.fair_key = SharedBytes(key);
    if (ordered) extras.order_key = SharedBytes("o");
    spec.extras = std::make_shared<const JobExtras>(std::move(extras));
    return spec;
  };
  // Jobs behind others of their order key are ready too.
  s.enqueue(of_key("a1", "acme", true));
  s.enqueue(of_key("a2", "acme", true));
  s.wait_ms(50);
  const Refusal refusal = s.enqueue(of_key("a3", "acme")).refusal;
  EXPECT_EQ(refusal.why, Rejection::kKeyFull);
  ASSERT_NE(refusal.full, nullptr);
  EXPECT_EQ(refusal.full->depth, 2U);
  EXPECT_EQ(refusal.full->oldest, Duration{50});
  EXPECT_EQ(s.enqueue(of_key("b1", "globex")).fate, Fate::kCreated);
  EXPECT_EQ(s.enqueue(of_key("c1", "")).fate, Fate::kCreated);
  const EnqueueReply batch =
      s.enqueue({of_key("b2", "globex"), of_key("b3", "globex")}, Atomicity::kAll);
  EXPECT_TRUE(batch.refused_as_one);
  EXPECT_EQ(s.state("b2"), "gone");
  EXPECT_EQ(s.claim(), "a1");
  EXPECT_EQ(s.enqueue(of_key("a3", "acme")).fate, Fate::kCreated);
}

}  // namespace
}  // namespace millrace::core
