#include "core/scenario.h"

namespace millrace::core {
namespace {

TEST(Cancel, AWaitingJobAtOnceARunningOneByFlag) {
  Scenario s;
  s.enqueue({Scenario::spec("a"), Scenario::spec("b")});
  EXPECT_EQ(s.claim(), "a");
  EXPECT_EQ(s.cancel("b").state, State::kCancelled);
  EXPECT_EQ(s.cancel("b").refusal.why, Rejection::kInvalidState);
  EXPECT_EQ(s.cancel("a").state, State::kRunning);
  EXPECT_TRUE(s.heartbeat("a").cancel_requested);
  EXPECT_FALSE(s.cancel("a").refusal);  // asked twice is asked once
  EXPECT_EQ(s.cancel("nobody").refusal.why, Rejection::kNotFound);
}

TEST(Cancel, TheAckThatFollowsDecides) {
  const std::pair<AckOutcome, State> table[] = {{AckOutcome::kSucceeded, State::kSucceeded},
                                                {AckOutcome::kFailed, State::kCancelled},
                                                {AckOutcome::kCancelled, State::kCancelled},
                                                {AckOutcome::kReleased, State::kCancelled},
                                                {AckOutcome::kSnoozed, State::kCancelled}};
  for (const auto& [outcome, state] : table) {
    Scenario s;
    s.enqueue("a");
    s.claim();
    s.cancel("a");
    EXPECT_EQ(s.ack("a", outcome).state, state);
  }
  Scenario s;
  s.enqueue("a");
  s.claim();
  s.cancel("a");
  s.wait_ms(30'000);  // or the lease that expires
  EXPECT_EQ(s.state("a"), "cancelled");
}

TEST(Retry, BringsBackWhatEndedAsANewGeneration) {
  Scenario s;
  s.enqueue("a");
  EXPECT_EQ(s.retry("a").refusal.why, Rejection::kInvalidState);
  s.claim();
  s.ack("a", AckOutcome::kDead);
  for (const bool in_memory : {true, false}) {
    if (!in_memory) s.project();
    const std::uint64_t version =
        in_memory ? s.job("a").version : s.table().at(Scenario::id("a")).version;
    EXPECT_EQ(s.retry("a").state, State::kReady);
    EXPECT_EQ(s.job("a").version, version + 1);
    EXPECT_EQ(s.job("a").attempt, 0u);
    EXPECT_EQ(s.job("a").payload.view(), "{\"job\":\"a\"}");
    EXPECT_EQ(s.claim(), "a");
    s.ack("a", AckOutcome::kDead);
  }
  EXPECT_EQ(s.job("a").generation, 3u);
  EXPECT_EQ(s.queue().counts[static_cast<std::size_t>(State::kDead)], 1u);
  EXPECT_EQ(s.retry("nobody").refusal.why, Rejection::kNotFound);
}

TEST(Retry, WithoutResettingItMayStartOnceMore) {
  Scenario s;
  auto job = Scenario::spec("a");
  job.max_attempts = 1;
  s.enqueue(job);
  s.claim();
  s.ack("a", AckOutcome::kFailed);
  EXPECT_EQ(s.items(Retry{{Scenario::id("a")}, {}, false}).state, State::kReady);
  EXPECT_EQ(s.claim(), "a");
  EXPECT_EQ(s.job("a").attempt, 2u);
  EXPECT_EQ(s.ack("a", AckOutcome::kFailed).state, State::kDead);
}

TEST(Retry, WithoutResettingOnlyWhileThereAreAttemptsToCount) {
  struct Table final : Prefetched {
    const Job* find(const JobId& id) const override { return id == job.id ? &job : nullptr; }
    Job job;
  } table;
  table.job.id = Scenario::id("a");
  table.job.ord = 1;
  table.job.queue = SharedBytes("mail");
  table.job.type = SharedBytes("send");
  table.job.state = State::kDead;
  table.job.attempt = table.job.max_attempts = kMaxAttempts;
  table.job.lease = kDefaultLease;
  table.job.retry = default_retry_policy();
  Machine machine{MachineOptions{}};
  ShardFacts facts;
  facts.next_ord = 2;
  machine.load_facts(facts);
  Queue queue;
  queue.name = table.job.queue;
  queue.counts[static_cast<std::size_t>(State::kDead)] = 1;
  machine.load_queue(queue);

  Claim claim;
  claim.queues = {queue.name};
  claim.worker = SharedBytes("worker-1");
  const Time now = time_from_ms(1'700'000'000'000);
  std::vector<Event> events;
  const auto decide = [&](const Command& command) {
    return machine.decide(command, now, table, Admission::kOpen, events);
  };
  const auto item = [&](const Command& command) {
    return std::get<ItemsReply>(decide(command)).items.at(0);
  };
  const Retry again{{table.job.id}, {}, false};
  EXPECT_EQ(item(again).state, State::kReady);
  const auto claimed = std::get<ClaimReply>(decide(claim)).jobs;
  ASSERT_EQ(claimed.size(), 1u);
  EXPECT_EQ(claimed[0].job.attempt, kMaxAttempts + 1);
  Ack ack;
  AckItem& failed = ack.items.emplace_back();
  failed.id = claimed[0].job.id;
  failed.token = claimed[0].job.token;
  failed.outcome = AckOutcome::kFailed;
  EXPECT_EQ(item(ack).state, State::kDead);
  EXPECT_EQ(item(again).refusal.why, Rejection::kInvalidState);
  EXPECT_EQ(item(Retry{{table.job.id}, {}, true}).state, State::kReady);
  EXPECT_EQ(std::get<ClaimReply>(decide(claim)).jobs.size(), 1u);
}

TEST(Retry, NotWhenAnotherHoldsItsUniqueKey) {
  Scenario s;
  JobExtras extras;
  extras.unique = UniqueRule{SharedBytes("k"), {}, OnConflict::kReturn};
  auto a = Scenario::spec("a");
  a.extras = std::make_shared<const JobExtras>(extras);
  auto b = Scenario::spec("b");
  b.extras = a.extras;
  s.enqueue(a);
  s.cancel("a");
  s.enqueue(b);
  EXPECT_EQ(s.retry("a").refusal.why, Rejection::kDuplicateJob);
  s.cancel("b");
  EXPECT_EQ(s.retry("a").state, State::kReady);
}

TEST(Edit, AWaitingJobOfTheExpectedVersion) {
  Scenario s;
  s.enqueue({Scenario::spec("a"), Scenario::spec("b")});
  Edit edit{{Scenario::id("b")},
            s.job("b").version,
            std::int16_t{-1},
            {},
            SharedBytes("[1]"),
            7u,
            std::vector<SharedBytes>{SharedBytes("vip")}};
  EXPECT_EQ(s.items(edit).version, 2u);
  EXPECT_EQ(s.items(edit).refusal.why, Rejection::kVersionConflict);
  EXPECT_EQ(s.job("b").payload.view(), "[1]");
  EXPECT_EQ(s.job("b").extras->tags.at(0).view(), "vip");
  EXPECT_EQ(s.claim(), "b");
  edit.if_version.reset();
  EXPECT_EQ(s.items(edit).refusal.why, Rejection::kInvalidState);
}

TEST(Edit, RunAtMovesAJobBetweenReadyAndScheduled) {
  Scenario s;
  s.enqueue("a");
  Edit edit;
  edit.ids = {Scenario::id("a")};
  edit.run_at = s.now() + Duration{5'000};
  EXPECT_EQ(s.items(edit).state, State::kScheduled);
  edit.run_at = s.now() - Duration{5'000};
  EXPECT_EQ(s.items(edit).state, State::kReady);
  edit.run_at.reset();
  s.claim();
  s.ack("a", AckOutcome::kFailed);
  edit.max_attempts = 1;
  EXPECT_EQ(s.items(edit).refusal.why, Rejection::kInvalidState);
}

TEST(Delete, AnyButARunningJobWhereverItIs) {
  Scenario s;
  s.enqueue({Scenario::spec("a"), Scenario::spec("b"), Scenario::spec("c")});
  s.claim();
  EXPECT_EQ(s.remove("a").refusal.why, Rejection::kInvalidState);
  EXPECT_FALSE(s.remove("b").refusal);
  EXPECT_EQ(s.remove("b").refusal.why, Rejection::kNotFound);
  s.ack("a", AckOutcome::kSucceeded);
  s.project();
  EXPECT_FALSE(s.remove("a").refusal);
  EXPECT_EQ(s.remove("a").refusal.why, Rejection::kNotFound);  // though the tables still show it
  EXPECT_TRUE(std::get<JobReply>(s.decide(GetJob{Scenario::id("a")})).deleted);
  s.project();
  EXPECT_EQ(s.table().size(), 1u);
  EXPECT_EQ(s.queue().pruned, 2u);
}

TEST(Delete, OnlyTheVersionNamed) {
  Scenario s;
  s.enqueue("a");
  const std::uint64_t seen = s.job("a").version;
  Edit edit;
  edit.ids = {Scenario::id("a")};
  edit.priority = 3;
  s.items(edit);
  Delete command{{Scenario::id("a")}, DeleteCause::kOperator, {}, seen};
  EXPECT_EQ(s.items(command).refusal.why, Rejection::kVersionConflict);
  EXPECT_EQ(s.state("a"), "ready");
  command.if_version = s.job("a").version;
  EXPECT_FALSE(s.items(command).refusal);
  EXPECT_EQ(s.items(command).refusal.why, Rejection::kNotFound);
}

TEST(Delete, AnIdThatIsUsedAgainAndDeletedAgainWithinAStep) {
  struct NoTables final : Prefetched {
    const Job* find(const JobId&) const override { return nullptr; }
  };
  Machine machine{MachineOptions{}};
  const Time now = time_from_ms(1'700'000'000'000);
  std::vector<Event> events;
  for (int round = 0; round < 3; ++round) {
    Enqueue enqueue;
    enqueue.jobs.push_back(Scenario::spec("a"));
    machine.decide(enqueue, now, NoTables(), Admission::kOpen, events);
    machine.decide(Delete{{Scenario::id("a")}, DeleteCause::kOperator}, now, NoTables(),
                   Admission::kOpen, events);
    machine.check_invariants();
  }
  EXPECT_FALSE(machine.view(Scenario::id("a")) == nullptr);  // the one deleted last, until the end
  machine.end_step();
  machine.check_invariants();
  EXPECT_EQ(machine.bytes_held(), 0u);
  EXPECT_EQ(machine.view(Scenario::id("a")), nullptr);
}

TEST(Delete, RetentionTakesOnlyWhatIsStillDue) {
  Scenario s;
  s.enqueue({Scenario::spec("a"), Scenario::spec("b")});
  s.claim(2);
  s.ack("a", AckOutcome::kSucceeded);
  s.ack("b", AckOutcome::kDead);
  s.project();
  s.wait_ms(kDefaultRetention.count());
  s.retry("b");
  Delete command{{Scenario::id("a"), Scenario::id("b")}, DeleteCause::kRetention};
  const auto reply = std::get<ItemsReply>(s.decide(command));
  EXPECT_FALSE(reply.items.at(0).refusal);
  EXPECT_TRUE(reply.items.at(1).refusal);
  EXPECT_EQ(s.state("b"), "ready");
}

TEST(Operate, AJobThatHasLeftTheStatesNamedIsLeftAlone) {
  Scenario s;
  s.enqueue({Scenario::spec("retried"), Scenario::spec("done"), Scenario::spec("runs")});
  s.claim(2);
  s.ack("retried", AckOutcome::kDead);
  s.ack("done", AckOutcome::kDead);
  s.project();  // filters find only dead jobs from here on
  s.retry("retried");
  s.retry("done");
  s.claim(3, {"mail"});
  s.ack("retried", AckOutcome::kReleased);
  s.ack("done", AckOutcome::kSucceeded);
  const StateSet dead = StateSet::of({State::kDead});
  const auto refusal = [&](const Command& command) { return s.items(command).refusal; };
  // A job whose retry was acknowledged is not deleted, and one that has succeeded is not run again.
  Delete remove{{Scenario::id("retried")}, DeleteCause::kOperator, dead};
  EXPECT_EQ(refusal(remove).detail, RefusalDetail::kOfAnotherState);
  EXPECT_EQ(s.state("retried"), "ready");
  const Retry retry{{Scenario::id("done")}, {}, true, dead};
  EXPECT_EQ(refusal(retry).why, Rejection::kInvalidState);
  EXPECT_EQ(s.state("done"), "succeeded");
  // A purge of waiting jobs does not take a job that has died since, wherever it is.
  remove = {{Scenario::id("done")}, DeleteCause::kPurge, StateSet::of({State::kReady})};
  for (const bool in_memory : {true, false}) {
    if (!in_memory) s.project();
    EXPECT_EQ(refusal(remove).why, Rejection::kInvalidState);
  }
  const Cancel cancel{{Scenario::id("runs")}, {}, StateSet::of({State::kReady})};
  EXPECT_EQ(refusal(cancel).why, Rejection::kInvalidState);
  EXPECT_FALSE(s.job("runs").cancel_requested);
  // The job waits, but in another state than when it was selected.
  Edit edit;
  edit.ids = {Scenario::id("retried")};
  edit.priority = 7;
  edit.states = StateSet::of({State::kScheduled});
  EXPECT_EQ(refusal(edit).detail, RefusalDetail::kOfAnotherState);
  EXPECT_EQ(s.job("retried").priority, 0);
  edit.states.add(State::kReady);
  EXPECT_FALSE(refusal(edit));

  remove = {{Scenario::id("done")}, DeleteCause::kOperator, StateSet::of({State::kSucceeded})};
  EXPECT_FALSE(refusal(remove));
  EXPECT_FALSE(refusal(Cancel{{Scenario::id("retried")}, {}, StateSet::of({State::kReady})}));
  EXPECT_FALSE(refusal(Retry{{Scenario::id("retried")}, {}, true}));
}

TEST(Queues, AreMadeByPutAndOnDemandAndChangedByPatch) {
  Scenario s;
  EXPECT_EQ(std::get<QueueReply>(s.decide(SetQueue{SharedBytes("q"), false, {}, {}})).refusal.why,
            Rejection::kNotFound);
  EXPECT_EQ(std::get<QueueReply>(s.decide(ResumeQueue{SharedBytes("q")})).refusal.why,
            Rejection::kNotFound);
  EXPECT_TRUE(std::get<QueueReply>(s.decide(SetQueue{SharedBytes("q"), true, {}, {}})).created);
  QueuePatch patch;
  patch.max_attempts = 3;
  s.decide(SetQueue{SharedBytes("q"), false, patch, {}});
  EXPECT_EQ(s.queue("q").settings.max_attempts, 3u);
  patch = {};
  patch.lease = Duration{9'000};
  s.decide(SetQueue{SharedBytes("q"), true, patch,
                    2u});  // a replacement: the rest is back at its default
  EXPECT_EQ(s.queue("q").settings.max_attempts, kDefaultMaxAttempts);
  EXPECT_EQ(
      std::get<QueueReply>(s.decide(SetQueue{SharedBytes("q"), false, patch, 2u})).refusal.why,
      Rejection::kVersionConflict);
  // A name that was never used may be a typing error.
  const auto refusal = [&](const Command& command) {
    return std::get<QueueReply>(s.decide(command)).refusal;
  };
  EXPECT_EQ(refusal(PauseQueue{SharedBytes("other"), {}}).detail, RefusalDetail::kNameNeverUsed);
  EXPECT_EQ(refusal(SetQueue{SharedBytes("third"), false, patch, {}}).detail,
            RefusalDetail::kNameNeverUsed);
  EXPECT_EQ(refusal(GetQueues{SharedBytes("other")}).why, Rejection::kNotFound);
  s.decide(PauseQueue{SharedBytes("other"), {}, true});
  EXPECT_TRUE(s.queue("other").paused);
  EXPECT_EQ(std::get<QueueReply>(s.decide(GetQueues{})).queues.size(), 2u);
  patch.max_attempts = 7;
  const auto third =
      std::get<QueueReply>(s.decide(SetQueue{SharedBytes("third"), false, patch, {}, true}));
  EXPECT_TRUE(third.created);
  EXPECT_EQ(third.queues.at(0).settings.max_attempts, 7u);
}

TEST(Queues, CanBeDeletedOnceTheyHaveNoJobs) {
  Scenario s;
  const auto remove = [&] {
    return std::get<QueueReply>(s.decide(DeleteQueue{SharedBytes("mail")}));
  };
  EXPECT_EQ(remove().refusal.why, Rejection::kNotFound);
  s.enqueue({Scenario::spec("a"), Scenario::spec("b")});
  s.claim();
  s.ack("a", AckOutcome::kSucceeded);
  s.remove("b");
  s.project();
  EXPECT_EQ(remove().refusal.detail, RefusalDetail::kQueueHasJobs) << "one is kept";
  s.remove("a");
  s.decide(PauseQueue{SharedBytes("mail"), {}});
  const auto gone = remove();
  EXPECT_FALSE(gone.refusal);
  EXPECT_EQ(gone.queues.at(0).created, 2u);
  EXPECT_EQ(s.machine().queues(), 0u);
  EXPECT_EQ(std::get<QueueReply>(s.decide(GetQueues{})).queues.size(), 0u);
  // The name is free, and nothing of the queue is left.
  s.enqueue("c");
  EXPECT_FALSE(s.queue().paused);
  EXPECT_EQ(s.queue().created, 1u);
  EXPECT_EQ(s.claim(), "c");
}

TEST(Queues, CanBeDeletedInTheStepThatEndsTheirLastJob) {
  Scenario s;
  QueuePatch patch;
  patch.cancelled = Duration{0};
  s.set_queue("mail", patch);
  s.enqueue("a");
  std::vector<Event> events;
  struct None final : Prefetched {
    const Job* find(const JobId&) const override { return nullptr; }
  } none;
  Machine& machine = s.machine();
  const auto decide = [&](const Command& command) {
    return machine.decide(command, s.now(), none, Admission::kOpen, events);
  };
  decide(Cancel{{Scenario::id("a")}, {}});
  EXPECT_FALSE(std::get<QueueReply>(decide(DeleteQueue{SharedBytes("mail")})).refusal);
  Enqueue again;
  again.jobs = {Scenario::spec("b")};
  decide(again);
  EXPECT_EQ(machine.take_woken_queues().size(), 1u);
  machine.end_step();
  machine.check_invariants();
  EXPECT_EQ(machine.jobs_in_memory(), 1u);
}

TEST(Queues, ComeInPagesByName) {
  Scenario s;
  for (const char* name : {"d", "b", "a", "c"}) {
    s.decide(SetQueue{SharedBytes(name), true, {}, {}});
  }
  s.enqueue(Scenario::spec("job", "c"));
  const auto page = [&](const std::string& after, std::uint32_t limit, bool counts_only = false) {
    GetQueues get{{}, SharedBytes(after), limit, counts_only};
    return std::get<QueueReply>(s.decide(get)).queues;
  };
  const auto names = [&](const std::string& after, std::uint32_t limit) {
    std::string joined;
    for (const Queue& queue : page(after, limit)) joined += queue.name.view();
    return joined;
  };
  const auto next = [&](std::uint32_t limit) {
    const GetQueues get{{}, {}, limit};
    return std::string(std::get<QueueReply>(s.decide(get)).next.view());
  };
  EXPECT_EQ(next(0), "");
  EXPECT_EQ(next(3), "c");
  EXPECT_EQ(next(5), "");
  EXPECT_EQ(names("", 0), "abcd");
  EXPECT_EQ(names("", 2), "ab");
  EXPECT_EQ(names("b", 2), "cd");
  EXPECT_EQ(names("bb", 1), "c");
  EXPECT_EQ(names("d", 2), "");
  const auto counts = page("b", 1, true);
  EXPECT_EQ(counts.at(0).name.view(), "c");
  EXPECT_EQ(counts.at(0).counts[static_cast<std::size_t>(State::kReady)], 1u);
  EXPECT_EQ(counts.at(0).oldest_ready_at, std::nullopt);
  EXPECT_NE(page("b", 1).at(0).oldest_ready_at, std::nullopt);
}

TEST(Queues, AsManyAsThereMayBe) {
  MachineOptions options;
  options.max_queues = 1;
  Scenario s(options);
  const auto why = [&](const Command& command) {
    return std::get<QueueReply>(s.decide(command)).refusal.why;
  };
  EXPECT_EQ(why(SetQueue{SharedBytes("a"), true, {}, {}}), Rejection::kNone);
  EXPECT_EQ(why(SetQueue{SharedBytes("b"), true, {}, {}}), Rejection::kTooManyQueues);
  EXPECT_EQ(why(PauseQueue{SharedBytes("b"), {}, true}), Rejection::kTooManyQueues);
  EXPECT_EQ(why(SetQueue{SharedBytes("a"), true, {}, {}}), Rejection::kNone);
  EXPECT_EQ(why(DeleteQueue{SharedBytes("a")}), Rejection::kNone);
  EXPECT_EQ(why(SetQueue{SharedBytes("b"), true, {}, {}}), Rejection::kNone);
  s.admission = Admission::kClosed;  // a name is memory too
  EXPECT_EQ(why(DeleteQueue{SharedBytes("b")}), Rejection::kNone);
  EXPECT_EQ(why(SetQueue{SharedBytes("b"), true, {}, {}}), Rejection::kOverloaded);
}

TEST(Queues, ThatAreNotThereHaveNoVersionNothingToPurgeAndNothingToShow) {
  Scenario s;
  const SharedBytes none("none");
  for (const bool replace : {false, true}) {
    const auto reply = std::get<QueueReply>(s.decide(SetQueue{none, replace, {}, 1u}));
    EXPECT_EQ(reply.refusal.why, replace ? Rejection::kVersionConflict : Rejection::kNotFound);
  }
  EXPECT_EQ(std::get<QueueReply>(s.decide(NotePurge{none, 3})).refusal.why, Rejection::kNotFound);
  EXPECT_EQ(std::get<QueueReply>(s.decide(GetQueues{none})).refusal.why, Rejection::kNotFound);
  EXPECT_TRUE(std::get<QueueReply>(s.decide(GetQueues{})).queues.empty());
}

TEST(Queues, TellSinceWhenTheirOldestJobIsReadyWhateverItsPriority) {
  Scenario s;
  auto job = Scenario::spec("a");
  job.priority = INT16_MAX;
  s.wait_ms(10);
  s.enqueue(job);
  const Time first = s.now();
  s.wait_ms(10);
  job = Scenario::spec("b", "mail", "other");
  job.priority = -1;
  s.enqueue(job);
  EXPECT_EQ(s.queue().oldest_ready_at, first);
  EXPECT_EQ(s.claim(1, {"mail"}, {"send"}), "a");
  EXPECT_EQ(s.queue().oldest_ready_at, first + Duration{10});
}

TEST(Epoch, TokensOfANewTermLieAboveAllBefore) {
  Scenario s;
  s.enqueue("a");
  s.claim();
  std::vector<Event> events;
  s.machine().start_epoch(Epoch{2}, s.now() + Duration{5}, events);
  EXPECT_GE(std::get<EpochStarted>(events.at(0)).first_token,
            static_cast<std::uint64_t>(to_ms(s.now()) + 5) * 1024);
  EXPECT_LE(std::get<EpochStarted>(events.at(0)).first_token, kMaxLeaseToken);
}

}  // namespace
}  // namespace millrace::core
