#include "core/jobs/retry.h"
#include "core/scenario.h"

namespace millrace::core {
namespace {

Scenario& with_running(Scenario& s, const std::string& name) {
  s.enqueue(name);
  EXPECT_EQ(s.claim(), name);
  return s;
}

TEST(Ack, EachOutcomeLeadsWhereItShould) {
  Scenario s;
  const std::pair<AckOutcome, State> table[] = {
      {AckOutcome::kSucceeded, State::kSucceeded}, {AckOutcome::kFailed, State::kRetrying},
      {AckOutcome::kSnoozed, State::kScheduled},   {AckOutcome::kReleased, State::kReady},
      {AckOutcome::kCancelled, State::kCancelled}, {AckOutcome::kDead, State::kDead},
  };
  int i = 0;
  for (const auto& [outcome, state] : table) {
    auto job = Scenario::spec("job" + std::to_string(i++));
    job.priority = static_cast<std::int16_t>(-i);
    s.enqueue(job);
    s.claim();
    EXPECT_EQ(s.ack(Scenario::name(job.id), outcome).state, state);
    EXPECT_EQ(s.state(Scenario::name(job.id)), name_of(state));
  }
}

TEST(Ack, TheSameAckAgainIsAnsweredTheSameAndAnotherIsLost) {
  Scenario s;
  with_running(s, "a");
  EXPECT_EQ(s.ack("a", AckOutcome::kSucceeded).state, State::kSucceeded);
  const auto before = s.machine().digest();
  EXPECT_EQ(s.ack("a", AckOutcome::kSucceeded).state, State::kSucceeded);
  EXPECT_EQ(s.ack("a", AckOutcome::kFailed).refusal.why, Rejection::kLeaseLost);
  EXPECT_TRUE(s.machine().digest() == before);
}

TEST(Ack, AStaleTokenChangesNothing) {
  Scenario s;
  with_running(s, "a");
  const LeaseToken stale = s.token("a");
  s.wait_ms(30'000);  // the lease expires
  s.wait_ms(10'000);
  EXPECT_EQ(s.claim(), "a");
  AckItem late = s.ack_of("a", AckOutcome::kSucceeded);
  late.token = stale;
  const auto before = s.machine().digest();
  EXPECT_EQ(s.ack(late).refusal.why, Rejection::kLeaseLost);
  late.token = kNoToken;
  EXPECT_EQ(s.ack(late).refusal.why, Rejection::kLeaseLost);
  late.id = Scenario::id("nobody");
  EXPECT_EQ(s.ack(late).refusal.why, Rejection::kLeaseLost);
  EXPECT_TRUE(s.machine().digest() == before);
  EXPECT_EQ(s.ack("a", AckOutcome::kSucceeded).state, State::kSucceeded);
}

TEST(Ack, AFailureIsRetriedAfterItsDelayUntilTheAttemptsAreUsedUp) {
  Scenario s;
  auto job = Scenario::spec("a");
  job.max_attempts = 2;
  s.enqueue(job);
  s.claim();
  s.ack("a", AckOutcome::kFailed);
  const auto bounds = retry_delay_bounds(*default_retry_policy(), 1);
  EXPECT_GE(s.job("a").run_at, s.now() + bounds.least);
  EXPECT_LE(s.job("a").run_at, s.now() + bounds.most);
  s.wait_ms(bounds.least.count() - 1);
  EXPECT_EQ(s.claim(), "");
  s.wait_ms(bounds.most.count());
  EXPECT_EQ(s.claim(), "a");
  EXPECT_EQ(s.ack("a", AckOutcome::kFailed).state, State::kDead);
  EXPECT_EQ(s.job("a").last_error->message.view(), "it broke");
  EXPECT_EQ(s.job("a").last_error->attempt, 2u);
}

TEST(Ack, AWorkersOwnDelayAndItsWordThatRetryingIsNoUse) {
  Scenario s;
  s.enqueue({Scenario::spec("a"), Scenario::spec("b")});
  s.claim(2);
  auto item = s.ack_of("a", AckOutcome::kFailed);
  item.delay = Duration{123};
  s.ack(item);
  EXPECT_EQ(s.job("a").run_at, s.now() + Duration{123});
  item = s.ack_of("b", AckOutcome::kFailed);
  item.retryable = false;
  EXPECT_EQ(s.ack(item).state, State::kDead);
}

TEST(Ack, SnoozedAndReleasedCostNoAttemptAndAReleasedJobKeepsItsPlace) {
  Scenario s;
  s.enqueue({Scenario::spec("a"), Scenario::spec("b")});
  s.wait_ms(10);
  EXPECT_EQ(s.claim(), "a");
  s.ack("a", AckOutcome::kReleased);
  EXPECT_EQ(s.job("a").attempt, 0u);
  EXPECT_EQ(s.claim(), "a");
  s.ack("a", AckOutcome::kSnoozed);
  EXPECT_EQ(s.job("a").attempt, 0u);
  EXPECT_EQ(s.job("a").run_at, s.now() + Duration{1'000});
}

TEST(Ack, JobsOfAnAckComeWithItOrTheAckIsRefused) {
  Scenario s;
  with_running(s, "a");
  auto item = s.ack_of("a", AckOutcome::kSucceeded);
  auto conflicting = Scenario::spec("a", "other");
  conflicting.id_origin = IdOrigin::kClient;
  item.enqueue = {Scenario::spec("b"), conflicting};
  EXPECT_EQ(s.ack(item).refusal.why, Rejection::kDuplicateJob);
  EXPECT_EQ(s.state("a"), "running");
  EXPECT_EQ(s.state("b"), "gone");
  item.enqueue = {Scenario::spec("b")};
  EXPECT_EQ(s.ack(item).state, State::kSucceeded);
  EXPECT_EQ(s.state("b"), "ready");
}

TEST(Ack, WithRetentionZeroNothingIsLeftBehind) {
  Scenario s;
  QueuePatch patch;
  patch.succeeded = Duration{0};
  s.set_queue("mail", patch);
  with_running(s, "a");
  Ack command;
  command.items.push_back(s.ack_of("a", AckOutcome::kSucceeded));
  command.detail = Detail::kJobs;
  const auto reply = std::get<ItemsReply>(s.decide(command)).items.at(0);
  ASSERT_NE(reply.job, nullptr);  // the answer still shows it
  EXPECT_EQ(reply.job->job.state, State::kSucceeded);
  EXPECT_EQ(s.machine().jobs_in_memory(), 0u);
  EXPECT_EQ(s.queue().pruned, 1u);
  EXPECT_EQ(s.machine().bytes_held(), 0u);
}

TEST(Lease, AHeartbeatExtendsFromNowAndNeverShortens) {
  Scenario s;
  with_running(s, "a");
  s.wait_ms(20'000);
  EXPECT_EQ(s.heartbeat("a").lease_expires_at, s.now() + kDefaultLease);
  EXPECT_EQ(s.heartbeat("a", Duration{1'000}).lease_expires_at, s.now() + kDefaultLease);
  s.wait_ms(29'999);
  EXPECT_EQ(s.state("a"), "running");
  s.wait_ms(1);
  EXPECT_EQ(s.state("a"), "retrying");
  EXPECT_EQ(s.heartbeat("a").refusal.why, Rejection::kLeaseLost);
}

TEST(Lease, AnExpiredLeaseIsAFailedAttemptAndACrash) {
  Scenario s;
  with_running(s, "a");
  s.wait_ms(30'000);
  EXPECT_EQ(s.state("a"), "retrying");
  EXPECT_EQ(s.job("a").crashes, 1u);
  EXPECT_EQ(s.job("a").last_error->type.view(), "lease_expired");
  EXPECT_EQ(s.job("a").latest.outcome, AttemptOutcome::kLeaseExpired);
}

TEST(Lease, AJobWhoseWorkersVanishTooOftenIsDead) {
  Scenario s;
  QueuePatch patch;
  patch.max_crashes = std::optional<std::uint32_t>(2);
  s.set_queue("mail", patch);
  with_running(s, "a");
  s.wait_ms(30'000);
  s.wait_ms(60'000);
  EXPECT_EQ(s.claim(), "a");
  s.wait_ms(30'000);
  EXPECT_EQ(s.state("a"), "dead");
  EXPECT_EQ(s.job("a").last_error->type.view(), "worker_lost");
}

TEST(Lease, AnAttemptEndsAtItsTimeoutHoweverOftenItIsExtended) {
  Scenario s;
  auto job = Scenario::spec("a");
  job.timeout = Duration{40'000};
  s.enqueue(job);
  s.claim();
  s.wait_ms(25'000);
  EXPECT_EQ(s.heartbeat("a").lease_expires_at, s.now() + Duration{15'000});
  s.wait_ms(14'999);
  EXPECT_EQ(s.state("a"), "running");
  s.wait_ms(1);
  EXPECT_EQ(s.state("a"), "retrying");
  EXPECT_EQ(s.job("a").last_error->type.view(), "timeout");
  EXPECT_EQ(s.job("a").crashes, 0u);
}

TEST(Lease, AStallCostsNoLeaseItsTime) {
  Scenario s;
  with_running(s, "a");
  s.wait_ms(20'000);
  std::vector<Event> events;
  s.machine().extend_leases(Duration{15'000}, s.now(), events);
  ASSERT_EQ(events.size(), 1u);
  EXPECT_EQ(s.job("a").lease_expires_at, s.now() + Duration{25'000});
}

TEST(Lease, IsNeverLongerAfterAStallThanItWasGiven) {
  Scenario s;
  with_running(s, "a");
  const Duration given = *s.job("a").lease_expires_at - s.now();
  s.wait_ms(1'000);
  std::vector<Event> events;
  // Three days that ended before the lease began: the clock's step has been given back already.
  s.machine().extend_leases(Duration{3 * 86'400'000}, s.now(), events);
  EXPECT_EQ(s.job("a").lease_expires_at, s.now() + given);
  // A longer extension by a heartbeat counts from then on.
  HeartbeatItem longer{Scenario::id("a"), s.token("a"), {}, nullptr};
  longer.extend = given + Duration{60'000};
  Heartbeat command;
  command.items.push_back(longer);
  s.decide(command);
  s.wait_ms(5'000);
  s.machine().extend_leases(Duration{4'000}, s.now(), events);
  EXPECT_EQ(s.job("a").lease_expires_at, s.now() + given + Duration{59'000});
  s.machine().extend_leases(Duration{4'000}, s.now(), events);
  EXPECT_EQ(s.job("a").lease_expires_at, s.now() + given + Duration{60'000});
}

TEST(Lease, ADeadlineMovesWithAStallNoFurtherThanItsTimeout) {
  Scenario s;
  JobSpec spec = Scenario::spec("a");
  spec.timeout = Duration{15'000};
  s.enqueue(spec);
  s.claim();
  s.wait_ms(2'000);
  std::vector<Event> events;
  s.machine().extend_leases(Duration{1'500}, s.now(), events);
  EXPECT_EQ(s.job("a").deadline, s.now() + Duration{14'500});
  s.machine().extend_leases(Duration{86'400'000}, s.now(), events);
  EXPECT_EQ(s.job("a").deadline, s.now() + Duration{15'000});
}

TEST(Logs, KeepTheirOrderAndTheOldestGoPastTheBound) {
  Scenario s;
  with_running(s, "a");
  const SharedBytes line(std::string(kMaxLogLineBytes, 'x'));
  for (std::size_t i = 0; i < kMaxLogBytesPerAttempt / kMaxLogLineBytes + 3; ++i) {
    AppendLogs logs;
    logs.items.push_back({Scenario::id("a"), s.token("a"), LogEntry{{}, 1, line}});
    s.decide(logs);
  }
  const auto view = s.machine().view(Scenario::id("a"));
  EXPECT_EQ(view->logs.size(), kMaxLogBytesPerAttempt / kMaxLogLineBytes);
  EXPECT_EQ(view->logs.front().seq, 4u);
}

TEST(Logs, OfAJobThatIsGivenBackAgainAndAgainAreThoseOfItsLastStarts) {
  Scenario s;
  s.enqueue("a");
  const auto start_and_give_back = [&] {
    s.claim();
    AckItem item = s.ack_of("a", AckOutcome::kReleased);
    item.logs = {{{}, 1, SharedBytes("line")}};
    Ack ack;
    ack.items.push_back(std::move(item));
    s.items(std::move(ack));
  };
  for (std::uint32_t i = 0; i < kStartsWithLogs; ++i) start_and_give_back();
  EXPECT_EQ(s.machine().view(Scenario::id("a"))->logs.size(), kStartsWithLogs);
  start_and_give_back();
  auto view = s.machine().view(Scenario::id("a"));
  EXPECT_EQ(view->logs.size(), kStartsWithLogs);
  EXPECT_EQ(view->logs.front().n, 2u);
  // The logs in the tables are deleted too.
  s.project();
  s.claim();
  const auto changes = s.machine().take_changes();
  ASSERT_EQ(changes->log_trims.size(), 1u);
  EXPECT_EQ(changes->log_trims.front().n, 2u);
  EXPECT_GT(changes->log_trims.front().seq, s.job("a").log_lines);
}

TEST(Retry, DelaysGrowAreCappedAndStayWithinTheirBounds) {
  RetryPolicy policy{RetryStrategy::kExponential, Duration{1'000}, Duration{8'000}, 200'000, {}};
  for (std::uint32_t attempt = 1; attempt < 2'000; ++attempt) {
    const auto bounds = retry_delay_bounds(policy, attempt);
    const Duration delay = retry_delay(policy, Scenario::id("a"), 1, attempt);
    EXPECT_LE(bounds.least, delay);
    EXPECT_LE(delay, bounds.most);
    EXPECT_LE(bounds.most, Duration{9'600});
  }
  EXPECT_EQ(retry_delay_bounds(policy, 3).least, Duration{3'200});
  policy = {RetryStrategy::kLinear, kTenYears, kTenYears, kMaxJitterPpm, {}};
  EXPECT_EQ(retry_delay_bounds(policy, 1'000).most, kTenYears * 2);  // saturates
  policy = {RetryStrategy::kList, {}, {}, 0, {Duration{10}, Duration{20}}};
  EXPECT_EQ(retry_delay(policy, Scenario::id("a"), 1, 1), Duration{10});
  EXPECT_EQ(retry_delay(policy, Scenario::id("a"), 1, 7), Duration{20});
}

TEST(Retry, JobsThatFailTogetherDoNotComeBackTogether) {
  const auto a = retry_delay(*default_retry_policy(), Scenario::id("a"), 1, 1);
  const auto b = retry_delay(*default_retry_policy(), Scenario::id("b"), 1, 1);
  EXPECT_NE(a, b);
  EXPECT_EQ(a, retry_delay(*default_retry_policy(), Scenario::id("a"), 1, 1));
}

TEST(Ack, AReleasedJobTakesItsPlaceBeforeTheJobsThatComeWithIt) {
  Scenario scenario;
  QueuePatch patch;
  patch.max_ready = std::optional<std::uint64_t>(1);
  scenario.set_queue("mail", patch);
  scenario.enqueue("a");
  scenario.claim();
  AckItem ack = scenario.ack_of("a", AckOutcome::kReleased);
  ack.enqueue.push_back(Scenario::spec("b"));
  EXPECT_EQ(scenario.ack(ack).refusal.why, Rejection::kQueueFull);
  EXPECT_EQ(scenario.job("a").state, State::kRunning);
}

TEST(Ack, TextThatIsTooLongIsCutBetweenCharacters) {
  Scenario s;
  with_running(s, "a");
  AckItem item = s.ack_of("a", AckOutcome::kFailed);
  // The bound splits the two bytes of the last character.
  item.error->message = SharedBytes(std::string(kMaxErrorMessageBytes - 1, 'x') + "\u00fc");
  item.error->stack = SharedBytes(std::string(kMaxErrorStackBytes + 1, '\x80'));  // no character
  item.logs = {{{}, 1, SharedBytes(std::string(kMaxLogLineBytes, 'y') + "z")}};
  s.ack(item);
  EXPECT_EQ(s.job("a").last_error->message.view(), std::string(kMaxErrorMessageBytes - 1, 'x'));
  EXPECT_LE(s.job("a").last_error->stack.size(), kMaxErrorStackBytes);
  const auto view = s.machine().view(Scenario::id("a"));
  EXPECT_EQ(view->logs.at(0).message.view(), std::string(kMaxLogLineBytes, 'y'));
}

TEST(Logs, OfOneRequestThatAreMoreThanAnAttemptMayKeepLoseTheirOwnFirstLines) {
  Scenario s;
  with_running(s, "a");
  const LogEntry line{{}, 1, SharedBytes(std::string(kMaxLogLineBytes, 'x'))};
  const std::size_t most = kMaxLogBytesPerAttempt / kMaxLogLineBytes;
  AppendLogs logs;
  logs.items = {{Scenario::id("a"), s.token("a"), line}};
  s.decide(logs);
  logs.items.assign(most + 2, {Scenario::id("a"), s.token("a"), line});
  s.decide(logs);
  const auto view = s.machine().view(Scenario::id("a"));
  ASSERT_EQ(view->logs.size(), most);
  EXPECT_EQ(view->logs.front().seq, 4u);  // without the one before, and two of its own
  EXPECT_EQ(view->logs.back().seq, most + 3);
}

TEST(Logs, OfOneRequestForSeveralLeasesAreAnsweredEachOnItsOwn) {
  Scenario s;
  s.enqueue({Scenario::spec("a"), Scenario::spec("b")});
  s.claim(2);
  const LogEntry line{{}, 1, SharedBytes("x")};
  AppendLogs logs;
  logs.items = {{Scenario::id("a"), s.token("a"), line},
                {Scenario::id("a"), LeaseToken{1}, line},
                {Scenario::id("b"), s.token("b"), line}};
  const auto reply = std::get<ItemsReply>(s.decide(logs));
  EXPECT_FALSE(reply.items.at(0).refusal);
  EXPECT_EQ(reply.items.at(1).refusal.why, Rejection::kLeaseLost);
  EXPECT_FALSE(reply.items.at(2).refusal);
  EXPECT_EQ(s.machine().view(Scenario::id("a"))->logs.size(), 1u);
  EXPECT_EQ(s.machine().view(Scenario::id("b"))->logs.size(), 1u);
}

TEST(Lease, IsExtendedByNothingWhenNothingWasMissed) {
  Scenario s;
  with_running(s, "a");
  const auto before = s.machine().digest();
  std::vector<Event> events;
  s.machine().extend_leases(Duration{0}, s.now(), events);
  EXPECT_TRUE(events.empty());
  EXPECT_TRUE(s.machine().digest() == before);
}

TEST(Retry, TheDelayBeforeTheFirstAttemptIsTheFirst) {
  RetryPolicy policy{RetryStrategy::kList, {}, {}, 0, {Duration{10}, Duration{20}}};
  EXPECT_EQ(retry_delay_bounds(policy, 0).least, Duration{10});
  policy.delays.clear();
  EXPECT_EQ(retry_delay_bounds(policy, 1).most, Duration{0});
  policy = {RetryStrategy::kFixed, Duration{300}, Duration{200}, 0, {}};
  EXPECT_EQ(retry_delay_bounds(policy, 5).most, Duration{200});
}

TEST(Ack, TheJobsThatComeWithItFindTheUniqueKeyFreeThatItFrees) {
  Scenario scenario;
  const auto holding = [](const std::string& name) {
    JobSpec spec = Scenario::spec(name);
    JobExtras extras;
    extras.unique = UniqueRule{SharedBytes("report"), {}, OnConflict::kReturn};
    spec.extras = std::make_shared<const JobExtras>(extras);
    return spec;
  };
  scenario.enqueue(holding("a"));
  scenario.claim();
  AckItem ack = scenario.ack_of("a", AckOutcome::kSucceeded);
  ack.enqueue.push_back(holding("b"));
  // The nested job is new, so it needs room like any other.
  scenario.admission = Admission::kClosed;
  EXPECT_EQ(scenario.ack(ack).refusal.why, Rejection::kOverloaded);
  scenario.admission = Admission::kOpen;
  EXPECT_EQ(scenario.ack(ack).state, State::kSucceeded);
  EXPECT_EQ(scenario.job("b").state, State::kReady);
}

// --- Progress.

Progress report_of(double percent, std::string_view checkpoint = {}) {
  Progress progress;
  progress.percent = percent;
  progress.checkpoint = SharedBytes(checkpoint);
  return progress;
}

ItemReply report(Scenario& s, const std::string& name, std::vector<Progress> reports) {
  Heartbeat command;
  for (Progress& each : reports) {
    HeartbeatItem item;
    item.id = Scenario::id(name);
    item.token = s.token(name);
    item.progress = std::make_shared<const Progress>(std::move(each));
    command.items.push_back(std::move(item));
  }
  return std::get<ItemsReply>(s.decide(std::move(command))).items.back();
}

TEST(Progress, AReportWithoutACheckpointLeavesTheOneBefore) {
  Scenario s;
  s.enqueue("a");
  s.claim();
  EXPECT_FALSE(report(s, "a", {report_of(10, "{\"page\":3}")}).refusal);
  EXPECT_FALSE(report(s, "a", {report_of(60)}).refusal);
  EXPECT_EQ(*s.job("a").progress, report_of(60, "{\"page\":3}"));
  report(s, "a", {report_of(70, "4")});
  EXPECT_EQ(*s.job("a").progress, report_of(70, "4"));
  // An explicit null is a checkpoint.
  report(s, "a", {report_of(80, "null")});
  EXPECT_EQ(*s.job("a").progress, report_of(80, "null"));
  // Two reports in one command; the second has no checkpoint.
  report(s, "a", {report_of(90, "5"), report_of(91)});
  EXPECT_EQ(*s.job("a").progress, report_of(91, "5"));
}

}  // namespace
}  // namespace millrace::core
