#include <algorithm>

#include "core/scenario.h"

namespace millrace::core {
namespace {

class Finish : public ::testing::Test {
 protected:
  ItemReply finish(const std::string& name, LeaseToken token) {
    AckItem item = s.ack_of(name, AckOutcome::kSucceeded);
    item.token = token;
    item.result = SharedBytes("[1]");
    Ack command;
    command.items.push_back(std::move(item));
    command.right = AckRight::kFence;
    return s.items(std::move(command));
  }
  // A transaction has raised the job's fence, and has not finished it.
  ItemReply fence(const std::string& name, LeaseToken token) {
    AckItem item = s.ack_of(name, AckOutcome::kSucceeded);
    item.token = token;
    Ack command;
    command.items.push_back(std::move(item));
    command.right = AckRight::kFenceRaised;
    const std::size_t before = events();
    const ItemReply reply = s.items(std::move(command));
    EXPECT_EQ(events(), before);
    EXPECT_EQ(reply.version, 0U);
    return reply;
  }
  // Enqueues and claims a job; returns its token.
  LeaseToken started(const std::string& name) {
    s.enqueue(name);
    EXPECT_EQ(s.claim(), name);
    return s.token(name);
  }
  void expect_succeeded(const std::string& name) {
    const Job job = s.job(name);
    EXPECT_EQ(name_of(job.state), "succeeded");
    EXPECT_EQ(job.result.view(), "[1]");
    EXPECT_EQ(job.finished_at, s.now());
    EXPECT_FALSE(job.cancel_requested);
    EXPECT_EQ(job.token, kNoToken);
  }
  bool marked(const std::string& name) {
    const auto view = s.machine().view(Scenario::id(name));
    return view != nullptr && std::ranges::any_of(view->marks, [](const Mark& mark) {
             return mark.kind == MarkKind::kFinished;
           });
  }
  std::size_t events() const {
    std::size_t events = 0;
    for (const EventBatch& batch : s.journal()) events += batch.events.size();
    return events;
  }

  Scenario s;
};

TEST_F(Finish, WithTheLiveLeaseIsAnAck) {
  const LeaseToken token = started("a");
  const ItemReply reply = finish("a", token);
  EXPECT_EQ(reply.state, State::kSucceeded);
  EXPECT_GT(reply.version, 0U);
  expect_succeeded("a");
  EXPECT_EQ(s.job("a").latest.outcome, AttemptOutcome::kSucceeded);
  EXPECT_FALSE(marked("a"));
  // The worker's own ack comes later, and gets the answer of a first ack.
  EXPECT_EQ(s.ack("a", AckOutcome::kSucceeded).state, State::kSucceeded);
}

TEST_F(Finish, AfterTheAckChangesNothing) {
  const LeaseToken token = started("a");
  s.ack("a", AckOutcome::kSucceeded);
  const std::size_t before = events();
  const ItemReply reply = finish("a", token);
  EXPECT_FALSE(reply.refusal);
  EXPECT_EQ(reply.version, 0U);
  EXPECT_EQ(events(), before);
}

TEST_F(Finish, AJobThatWaitsForItsNextAttempt) {
  const LeaseToken token = started("a");
  s.wait_ms(30'000);
  ASSERT_EQ(s.state("a"), "retrying");
  EXPECT_GT(finish("a", token).version, 0U);
  expect_succeeded("a");
  EXPECT_EQ(s.job("a").latest.outcome, AttemptOutcome::kLeaseExpired);
  EXPECT_TRUE(marked("a"));
  s.wait_ms(600'000);
  EXPECT_EQ(s.claim(), "");
}

TEST_F(Finish, AJobThatIsReadyAgain) {
  const LeaseToken token = started("a");
  s.ack("a", AckOutcome::kReleased);
  ASSERT_EQ(s.state("a"), "ready");
  finish("a", token);
  expect_succeeded("a");
  EXPECT_EQ(s.claim(), "");
  s.enqueue("b");
  EXPECT_EQ(s.claim(2), "b");
}

TEST_F(Finish, AJobThatRunsElsewhere) {
  const LeaseToken stale = started("a");
  s.ack("a", AckOutcome::kReleased);
  s.claim();
  const LeaseToken live = s.token("a");
  ASSERT_NE(stale, live);
  finish("a", stale);
  expect_succeeded("a");
  EXPECT_EQ(s.job("a").latest.outcome, AttemptOutcome::kCancelled);
  EXPECT_EQ(s.job("a").latest.n, 2U);
  EXPECT_TRUE(marked("a"));
  EXPECT_EQ(s.machine().live_leases(), 0U);
  // The worker has lost the lease.
  EXPECT_EQ(s.ack("a", AckOutcome::kSucceeded).refusal.why, Rejection::kLeaseLost);
  EXPECT_EQ(s.heartbeat("a").refusal.why, Rejection::kLeaseLost);
}

TEST_F(Finish, ADeadJobInMemoryOrNot) {
  for (const std::string name : {"a", "b"}) {
    const LeaseToken token = started(name);
    s.ack(name, AckOutcome::kDead);
    if (name == "b") s.project();
    finish(name, token);
    expect_succeeded(name);
    EXPECT_TRUE(marked(name));
    EXPECT_EQ(s.job(name).last_error->message.view(), "it broke");
  }
  const auto& counts = s.queue().counts;
  EXPECT_EQ(counts[static_cast<std::size_t>(State::kDead)], 0U);
  EXPECT_EQ(counts[static_cast<std::size_t>(State::kSucceeded)], 2U);
  s.project();
  EXPECT_EQ(name_of(s.table().at(Scenario::id("b")).state), "succeeded");
}

TEST_F(Finish, ACancelledJob) {
  const LeaseToken token = started("a");
  s.cancel("a");
  s.ack("a", AckOutcome::kCancelled);
  finish("a", token);
  expect_succeeded("a");
}

// A dead job holds a key for a time, and the tables have a row for it; the finish ends the hold.
TEST_F(Finish, EndsTheHoldOfAUniqueKeyInTheTablesToo) {
  JobSpec spec = Scenario::spec("a");
  auto extras = std::make_shared<JobExtras>();
  extras->unique = UniqueRule{SharedBytes("key"), Duration{100}, OnConflict::kReject};
  spec.extras = std::move(extras);
  s.enqueue(std::move(spec));
  s.claim();
  s.ack("a", AckOutcome::kDead);
  s.project();
  s.wait_ms(200);
  finish("a", s.token("a"));
  const auto changes = s.machine().take_changes();
  ASSERT_EQ(changes->held_uniques.size(), 1U);
  EXPECT_EQ(changes->held_uniques.front().until, std::nullopt);
}

TEST_F(Finish, DoesNotTakeAUniqueKeyBack) {
  const auto with_key = [](const std::string& name) {
    JobSpec spec = Scenario::spec(name);
    auto extras = std::make_shared<JobExtras>();
    extras->unique = UniqueRule{SharedBytes("key"), std::nullopt, OnConflict::kReject};
    spec.extras = std::move(extras);
    return spec;
  };
  s.enqueue(with_key("a"));
  s.claim();
  s.ack("a", AckOutcome::kDead);
  s.project();
  s.enqueue(with_key("b"));
  finish("a", s.token("a"));
  expect_succeeded("a");
  EXPECT_EQ(s.enqueue(with_key("c")).refusal.other, Scenario::id("b"));
}

TEST_F(Finish, ForgetsWhatIsNotKept) {
  QueuePatch patch;
  patch.succeeded = Duration{0};
  s.set_queue("mail", patch);
  const LeaseToken token = started("a");
  s.wait_ms(30'000);
  EXPECT_EQ(finish("a", token).state, State::kSucceeded);
  EXPECT_EQ(s.state("a"), "gone");
  EXPECT_EQ(finish("a", token).refusal.why, Rejection::kNotFound);
}

// "Not found" would not tell the shard which of the two cases it is.
TEST_F(Finish, AfterTheAckOfAJobThatIsForgottenChangesNothing) {
  QueuePatch patch;
  patch.succeeded = Duration{0};
  patch.dead = Duration{0};
  s.set_queue("mail", patch);
  const LeaseToken acked = started("a");
  s.ack("a", AckOutcome::kSucceeded);
  ASSERT_EQ(s.state("a"), "gone");
  const LeaseToken dead = started("b");
  s.ack("b", AckOutcome::kDead);
  s.project();
  const std::size_t before = events();
  const ItemReply reply = finish("a", acked);
  EXPECT_EQ(reply.state, State::kSucceeded);
  EXPECT_EQ(reply.version, 0U);
  EXPECT_EQ(finish("b", dead).refusal.why, Rejection::kNotFound);
  EXPECT_EQ(finish("b", acked).refusal.why, Rejection::kNotFound);
  EXPECT_EQ(events(), before);
}

// A token says nothing about a later job with the same id.
TEST_F(Finish, OfAnEarlierJobWithTheSameIdChangesNothing) {
  QueuePatch patch;
  patch.succeeded = Duration{0};
  s.set_queue("mail", patch);
  const LeaseToken token = started("a");
  s.ack("a", AckOutcome::kSucceeded);
  s.enqueue("a");
  EXPECT_FALSE(finish("a", token).refusal);
  EXPECT_EQ(s.state("a"), "ready");
}

TEST_F(Finish, RefusesWhatWasNeverSo) {
  const LeaseToken of_b = started("b");
  const LeaseToken of_a = started("a");
  s.enqueue("new");
  const LeaseToken next{to_number(of_a) + 1};
  const auto expect_refused = [&](const std::string& name, LeaseToken token, LeaseToken open_to) {
    for (const ItemReply& reply : {finish(name, token), fence(name, token)}) {
      EXPECT_EQ(reply.refusal.detail, RefusalDetail::kNoSuchLease) << name;
      EXPECT_EQ(reply.fence, open_to) << name;
    }
  };
  const std::size_t before = events();
  expect_refused("a", next, of_a);
  expect_refused("b", of_a, of_b);
  expect_refused("a", of_b, of_a);  // both run
  expect_refused("new", of_b, next);
  EXPECT_EQ(finish("nobody", of_a).refusal.why, Rejection::kNotFound);
  EXPECT_EQ(fence("nobody", of_a).refusal.why, Rejection::kNotFound);
  EXPECT_EQ(events(), before);
  s.ack("b", AckOutcome::kDead);
  expect_refused("a", of_b, of_a);
  expect_refused("b", of_a, next);
  EXPECT_EQ(s.state("a"), "running");
  EXPECT_EQ(s.state("new"), "ready");
}

TEST_F(Finish, OfATokenThatNoLeaseEverHadIsRefused) {
  const LeaseToken token = started("a");
  s.wait_ms(1'000);
  s.start_epoch(Epoch{7});
  s.ack("a", AckOutcome::kReleased);
  s.claim();
  EXPECT_GT(to_number(s.token("a")), to_number(token) + 1);
  EXPECT_EQ(finish("a", LeaseToken{to_number(token) + 1}).refusal.detail,
            RefusalDetail::kNoSuchLease);
}

TEST_F(Finish, AFenceOfAnyLeaseOfTheJobIsBelieved) {
  const LeaseToken first = started("a");
  EXPECT_FALSE(fence("a", first).refusal);
  s.ack("a", AckOutcome::kReleased);
  EXPECT_FALSE(fence("a", first).refusal);
  s.claim();
  EXPECT_FALSE(fence("a", first).refusal);
  EXPECT_FALSE(fence("a", s.token("a")).refusal);
}

// If a million later leases have pushed the token out of memory, it is neither believed nor denied.
TEST(FinishOfAForgottenLease, IsRefusedAndAFenceOfItStands) {
  class Nothing final : public Prefetched {
   public:
    const Job* find(const JobId&) const override { return nullptr; }
  };
  Machine machine{MachineOptions{}};
  std::vector<Event> events;
  const auto decide = [&](Command command) {
    return machine.decide(command, Time{}, Nothing(), Admission::kOpen, events);
  };
  const auto ask = [&](LeaseToken token, AckOutcome outcome, AckRight right) {
    AckItem item;
    item.id = Scenario::id("a");
    item.token = token;
    item.outcome = outcome;
    Ack ack;
    ack.items.push_back(std::move(item));
    ack.right = right;
    return std::get<ItemsReply>(decide(std::move(ack))).items.at(0);
  };
  Enqueue enqueue;
  enqueue.jobs.push_back(Scenario::spec("a"));
  decide(std::move(enqueue));
  const auto claim = [&] {
    Claim command;
    command.queues = {SharedBytes("mail")};
    command.worker = SharedBytes("anna");
    return std::get<ClaimReply>(decide(std::move(command))).jobs.at(0).job.token;
  };
  const LeaseToken first = claim();
  ask(first, AckOutcome::kReleased, AckRight::kLease);
  claim();
  for (std::uint64_t i = 0; i < kEndedLeasesRemembered; ++i) {
    machine.load_ended_lease({LeaseToken{1'000 + i}, {}, AttemptOutcome::kDead, State::kDead});
  }
  events.clear();
  const ItemReply finished = ask(first, AckOutcome::kSucceeded, AckRight::kFence);
  EXPECT_EQ(finished.refusal.detail, RefusalDetail::kLeaseForgotten);
  EXPECT_FALSE(ask(first, AckOutcome::kSucceeded, AckRight::kFenceRaised).refusal);
  EXPECT_TRUE(events.empty());
}

// A generation that a transaction may still finish must not give way to the next.
TEST_F(Finish, AJobThatIsNotFencedIsNotRetried) {
  class Unfenced final : public Prefetched {
   public:
    const Job* find(const JobId&) const override { return nullptr; }
    bool fenced(const JobId&) const override { return false; }
  };
  started("a");
  s.ack("a", AckOutcome::kDead);
  std::vector<Event> events;
  const Reply reply = s.machine().decide(Retry{{Scenario::id("a")}, {}, true}, s.now(), Unfenced(),
                                         Admission::kOpen, events);
  EXPECT_EQ(std::get<ItemsReply>(reply).items.at(0).refusal.detail, RefusalDetail::kFinishUnderWay);
  EXPECT_TRUE(events.empty());
  EXPECT_EQ(s.retry("a").state, State::kReady);
}

}  // namespace
}  // namespace millrace::core
