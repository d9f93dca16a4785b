#include <algorithm>

#include "core/bounds.h"
#include "core/scenario.h"

namespace millrace::core {
namespace {

TEST(Claim, ByPriorityThenDueTimeThenSubmission) {
  Scenario s;
  auto low = Scenario::spec("low");
  low.priority = 5;
  auto high = Scenario::spec("high");
  high.priority = -5;
  auto delayed = Scenario::spec("delayed");
  delayed.delay = Duration{1'000};
  s.enqueue({low, delayed, Scenario::spec("a"), Scenario::spec("b"), high});
  s.wait_ms(2'000);
  s.enqueue("late");
  EXPECT_EQ(s.claim(9), "high a b delayed late low");
}

TEST(Claim, QueuesInTheOrderGivenEachOnce) {
  Scenario s;
  s.enqueue({Scenario::spec("m1", "mail"), Scenario::spec("r1", "reports"),
             Scenario::spec("m2", "mail")});
  EXPECT_EQ(s.claim(9, {"none", "reports", "mail", "reports"}), "r1 m1 m2");
}

TEST(Claim, OnlyTheTypesNamed) {
  Scenario s;
  s.enqueue({Scenario::spec("s1", "mail", "send"), Scenario::spec("c1", "mail", "clean"),
             Scenario::spec("s2", "mail", "send"), Scenario::spec("x1", "mail", "index")});
  EXPECT_EQ(s.claim(9, {"mail"}, {"clean", "index", "clean", "unknown"}), "c1 x1");
  EXPECT_EQ(s.claim(9), "s1 s2");
}

TEST(Claim, ManyTypesMergeInOrder) {
  Scenario s;
  std::string expected;
  for (int i = 0; i < 20; ++i) {
    const std::string name = "j" + std::to_string(i);
    s.enqueue(Scenario::spec(name, "mail", "type" + std::to_string(i * 7 % 5)));
    expected += (i == 0 ? "" : " ") + name;
  }
  EXPECT_EQ(s.claim(100), expected);
}

TEST(Claim, ALeaseCarriesATokenThatRisesAndAnAttemptThatCounts) {
  Scenario s;
  s.enqueue({Scenario::spec("a"), Scenario::spec("b")});
  const auto first = s.claim(s.claim_of(1)).at(0);
  const auto second = s.claim(s.claim_of(1)).at(0);
  EXPECT_LT(first.token, second.token);
  EXPECT_EQ(first.attempt, 1u);
  EXPECT_EQ(first.lease_expires_at, s.now() + kDefaultLease);
  EXPECT_EQ(first.payload.view(), "{\"job\":\"a\"}");
  s.ack("a", AckOutcome::kReleased);
  const auto again = s.claim(s.claim_of(1)).at(0);
  EXPECT_GT(again.token, second.token);
  EXPECT_EQ(again.attempt, 1u);  // a released attempt costs nothing
  EXPECT_EQ(again.latest.n, 2u);
}

TEST(Claim, TheClaimsLeaseLengthGoesBeforeTheJobs) {
  Scenario s;
  auto own = Scenario::spec("a");
  own.lease = Duration{5'000};
  s.enqueue({own, Scenario::spec("b")});
  EXPECT_EQ(s.claim(s.claim_of(1)).at(0).lease_expires_at, s.now() + Duration{5'000});
  Claim claim = s.claim_of(1);
  claim.lease = Duration{2'000};
  EXPECT_EQ(s.claim(claim).at(0).lease_expires_at, s.now() + Duration{2'000});
}

TEST(Claim, NothingFromAPausedQueueUntilItIsResumed) {
  Scenario s;
  s.enqueue("a");
  s.decide(PauseQueue{SharedBytes("mail"), SharedBytes("upgrade")});
  s.machine().take_woken_queues();
  s.enqueue("b");
  EXPECT_EQ(s.claim(9), "");
  EXPECT_TRUE(s.machine().take_woken_queues().empty());
  EXPECT_EQ(s.queue().pause_reason.view(), "upgrade");
  s.decide(ResumeQueue{SharedBytes("mail")});
  EXPECT_EQ(s.machine().take_woken_queues().size(), 1u);
  EXPECT_EQ(s.claim(9), "a b");
}

TEST(Claim, AJobThatWasNotStartedInTimeExpires) {
  Scenario s;
  auto job = Scenario::spec("a");
  job.expires_in = Duration{1'000};
  auto started = Scenario::spec("b");
  started.expires_in = Duration{1'000};
  s.enqueue({started, job});
  EXPECT_EQ(s.claim(1), "b");
  s.ack("b", AckOutcome::kReleased);
  s.wait_ms(1'000);
  EXPECT_EQ(s.state("a"), "expired");
  EXPECT_EQ(s.claim(9), "b");  // it had started: expiry no longer applies
}

// Jobs past their time, before one that is not; no tick has ended them.
std::size_t expired_by(Machine& machine, const Claim& claim, Time now, std::size_t& given) {
  class Nothing final : public Prefetched {
   public:
    const Job* find(const JobId&) const override { return nullptr; }
  } nothing;
  std::vector<Event> events;
  const Reply reply = machine.decide(claim, now, nothing, Admission::kOpen, events);
  machine.end_step();
  given = std::get<ClaimReply>(reply).jobs.size();
  return static_cast<std::size_t>(std::ranges::count_if(
      events, [](const Event& event) { return std::holds_alternative<Expired>(event); }));
}

TEST(Claim, EndsBeforeItsPayloadsAreTooManyBytes) {
  const auto claimed = [](std::uint64_t most_bytes, std::uint32_t limit) {
    MachineOptions options;
    options.max_claim_bytes = most_bytes;
    Scenario s(options);
    s.enqueue({Scenario::spec("a"), Scenario::spec("b"), Scenario::spec("c", "reports")});
    const std::string first = s.claim(limit, {"mail", "reports"});
    return first + " | " + s.claim(limit, {"mail", "reports"});
  };
  const std::uint64_t each = Scenario::spec("a").payload.size();
  EXPECT_EQ(claimed(3 * each, 9), "a b c | ");
  EXPECT_EQ(claimed(3 * each - 1, 9), "a b | c");
  EXPECT_EQ(claimed(2 * each - 1, 9), "a | b");
  EXPECT_EQ(claimed(0, 9), "a | b") << "one comes whatever it has";
  EXPECT_EQ(claimed(2 * each, 1), "a | b");
}

TEST(Claim, CountsPayloadsThatMemoryHasLetGoOf) {
  MachineOptions options;
  options.keep_bytes = 0;
  options.max_claim_bytes = 2 * Scenario::spec("a").payload.size();
  Scenario s(options);
  s.enqueue({Scenario::spec("a"), Scenario::spec("b"), Scenario::spec("c")});
  s.machine().take_changes();
  s.machine().changes_stored();
  EXPECT_EQ(s.machine().bytes_held(), 0u);
  EXPECT_EQ(s.claim(9), "a b");
  EXPECT_EQ(s.claim(9), "c");
}

TEST(Claim, PassesSoManyJobsThatAreTooLateAndNoMore) {
  Scenario s;
  std::vector<JobSpec> jobs;
  for (std::size_t i = 0; i < 2 * kMaxExpiredPerClaim + 1; ++i) {
    const std::string queue = i < 2 * kMaxExpiredPerClaim - 1 ? "mail" : "reports";
    jobs.push_back(Scenario::spec(std::to_string(i), queue));
    jobs.back().expires_in = Duration{1'000};
  }
  jobs.push_back(Scenario::spec("live"));
  s.enqueue(jobs);
  s.enqueue(Scenario::spec("other", "others"));
  Machine& machine = s.machine();
  machine.take_woken_queues();
  const Time at = s.now() + Duration{1'000};
  const Claim claim = s.claim_of(9, {"mail", "reports", "others"});
  std::size_t given = 0;
  // The bound covers all queues of the claim; a queue without expired jobs is not affected.
  EXPECT_EQ(machine.claimable("mail", {}, at, 9), 0u);
  EXPECT_EQ(expired_by(machine, claim, at, given), kMaxExpiredPerClaim);
  EXPECT_EQ(given, 1u);
  // A waiting claim must look again.
  ASSERT_EQ(machine.take_woken_queues().size(), 1u);
  EXPECT_EQ(machine.claimable("mail", {}, at, 9), 1u);
  EXPECT_EQ(expired_by(machine, claim, at, given), kMaxExpiredPerClaim);
  EXPECT_EQ(given, 1u);
  EXPECT_EQ(expired_by(machine, claim, at, given), 1u);
  EXPECT_EQ(given, 0u);
}

TEST(Claim, AWakeUpNamesEachQueueOnce) {
  Scenario s;
  s.enqueue({Scenario::spec("a"), Scenario::spec("b"), Scenario::spec("c", "other")});
  const auto woken = s.machine().take_woken_queues();
  ASSERT_EQ(woken.size(), 2u);
  EXPECT_EQ(woken.at(0).view(), "mail");
  EXPECT_TRUE(s.machine().take_woken_queues().empty());
}

}  // namespace
}  // namespace millrace::core
