#include "millrace/worker.h"

#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <thread>

#include "backoff.h"
#include "worker_testing.h"

namespace millrace::sdk {
namespace {

using namespace std::chrono_literals;

// A place where handlers wait until the test releases them.
class Gate {
 public:
  void open() {
    const std::lock_guard lock(mutex_);
    is_open_ = true;
    opened_.notify_all();
  }
  void pass() {
    std::unique_lock lock(mutex_);
    EXPECT_TRUE(opened_.wait_for(lock, 20s, [this] { return is_open_; }));
  }

 private:
  std::mutex mutex_;
  std::condition_variable opened_;
  bool is_open_ = false;
};

TEST_F(WorkerTest, RunsJobsAndReportsTheirOutcomes) {
  server_.put("a", 1, R"({"n": 1})");
  server_.put("b", 2);
  ASSERT_TRUE(work([](Context& context) {
    if (context.job().id == "b") return Outcome::failed({.type = "oops", .message = "no"}, 5s);
    return Outcome::succeeded(context.job().payload);
  }));
  const auto& outcomes = server_.outcomes;
  ASSERT_EQ(outcomes.at("a").size(), 1u);
  EXPECT_EQ(outcomes.at("a")[0], R"({"id":"a","token":1,"outcome":"succeeded","result":{"n":1}})");
  EXPECT_EQ(outcomes.at("b")[0],
            R"({"id":"b","token":2,"outcome":"failed","error":{"type":"oops","message":"no"},)"
            R"("delay_ms":5000})");
}

TEST_F(WorkerTest, TellsTheVersionOfTheProgram) {
  std::string claim;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (request.body.find("\"claim\"") != std::string::npos) claim = request.body;
    return std::nullopt;
  };
  const auto claim_of = [&](WorkerOptions options) {
    EXPECT_TRUE(
        Worker(client_, std::move(options), [](Context&) { return Outcome::succeeded(); }).run({}));
    return claim;
  };
  unsetenv("MILLRACE_WORKER_VERSION");
  EXPECT_EQ(claim_of(options()).find("version"), std::string::npos) << claim;
  setenv("MILLRACE_WORKER_VERSION", "2.4.0", 1);
  EXPECT_NE(claim_of(options()).find(R"("version":"2.4.0")"), std::string::npos) << claim;
  auto named = options();
  named.version = "2.4.1";
  EXPECT_NE(claim_of(named).find(R"("version":"2.4.1")"), std::string::npos) << claim;
  unsetenv("MILLRACE_WORKER_VERSION");
}

TEST_F(WorkerTest, SaysGoodbyeOnceItHasToldAll) {
  server_.put_many(3);
  int goodbyes = 0;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (request.body != R"({"goodbye":true})") return std::nullopt;
    ++goodbyes;
    EXPECT_EQ(server_.outcomes.size(), 3u);
    return std::nullopt;
  };
  ASSERT_TRUE(work([](Context&) { return Outcome::succeeded(); }, 2));
  EXPECT_EQ(goodbyes, 1);
}

TEST_F(WorkerTest, NeverRunsMoreThanItsConcurrency) {
  server_.put_many(30);
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  ASSERT_TRUE(work(
      [&](Context&) {
        const int now = ++running;
        int seen = most;
        while (seen < now && !most.compare_exchange_weak(seen, now)) {
        }
        std::this_thread::sleep_for(5ms);
        --running;
        return Outcome::succeeded();
      },
      3));
  EXPECT_EQ(server_.outcomes.size(), 30u);
  EXPECT_EQ(most, 3);
  for (const auto& poll : server_.polls) EXPECT_LE(poll.limit.value_or(0), 3);
}

TEST_F(WorkerTest, AnExceptionFailsTheAttempt) {
  server_.put("a", 1);
  ASSERT_TRUE(work([](Context&) -> Outcome { throw std::runtime_error("broken pipe"); }));
  EXPECT_NE(server_.outcomes.at("a")[0].find(R"("message":"broken pipe")"), std::string::npos);
  EXPECT_TRUE(was_noticed("job a (t): attempt 1 of 5 failed: "));
  EXPECT_TRUE(was_noticed(": broken pipe; the server tries it again"));
}

TEST_F(WorkerTest, TellsAnOutcomeAgainUntilItIsAnswered) {
  server_.put("a", 1);
  ASSERT_TRUE(work([&](Context&) {
    server_.failures = 2;
    return Outcome::succeeded();
  }));
  EXPECT_EQ(server_.outcomes.at("a").size(), 1u);
  ASSERT_EQ(notices_.size(), 2u);  // once that it is away, once that it is back
  EXPECT_NE(notices_[0].find("tries again"), std::string::npos);
  EXPECT_NE(notices_[1].find("again"), std::string::npos);
}

TEST_F(WorkerTest, KeepsLeasesAliveWhileTheHandlerRuns) {
  server_.lease_ms = 4'500;
  server_.put("a", 1);
  ASSERT_TRUE(work([this](Context& context) {
    context.progress({.percent = 50});
    std::this_thread::sleep_for(5'000ms);
    EXPECT_TRUE(server_.await([this] { return server_.heartbeats >= 3; }));
    EXPECT_EQ(context.stop_reason(), StopReason::kNone);
    return Outcome::succeeded();
  }));
  EXPECT_EQ(server_.outcomes.size(), 1u);
}

TEST_F(WorkerTest, TellsACheckpointAgainIfItsHeartbeatIsLost) {
  server_.lease_ms = 4'500;
  server_.put("a", 1);
  ASSERT_TRUE(work([&](Context& context) {
    server_.failures = 1;
    context.progress({.percent = 50}, R"({"page":7})");
    EXPECT_TRUE(server_.await([&] { return server_.heartbeats > 0; }));
    return Outcome::succeeded();
  }));
  EXPECT_EQ(server_.checkpoint, R"({"page":7})");
}

TEST_F(WorkerTest, TellsTheHandlerThatItsJobIsCancelled) {
  server_.lease_ms = 4'500;
  server_.put("a", 1);
  server_.cancel_at_heartbeat = true;
  StopReason reason = StopReason::kNone;
  ASSERT_TRUE(work([&](Context& context) {
    for (int i = 0; i < 2'000 && !context.stop_token().stop_requested(); ++i) {
      std::this_thread::sleep_for(10ms);
    }
    reason = context.stop_reason();
    return Outcome::cancelled();
  }));
  EXPECT_EQ(reason, StopReason::kCancelled);
  EXPECT_NE(server_.outcomes.at("a")[0].find(R"("outcome":"cancelled")"), std::string::npos);
}

TEST_F(WorkerTest, SaysNothingAboutAJobWhoseLeaseIsLost) {
  server_.lease_ms = 4'500;
  server_.put("a", 1);
  server_.lease_is_lost = true;
  ASSERT_TRUE(work([&](Context& context) {
    for (int i = 0; i < 2'000 && !context.stop_token().stop_requested(); ++i) {
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_EQ(context.stop_reason(), StopReason::kLeaseLost);
    return Outcome::succeeded();
  }));
  EXPECT_TRUE(server_.outcomes.empty());
}

TEST_F(WorkerTest, OneRefusedOutcomeDoesNotHoldBackTheOthers) {
  server_.refuse_large_acks = true;
  server_.put_many(6);
  ASSERT_TRUE(work(
      [](Context& context) {
        return Outcome::succeeded(context.job().id == "job3" ? R"("TOO LARGE")" : "1");
      },
      6));
  const auto& outcomes = server_.outcomes;
  EXPECT_EQ(outcomes.size(), 6u);
  EXPECT_NE(outcomes.at("job3")[0].find(R"("type":"outcome_refused")"), std::string::npos);
  EXPECT_NE(outcomes.at("job2")[0].find(R"("outcome":"succeeded")"), std::string::npos);
}

TEST_F(WorkerTest, SendsLogLinesOnceAndInOrder) {
  server_.put("a", 1);
  ASSERT_TRUE(work([this](Context& context) {
    context.log("info", "one");
    EXPECT_TRUE(server_.await([this] { return server_.logs.size() == 1; }));  // sent on the way
    context.log("info", "two");  // sent with the outcome
    return Outcome::succeeded();
  }));
  EXPECT_EQ(server_.logs, (std::vector<std::string>{"one", "two"}));
}

TEST_F(WorkerTest, AnOutcomeOvertakesNoLinesOfItsJob) {
  server_.lines_take = 300ms;
  server_.put("a", 1);
  ASSERT_TRUE(work([this](Context& context) {
    context.log("info", "one");
    EXPECT_TRUE(server_.await(
        [this] { return std::ranges::any_of(server_.polls, &FakeServer::Poll::has_lines); }));
    context.log("info", "two");
    return Outcome::succeeded();
  }));
  EXPECT_EQ(server_.logs, (std::vector<std::string>{"one", "two"}));
  EXPECT_EQ(server_.outcomes.at("a").size(), 1u);
}

TEST_F(WorkerTest, LinesOfAShortJobGoWithItsOutcome) {
  // If the machine stalled, the handler ran long and its lines were sent first: try again.
  bool was_short = false;
  for (int i = 0; i < 20 && !was_short; ++i) {
    server_.logs.clear();
    server_.outcomes.clear();
    server_.polls.clear();
    server_.put_many(3);
    was_short = true;
    ASSERT_TRUE(work([&](Context& context) {
      const auto began = std::chrono::steady_clock::now();
      context.log("info", context.job().id);
      std::this_thread::sleep_for(400ms);
      was_short = was_short && std::chrono::steady_clock::now() - began < 900ms;
      return Outcome::succeeded();
    }));
    EXPECT_EQ(server_.logs, (std::vector<std::string>{"job0", "job1", "job2"}));
  }
  EXPECT_TRUE(was_short);
  EXPECT_TRUE(std::ranges::none_of(server_.polls, &FakeServer::Poll::has_lines));
}

TEST_F(WorkerTest, StopsClaimingAndWaitsForWhatRuns) {
  auto worker_options = options();
  worker_options.exit_when = ExitWhen::kStopped;
  server_.put("a", 1);
  server_.put("b", 2);
  std::stop_source stop;
  Worker worker(client_, worker_options, [&](Context&) {
    stop.request_stop();
    std::this_thread::sleep_for(50ms);
    return Outcome::succeeded();
  });
  ASSERT_TRUE(worker.run(stop.get_token()));
  EXPECT_EQ(server_.outcomes.size(), 1u);  // "b" was never claimed, "a" was told
}

TEST_F(WorkerTest, LeavesAtOnceWhenItMayNotWork) {
  const auto transport = std::make_shared<FakeTransport>();
  transport->answer(401, R"({"status":401,"code":"unauthenticated","detail":"no token"})");
  Client client({.url = "http://server", .try_again = false}, transport);
  Worker worker(client, options(), [](Context&) { return Outcome::succeeded(); });
  const auto result = worker.run({});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().status, 401);
}

TEST_F(WorkerTest, AbortEndsHandlersAndDoesNotWaitLongForTheServer) {
  auto worker_options = options();
  worker_options.exit_when = ExitWhen::kStopped;
  worker_options.flush_timeout = 60s;
  server_.put("a", 1);
  std::stop_source stop;
  Worker* running = nullptr;
  Worker worker(client_, worker_options, [&](Context& context) {
    stop.request_stop();
    server_.failures = 1'000;
    running->abort();
    EXPECT_TRUE(context.stop_token().stop_requested());
    EXPECT_EQ(context.stop_reason(), StopReason::kStopping);
    return Outcome::released();
  });
  running = &worker;
  const auto began = std::chrono::steady_clock::now();
  const auto result = worker.run(stop.get_token());
  EXPECT_LT(std::chrono::steady_clock::now() - began, 30s);
  ASSERT_FALSE(result);  // nobody was told
  EXPECT_EQ(result.error().kind, ErrorKind::kUnreachable);
}

// A worker that runs until the test has seen enough.
class LongWorkerTest : public WorkerTest {
 protected:
  LongWorkerTest() { server_.lease_ms = 3'600'000; }  // no heartbeat takes outcomes along
  WorkerOptions long_options(int concurrency) {
    auto made = options(concurrency);
    made.exit_when = ExitWhen::kStopped;
    made.poll_wait = 60s;  // no test waits for its end
    return made;
  }
  void start(WorkerOptions worker_options, Handler handler) {
    worker_.emplace(client_, std::move(worker_options), std::move(handler));
    runner_ = std::jthread([this] { EXPECT_TRUE(worker_->run(stop_.get_token())); });
  }
  void stop() {
    stop_.request_stop();
    runner_.join();
  }
  // Requests with outcomes or a claim, without mere heartbeats.
  std::vector<FakeServer::Poll> polls() const {
    std::vector<FakeServer::Poll> kept;
    for (const auto& poll : server_.polls) {
      if (!poll.acks.empty() || poll.limit) kept.push_back(poll);
    }
    return kept;
  }

  std::stop_source stop_;
  std::optional<Worker> worker_;
  std::jthread runner_;
};

TEST_F(LongWorkerTest, AsksForEveryFreeSlotAndForNoMore) {
  server_.put_many(3);
  Gate first;
  Gate others;
  start(long_options(5), [&](Context& context) {
    (context.job().id == "job0" ? first : others).pass();
    return Outcome::succeeded();
  });
  EXPECT_TRUE(server_.await_waiting_claim());
  first.open();
  EXPECT_TRUE(server_.await_outcomes(1));
  others.open();
  EXPECT_TRUE(server_.await_outcomes(3));
  stop();
  const auto seen = polls();
  ASSERT_GE(seen.size(), 3u);
  EXPECT_EQ(seen[0].limit, 5);
  EXPECT_EQ(seen[0].wait_ms, 60'000);
  EXPECT_EQ(seen[1].limit, 2);  // three are taken
  // The slot freed meanwhile; the other two have been requested already.
  EXPECT_EQ(seen[2].acks, (std::vector<std::string>{"job0"}));
  EXPECT_EQ(seen[2].limit, 1);
  EXPECT_EQ(seen[2].wait_ms, 0);
}

TEST_F(LongWorkerTest, RunsAllThatOneClaimBringsSideBySide) {
  std::mutex mutex;
  std::condition_variable started;
  int running = 0;
  start(long_options(8), [&](Context&) {
    std::unique_lock lock(mutex);
    ++running;
    started.notify_all();
    EXPECT_TRUE(started.wait_for(lock, 20s, [&] { return running == 8; }));
    return Outcome::succeeded();
  });
  EXPECT_TRUE(server_.await_waiting_claim());
  server_.put_many(8);
  EXPECT_TRUE(server_.await_outcomes(8));
  stop();
  EXPECT_EQ(polls()[0].limit, 8);
}

TEST_F(LongWorkerTest, AResultDoesNotWaitForTheClaimThatWaits) {
  server_.put("a", 1);
  Gate gate;
  start(long_options(2), [&](Context&) {
    gate.pass();
    return Outcome::succeeded();
  });
  EXPECT_TRUE(server_.await_waiting_claim());
  gate.open();
  EXPECT_TRUE(server_.await_outcomes(1));
  // That claim still waits, and gets the jobs that come.
  EXPECT_TRUE(server_.await([&] { return server_.waiting == 1 && server_.broken_off == 0; }));
  server_.put("b", 2);
  EXPECT_TRUE(server_.await_outcomes(2));
  stop();
  EXPECT_EQ(server_.outcomes.at("a").size(), 1u);
}

TEST_F(LongWorkerTest, RepeatsAnOutcomeWhoseAnswerIsLostWhileTheClaimWaits) {
  server_.put("a", 1);
  server_.lost_answers = 2;
  Gate gate;
  start(long_options(2), [&](Context&) {
    gate.pass();
    return Outcome::succeeded("1");
  });
  EXPECT_TRUE(server_.await_waiting_claim());
  gate.open();
  EXPECT_TRUE(server_.await([&] { return server_.outcomes["a"].size() == 3; }));
  stop();
  EXPECT_EQ(
      server_.outcomes.at("a"),
      (std::vector<std::string>(3, R"({"id":"a","token":1,"outcome":"succeeded","result":1})")));
  EXPECT_EQ(server_.broken_off, 1);  // by the stop
}

TEST_F(LongWorkerTest, SixtyFourResultsWaitForNoMore) {
  server_.put_many(65);
  Gate gate;
  Gate last;
  auto worker_options = long_options(66);
  worker_options.ack_delay = 1h;
  start(worker_options, [&](Context& context) {
    (context.job().id == "job64" ? last : gate).pass();
    return Outcome::succeeded();
  });
  EXPECT_TRUE(server_.await_waiting_claim());
  gate.open();
  EXPECT_TRUE(server_.await_outcomes(64));
  last.open();
  EXPECT_TRUE(server_.await_outcomes(65));  // with nothing else running it waits for nobody
  stop();
  std::vector<std::size_t> sizes;
  for (const auto& poll : polls()) {
    if (!poll.acks.empty()) sizes.push_back(poll.acks.size());
  }
  EXPECT_EQ(sizes, (std::vector<std::size_t>{64, 1}));
}

TEST_F(LongWorkerTest, HasTwoRequestsUnderWayAtMostAndNeverAsksForATakenSlot) {
  constexpr int kConcurrency = 16;
  std::atomic<int> running = 0;
  std::atomic<int> most = 0;
  server_.on_claim = [&](int asked) { most = std::max(most.load(), running + asked); };
  start(long_options(kConcurrency), [&](Context& context) {
    ++running;
    std::this_thread::sleep_for(std::chrono::microseconds{context.job().token % 7 * 500});
    --running;
    return Outcome::succeeded();
  });
  for (int i = 0; i < 600; ++i) {
    server_.put(fmt::format("job{}", i), static_cast<std::uint64_t>(i + 1));
    if (i % 20 != 0) continue;
    EXPECT_TRUE(server_.await_outcomes(static_cast<std::size_t>(i) / 2));
  }
  EXPECT_TRUE(server_.await_outcomes(600));
  stop();
  EXPECT_LE(most, kConcurrency);
  EXPECT_LE(server_.most_at_once, 2);
}

TEST_F(LongWorkerTest, AStoppingWorkerReportsEachOutcomeAtOnceAndClaimsNothing) {
  server_.put("a", 1);
  server_.put("b", 2);
  Gate gates[2];
  auto worker_options = long_options(3);
  worker_options.ack_delay = 1h;
  start(worker_options, [&](Context& context) {
    gates[context.job().id == "b"].pass();
    return Outcome::succeeded();
  });
  EXPECT_TRUE(server_.await_waiting_claim());
  stop_.request_stop();
  std::size_t claims = 0;
  const auto count_claims = [&] {
    claims = 0;
    for (const auto& poll : server_.polls) claims += poll.limit ? 1 : 0;
    return claims;
  };
  EXPECT_TRUE(server_.await([&] { return count_claims() > 0 && server_.broken_off == 1; }));
  gates[0].open();
  EXPECT_TRUE(server_.await_outcomes(1));  // "b" runs on
  gates[1].open();
  stop();
  EXPECT_EQ(server_.outcomes.size(), 2u);
  const std::size_t before = claims;
  EXPECT_EQ(count_claims(), before);
}

TEST_F(LongWorkerTest, GivesBackWhatAClaimBringsAfterTheStop) {
  server_.on_hand_out = [&] { stop_.request_stop(); };
  server_.answer_takes = 50ms;
  server_.put("a", 7);
  std::atomic<int> handled = 0;
  start(long_options(2), [&](Context&) {
    ++handled;
    return Outcome::succeeded();
  });
  runner_.join();
  EXPECT_EQ(handled, 0);
  EXPECT_EQ(server_.outcomes.at("a"),
            (std::vector<std::string>{R"({"id":"a","token":7,"outcome":"released"})"}));
}

TEST_F(LongWorkerTest, AClaimThatCarriesOutcomesWaitsLessForTheirAnswer) {
  server_.put("a", 1);
  start(long_options(1), [](Context&) { return Outcome::succeeded(); });
  EXPECT_TRUE(server_.await_outcomes(1));
  stop();
  ASSERT_GE(polls().size(), 2u);
  EXPECT_EQ(polls()[1].acks, (std::vector<std::string>{"a"}));
  EXPECT_EQ(polls()[1].limit, 1);
  EXPECT_EQ(polls()[1].wait_ms, 1'000);
}

TEST_F(LongWorkerTest, PausesWhereTheServerLetsNoClaimWait) {
  server_.lets_claims_wait = false;
  const auto began = std::chrono::steady_clock::now();
  start(long_options(1), [](Context&) { return Outcome::succeeded(); });
  EXPECT_TRUE(server_.await([&] { return server_.polls.size() >= 4; }));
  stop();
  EXPECT_GE(std::chrono::steady_clock::now() - began, 300ms);  // three pauses
}

TEST_F(WorkerTest, RepeatsAnOutcomeWhoseAnswerIsLost) {
  server_.put("a", 1);
  server_.lost_answers = 1;
  int reported = 0;
  auto worker_options = options();
  worker_options.reported = [&](const Ack& ack) { reported += ack.id == "a"; };
  Worker worker(client_, worker_options, [](Context&) { return Outcome::succeeded("1"); });
  ASSERT_TRUE(worker.run({}));
  ASSERT_EQ(server_.outcomes.at("a").size(), 2u);
  EXPECT_EQ(server_.outcomes.at("a")[0], server_.outcomes.at("a")[1]);
  EXPECT_EQ(reported, 1);
}

TEST_F(WorkerTest, ReplacesAnOutcomeThatIsRefusedAlone) {
  server_.refuse_odd_results = true;
  server_.put("a", 1);
  server_.put("b", 2);
  ASSERT_TRUE(work([](Context& context) {
    return Outcome::succeeded(context.job().id == "a" ? R"("ODD")" : "1");
  }));
  ASSERT_EQ(server_.outcomes.at("a").size(), 1u);
  EXPECT_NE(server_.outcomes.at("a")[0].find(R"("type":"outcome_refused")"), std::string::npos);
  EXPECT_NE(server_.outcomes.at("b")[0].find(R"("outcome":"succeeded")"), std::string::npos);
}

TEST_F(WorkerTest, LeavesAfterOneJobIfToldSo) {
  server_.put_many(3);
  auto worker_options = options(4);
  worker_options.exit_when = ExitWhen::kOneJobDone;
  Worker worker(client_, worker_options, [](Context&) { return Outcome::succeeded(); });
  ASSERT_TRUE(worker.run({}));
  EXPECT_EQ(server_.outcomes.size(), 1u);
  int asked = 0;
  for (const auto& poll : server_.polls) asked += poll.limit.value_or(0);
  EXPECT_EQ(asked, 1);
}

TEST(BackoffTest, DoublesUpToItsBoundAndStartsAgain) {
  Backoff backoff(100ms, 1'000ms, 42);
  std::chrono::milliseconds bound = 100ms;
  for (int i = 0; i < 8; ++i) {
    const auto delay = backoff.next();
    EXPECT_GE(delay, 0ms);
    EXPECT_LE(delay, bound);
    bound = std::min(bound * 2, std::chrono::milliseconds{1'000});
  }
  backoff.reset();
  EXPECT_LE(backoff.next(), 100ms);
}

TEST(BackoffTest, DiffersBetweenClients) {
  Backoff one(10s, 100s, 1);
  Backoff other(10s, 100s, 2);
  EXPECT_NE(one.next(), other.next());
}

}  // namespace
}  // namespace millrace::sdk
