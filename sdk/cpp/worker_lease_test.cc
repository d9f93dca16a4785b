// How long a lease is certain, and when handlers are told to end.
#include <gtest/gtest.h>

#include <atomic>
#include <condition_variable>
#include <thread>

#include "worker_testing.h"

namespace millrace::sdk {
namespace {

using namespace std::chrono_literals;
using SteadyClock = std::chrono::steady_clock;

class WorkerLeaseTest : public WorkerTest {
 protected:
  // Runs one worker until the test stops it.
  void start(WorkerOptions worker_options, Handler handler) {
    worker_options.exit_when = ExitWhen::kStopped;
    worker_.emplace(client_, std::move(worker_options), std::move(handler));
    runner_ = std::jthread([this] { EXPECT_TRUE(worker_->run(stop_.get_token())); });
  }
  void stop() {
    stop_.request_stop();
    runner_.join();
  }

  // Waits until the handler is told to end, and keeps the reason.
  Outcome wait_to_be_told(Context& context) {
    for (int i = 0; i < 6'000 && !context.stop_token().stop_requested(); ++i) {
      std::this_thread::sleep_for(5ms);
    }
    told_at_ = SteadyClock::now();
    told_ = context.stop_reason();  // last: the test waits for it
    return Outcome::succeeded("1");
  }

  std::atomic<StopReason> told_ = StopReason::kNone;
  SteadyClock::time_point told_at_;
  std::stop_source stop_;
  std::optional<Worker> worker_;
  std::jthread runner_;
};

// A job as handed out by the server, with additions of a test.
std::string job_with(std::string_view lease, std::string_view more) {
  return fmt::format(
      R"({{"acks":[],"heartbeats":[],"logs":[],"commands":[],"jobs":[{{"id":"a","queue":"q",)"
      R"("type":"t","payload":null,"attempt":1,"max_attempts":5,"meta":{{}},"lease":{{"token":1,)"
      R"({}}}{}}}]}})",
      lease, more);
}

TEST_F(WorkerLeaseTest, IsLostWhenItsLengthHasPassedWithoutAHeartbeat) {
  server_.lease_ms = 3'000;
  server_.put("a", 1);
  const auto began = SteadyClock::now();
  start(options(), [&](Context& context) {
    server_.failures = 1'000;
    return wait_to_be_told(context);
  });
  for (int i = 0; i < 6'000 && told_ == StopReason::kNone; ++i) std::this_thread::sleep_for(5ms);
  server_.failures = 0;
  EXPECT_EQ(told_, StopReason::kLeaseLost);
  EXPECT_GE(told_at_ - began, 3'000ms);
  stop();
  EXPECT_TRUE(server_.outcomes.empty());
}

TEST_F(WorkerLeaseTest, IsConfirmedIfItsClaimTookLong) {
  server_.lease_ms = 6'000;
  server_.answer_takes = 3'000ms;
  server_.put("a", 1);
  int beats_before = 0;
  ASSERT_TRUE(work([&](Context&) {
    beats_before = server_.heartbeats;
    return Outcome::succeeded("1");
  }));
  EXPECT_EQ(beats_before, 1);
  EXPECT_EQ(server_.outcomes.at("a").size(), 1u);
}

TEST_F(WorkerLeaseTest, IsNoneIfItIsNotConfirmed) {
  server_.lease_ms = 6'000;
  server_.answer_takes = 3'000ms;
  server_.lease_is_lost = true;
  server_.put("a", 1);
  std::atomic<int> began = 0;
  ASSERT_TRUE(work([&](Context&) {
    ++began;
    return Outcome::succeeded("1");
  }));
  EXPECT_EQ(began, 0);
  EXPECT_TRUE(server_.outcomes.empty());
  EXPECT_GE(server_.heartbeats, 1);
}

TEST_F(WorkerLeaseTest, AnAttemptHasTheTimeThatTheServerGivesIt) {
  // 60 s of lease from 09:30:00, and a deadline 200 ms after that.
  bool is_given = false;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (is_given || request.body.find("claim") == std::string::npos) return std::nullopt;
    is_given = true;
    return Response{200,
                    job_with(R"("expires_at":"2026-03-01T09:31:00.000Z","lease_ms":60000)",
                             R"(,"deadline":"2026-03-01T09:40:00.200Z","timeout_ms":200)"),
                    {}};
  };
  const auto began = SteadyClock::now();
  ASSERT_TRUE(work([&](Context& context) { return wait_to_be_told(context); }));
  EXPECT_EQ(told_, StopReason::kTimeout);
  EXPECT_GE(told_at_ - began, 200ms);
  EXPECT_NE(server_.outcomes.at("a").at(0).find(R"("type":"timeout")"), std::string::npos);
}

TEST_F(WorkerLeaseTest, TheTimeFollowsFromTheDeadline) {
  bool is_given = false;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (is_given || request.body.find("claim") == std::string::npos) return std::nullopt;
    is_given = true;
    return Response{200,
                    job_with(R"("expires_at":"2026-03-01T09:30:04.500Z","lease_ms":4500)",
                             R"(,"deadline":"2026-03-01T09:30:04.600Z")"),
                    {}};
  };
  const auto began = SteadyClock::now();
  ASSERT_TRUE(work([&](Context& context) { return wait_to_be_told(context); }));
  EXPECT_EQ(told_, StopReason::kTimeout);
  EXPECT_GE(told_at_ - began, 4'600ms);
}

TEST_F(WorkerLeaseTest, TheTimeIsAskedForWhereTheLeaseEndsWithIt) {
  bool is_given = false;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (request.path == "/v1/jobs/a/heartbeat") {
      EXPECT_EQ(request.body, R"({"token":1})");
      return Response{200, R"({"id":"a","timeout_ms":3000})", {}};
    }
    if (is_given || request.body.find("claim") == std::string::npos) return std::nullopt;
    is_given = true;
    return Response{200,
                    job_with(R"("expires_at":"2026-03-01T09:30:03.000Z","lease_ms":60000)",
                             R"(,"deadline":"2026-03-01T09:30:03.000Z")"),
                    {}};
  };
  ASSERT_TRUE(work([&](Context& context) { return wait_to_be_told(context); }));
  EXPECT_EQ(told_, StopReason::kTimeout);
}

TEST_F(WorkerLeaseTest, AStopGivesHandlersTheirTime) {
  server_.put("a", 1);
  auto with_grace = options();
  with_grace.grace = 3s;
  std::atomic<bool> was_stopping = false;
  start(with_grace, [&](Context& context) -> Outcome {
    stop_.request_stop();
    was_stopping = context.stopping() && context.stop_reason() == StopReason::kNone;
    context.sleep_for(20s);
    return Outcome::succeeded("1");
  });
  runner_.join();
  EXPECT_TRUE(was_stopping);
  EXPECT_NE(server_.outcomes.at("a").at(0).find(R"("outcome":"released")"), std::string::npos);
  EXPECT_EQ(worker_->left_behind(), 0u);
}

TEST_F(WorkerLeaseTest, WhatDoesNotEndIsGivenBackAndLeftBehind) {
  server_.put("a", 1);
  auto with_grace = options();
  with_grace.grace = 0ms;
  std::atomic<bool> may_end = false;
  std::atomic<bool> has_ended = false;
  start(with_grace, [&](Context&) {
    stop_.request_stop();
    for (int i = 0; i < 12'000 && !may_end; ++i) std::this_thread::sleep_for(5ms);
    has_ended = true;
    return Outcome::succeeded("1");
  });
  runner_.join();
  EXPECT_FALSE(has_ended);
  EXPECT_EQ(worker_->left_behind(), 1u);
  EXPECT_EQ(server_.outcomes.at("a").size(), 1u);
  EXPECT_NE(server_.outcomes.at("a")[0].find("released"), std::string::npos);
  may_end = true;
  for (int i = 0; i < 4'000 && worker_->left_behind() > 0; ++i) std::this_thread::sleep_for(5ms);
  EXPECT_TRUE(has_ended);
  EXPECT_EQ(server_.outcomes.at("a").size(), 1u) << "its own outcome came too late";
}

TEST_F(WorkerLeaseTest, TheLastCheckpointGoesBeforeTheOutcome) {
  server_.put("a", 1);
  bool came_before = false;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (request.body.find(R"("acks")") != std::string::npos) {
      came_before = server_.checkpoint == R"({"page":7})";
    }
    return std::nullopt;
  };
  ASSERT_TRUE(work([](Context& context) -> Outcome {
    context.progress({.percent = 70}, R"({"page":7})");
    throw RetryAfter(1s);
  }));
  EXPECT_TRUE(came_before);
}

TEST_F(WorkerLeaseTest, ProgressIsAtMostASecondLate) {
  server_.lease_ms = 60'000;
  server_.put("a", 1);
  ASSERT_TRUE(work([&](Context& context) {
    context.progress({.percent = 70}, "7");
    EXPECT_TRUE(server_.await([&] { return server_.checkpoint == "7"; }));
    return Outcome::succeeded("1");
  }));
}

// Lets the first request with outcomes hang until the worker cancels it.
class HangsOnce : public Transport {
 public:
  explicit HangsOnce(std::shared_ptr<FakeServer> server) : server_(std::move(server)) {}

  Result<Response> send(const Request& request) override {
    const bool has_acks = request.body.find(R"("acks")") != std::string::npos;
    if (!has_acks || has_hung_.exchange(true)) return server_->send(request);
    server_->put("b", 2);
    std::mutex mutex;
    std::condition_variable_any cancelled;
    std::unique_lock lock(mutex);
    cancelled.wait_for(lock, request.stop, 20s, [] { return false; });
    Error error;
    error.kind = ErrorKind::kInterrupted;
    return std::unexpected(error);
  }

 private:
  std::shared_ptr<FakeServer> server_;
  std::atomic<bool> has_hung_ = false;
};

TEST_F(WorkerLeaseTest, AReportThatHangsCostsNoLease) {
  server_.lease_ms = 4'500;
  server_.put("a", 1);
  client_ = Client({.url = "http://server"}, std::make_shared<HangsOnce>(shared_server_));
  auto patient = options(2);
  patient.poll_wait = 60s;
  start(patient, [&](Context& context) {
    if (context.job().id == "b") std::this_thread::sleep_for(5'500ms);
    EXPECT_TRUE(server_.await_waiting_claim());  // so that it is the reporter that tells
    return Outcome::succeeded("1");
  });
  EXPECT_TRUE(server_.await_outcomes(2));
  stop();
  EXPECT_NE(server_.outcomes.at("b").at(0).find("succeeded"), std::string::npos);
}

TEST_F(WorkerLeaseTest, AQuietWorkerClaimsNothingAndListens) {
  std::atomic<int> claims_after = 0;
  bool is_quiet = false;
  std::atomic<int> polls = 0;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (is_quiet && request.body.find("claim") != std::string::npos) ++claims_after;
    const std::string command = ++polls == 1 ? "quiet" : "stop";
    if (polls > 2) return std::nullopt;
    is_quiet = true;
    return Response{200,
                    fmt::format(R"({{"acks":[],"heartbeats":[],"logs":[],"jobs":[],)"
                                R"("commands":[{{"type":"{}"}}]}})",
                                command),
                    {}};
  };
  start(options(), [](Context&) { return Outcome::succeeded("1"); });
  runner_.join();  // the second poll has told it to stop
  EXPECT_EQ(claims_after, 0);
}

}  // namespace
}  // namespace millrace::sdk
