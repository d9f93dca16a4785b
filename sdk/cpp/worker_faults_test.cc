// A worker among faults: invalid answers, a slow server, progress that can't be reported.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "millrace/worker.h"
#include "worker_testing.h"

namespace millrace::sdk {
namespace {

using namespace std::chrono_literals;

bool has_acks(const Request& request) { return request.body.find("\"acks\"") != std::string::npos; }
bool has_claim(const Request& request) {
  return request.body.find("\"claim\"") != std::string::npos;
}
Result<Response> problem(int status, const std::string& code) {
  return Response{status, fmt::format(R"({{"status":{},"code":"{}"}})", status, code), {}};
}
Result<Response> proxys_page(int status) {
  return Response{status, "<html>not here</html>", {{"content-type", "text/html"}}};
}

class WorkerFaultsTest : public WorkerTest {};

// Answers the first requests with outcomes with this; later ones normally.
class AnswerToOutcomesTest : public WorkerFaultsTest,
                             public ::testing::WithParamInterface<std::pair<int, bool>> {};

TEST_P(AnswerToOutcomesTest, IsNoRefusalOfThem) {
  const auto [status, is_page] = GetParam();
  int faults = 3;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (!has_acks(request) || faults == 0) return std::nullopt;
    --faults;
    return is_page ? proxys_page(status) : problem(status, "internal");
  };
  server_.put("a", 1);
  ASSERT_TRUE(work([](Context&) { return Outcome::succeeded("1"); }));
  ASSERT_EQ(server_.outcomes.at("a").size(), 1u);
  EXPECT_NE(server_.outcomes.at("a")[0].find(R"("outcome":"succeeded")"), std::string::npos);
  EXPECT_EQ(faults, 0);
}

INSTANTIATE_TEST_SUITE_P(Faults, AnswerToOutcomesTest,
                         ::testing::Values(std::pair(500, false), std::pair(500, true),
                                           std::pair(404, true), std::pair(408, false),
                                           std::pair(200, true), std::pair(302, true)));

TEST_F(WorkerFaultsTest, ATokenThatIsRevokedEndsTheClaimingAndRefusesNoOutcome) {
  int faults = 3;
  bool is_revoked = false;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (!has_acks(request) && !is_revoked) return std::nullopt;
    is_revoked = true;
    if (!has_claim(request) && --faults < 0) return std::nullopt;
    return problem(401, "unauthenticated");
  };
  server_.put("a", 1);
  server_.put("b", 2);
  auto worker_options = options();
  worker_options.exit_when = ExitWhen::kStopped;
  Worker worker(client_, worker_options, [](Context&) { return Outcome::succeeded("1"); });
  const auto result = worker.run({});
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().status, 401);
  ASSERT_EQ(server_.outcomes.size(), 1u);  // "b" is another's
  EXPECT_NE(server_.outcomes.at("a")[0].find(R"("outcome":"succeeded")"), std::string::npos);
}

TEST_F(WorkerFaultsTest, AClaimThatIsAnsweredOddlyIsAskedAgain) {
  std::deque<Result<Response>> faults = {problem(500, "internal"), proxys_page(200),
                                         proxys_page(404), problem(408, "request_timeout")};
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (!has_claim(request) || faults.empty()) return std::nullopt;
    auto fault = faults.front();
    faults.pop_front();
    return fault;
  };
  server_.put("a", 1);
  ASSERT_TRUE(work([](Context&) { return Outcome::succeeded(); }));
  EXPECT_EQ(server_.outcomes.size(), 1u);
  EXPECT_TRUE(was_noticed("tries again"));
}

TEST_F(WorkerFaultsTest, AnOutcomeThatTheAnswerLeavesOutIsToldAgain) {
  server_.cuts_answers = true;
  server_.put("a", 1);
  int reported = 0;
  auto worker_options = options();
  worker_options.reported = [&](const Ack&) { ++reported; };
  Worker worker(client_, worker_options, [](Context&) { return Outcome::succeeded("1"); });
  ASSERT_TRUE(worker.run({}));
  EXPECT_EQ(server_.outcomes.at("a").size(), 2u);
  EXPECT_EQ(reported, 1);
}

TEST_F(WorkerFaultsTest, TriesNotEachOutcomeAtAServerThatIsAway) {
  server_.put_many(20);
  server_.lease_ms = 3'600'000;
  int requests = 0;
  bool was_refused = false;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (!has_acks(request)) return std::nullopt;
    // One of many outcomes is at fault; then the server is unreachable for two requests.
    if (!was_refused) {
      if (has_claim(request)) return problem(422, "validation_failed");
      was_refused = true;
      return problem(422, "validation_failed");
    }
    if (++requests <= 2) return FakeTransport::unreachable();
    return std::nullopt;
  };
  ASSERT_TRUE(work([](Context&) { return Outcome::succeeded("1"); }, 20));
  EXPECT_EQ(server_.outcomes.size(), 20u);
  std::size_t with_acks = 0;
  for (const auto& poll : server_.polls) with_acks += !poll.acks.empty();
  EXPECT_LE(with_acks, 5u);  // the rest went back together
}

// The result of one of many jobs makes every request fail that contains it.
class PoisonedOutcomeTest : public WorkerFaultsTest,
                            public ::testing::WithParamInterface<std::pair<int, bool>> {};

TEST_P(PoisonedOutcomeTest, HoldsUpNoOtherJob) {
  const auto [status, is_page] = GetParam();
  int poisoned = 0;
  bool is_cured = false;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (is_cured || request.body.find("POISON") == std::string::npos) return std::nullopt;
    ++poisoned;
    return is_page ? proxys_page(status) : problem(status, "internal");
  };
  server_.lease_ms = 3'600'000;
  server_.put_many(40);
  auto worker_options = options(2);
  worker_options.exit_when = ExitWhen::kStopped;
  worker_options.poll_wait = 60s;
  std::stop_source stop;
  Worker worker(client_, worker_options, [](Context& context) {
    return Outcome::succeeded(context.job().id == "job3" ? "\"POISON\"" : "1");
  });
  Result<void> result;
  std::jthread running([&] { result = worker.run(stop.get_token()); });
  EXPECT_TRUE(server_.await_outcomes(39));
  EXPECT_TRUE(server_.await_waiting_claim());
  EXPECT_TRUE(server_.await([&] {
    EXPECT_EQ(server_.outcomes.count("job3"), 0u);
    is_cured = true;
    return true;
  }));
  EXPECT_TRUE(server_.await_outcomes(40));
  stop.request_stop();
  running.join();
  EXPECT_TRUE(result) << result.error().message;
  EXPECT_NE(server_.outcomes.at("job3").at(0).find("POISON"), std::string::npos);
  EXPECT_LT(poisoned, 15);
  EXPECT_TRUE(was_noticed("could not report"));
}

INSTANTIATE_TEST_SUITE_P(Faults, PoisonedOutcomeTest,
                         ::testing::Values(std::pair(500, false), std::pair(403, true),
                                           std::pair(404, true), std::pair(403, false)));

TEST_F(WorkerFaultsTest, ManyOutcomesAtAServerThatFailsAreNotEachTriedAlone) {
  server_.put_many(200);
  server_.lease_ms = 3'600'000;
  std::optional<std::chrono::steady_clock::time_point> began;
  int failed = 0;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (!has_acks(request)) return std::nullopt;
    const auto now = std::chrono::steady_clock::now();
    if (!began) began = now;
    if (now - *began > 1s) return std::nullopt;
    ++failed;
    return problem(500, "internal");
  };
  const auto result = work([](Context&) { return Outcome::succeeded("1"); }, 200);
  ASSERT_TRUE(result) << result.error().message;
  EXPECT_EQ(server_.outcomes.size(), 200u);
  EXPECT_LT(failed, 100);
}

TEST_F(WorkerFaultsTest, SaysThatOutcomesCouldNotBeTold) {
  server_.put("a", 1);
  auto worker_options = options();
  worker_options.exit_when = ExitWhen::kStopped;
  worker_options.flush_timeout = 300ms;
  std::stop_source stop;
  Worker worker(client_, worker_options, [&](Context&) {
    server_.failures = 1'000;
    stop.request_stop();
    return Outcome::succeeded();
  });
  const auto result = worker.run(stop.get_token());
  ASSERT_FALSE(result);
  EXPECT_EQ(result.error().kind, ErrorKind::kUnreachable);
  EXPECT_NE(result.error().message.find("will run those jobs again"), std::string::npos);
}

TEST_F(WorkerFaultsTest, ToldToStopWithAnAnswerToTheReporterItEndsWell) {
  server_.lease_ms = 4'500;
  server_.put("a", 1);
  std::atomic<bool> is_done = false;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    // Meanwhile the claim for the second slot waits.
    if (has_claim(request) || server_.waiting == 0) return std::nullopt;
    is_done = true;
    return Response{200,
                    R"({"acks":[],"heartbeats":[{"status":200,"id":"a"}],)"
                    R"("commands":[{"type":"stop"}]})",
                    {}};
  };
  auto worker_options = options(2);
  worker_options.exit_when = ExitWhen::kStopped;
  worker_options.poll_wait = 60s;
  Worker worker(client_, worker_options, [&](Context&) {
    for (int i = 0; i < 2'000 && !is_done; ++i) std::this_thread::sleep_for(10ms);
    std::this_thread::sleep_for(50ms);
    server_.await([&] {
      server_.answer_instead = nullptr;
      return true;
    });
    return Outcome::succeeded();
  });
  const auto result = worker.run({});
  EXPECT_TRUE(result) << result.error().message;
  EXPECT_EQ(server_.outcomes.size(), 1u);
}

TEST_F(WorkerFaultsTest, AReportWaitsForItsAnswerNoLongerThanTheLeasesAllow) {
  server_.lease_ms = 6'000;
  server_.put("a", 1);
  ASSERT_TRUE(work([&](Context&) {
    EXPECT_TRUE(server_.await([&] { return server_.heartbeats > 0; }));
    return Outcome::succeeded();
  }));
  for (const auto& poll : server_.polls) {
    if (poll.heartbeats > 0) EXPECT_EQ(poll.timeout, 2'000ms);
  }
}

TEST_F(WorkerFaultsTest, BeatsAsOftenAsALeaseNeedsHoweverLongTheServerIsAway) {
  server_.lease_ms = 9'000;
  server_.put("a", 1);
  int tries = 0;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (has_claim(request) || ++tries > 2) return std::nullopt;
    return Response{503, R"({"status":503,"code":"unavailable"})", {{"retry-after", "30"}}};
  };
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(work([&](Context&) {
    EXPECT_TRUE(server_.await([&] { return server_.heartbeats > 0; }));
    return Outcome::succeeded();
  }));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 25s);
}

TEST_F(WorkerFaultsTest, WhatAServerAskedForWhileNothingRanHoldsUpNoHeartbeat) {
  server_.lease_ms = 4'500;
  server_.put("a", 1);
  std::atomic<bool> is_told = false;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (!has_acks(request) || is_told.exchange(true)) return std::nullopt;
    return Response{503, R"({"status":503,"code":"unavailable"})", {{"retry-after", "120"}}};
  };
  auto worker_options = options(2);
  worker_options.exit_when = ExitWhen::kStopped;
  worker_options.poll_wait = 60s;
  std::stop_source stop;
  std::chrono::steady_clock::time_point began;
  Worker worker(client_, worker_options, [&](Context& context) {
    if (context.job().id == "a") {
      EXPECT_TRUE(server_.await_waiting_claim());  // so that it is the reporter that tells
      return Outcome::succeeded();
    }
    began = std::chrono::steady_clock::now();
    EXPECT_TRUE(server_.await([&] { return server_.heartbeats > 0; }));
    stop.request_stop();
    return Outcome::succeeded();
  });
  Result<void> result;
  std::jthread running([&] { result = worker.run(stop.get_token()); });
  EXPECT_TRUE(server_.await([&] { return is_told.load(); }));
  std::this_thread::sleep_for(100ms);  // its pause has begun
  server_.put("b", 2);
  running.join();
  EXPECT_TRUE(result) << result.error().message;
  EXPECT_LT(std::chrono::steady_clock::now() - began, 60s);
  EXPECT_EQ(server_.outcomes.size(), 2u);
}

TEST_F(WorkerFaultsTest, AReportOfLargeOutcomesHasTimeForThem) {
  server_.lease_ms = 6'000;
  server_.put("a", 1);
  server_.put("b", 2);
  auto worker_options = options(3);
  worker_options.exit_when = ExitWhen::kStopped;
  worker_options.poll_wait = 60s;
  std::stop_source stop;
  Worker worker(client_, worker_options, [&](Context& context) {
    if (context.job().id == "a") {
      EXPECT_TRUE(server_.await_waiting_claim());  // so that it is the reporter that tells
      return Outcome::succeeded("\"" + std::string(512 << 10, 'x') + "\"");
    }
    EXPECT_TRUE(server_.await([&] { return server_.outcomes.contains("a"); }));
    stop.request_stop();
    return Outcome::succeeded();
  });
  ASSERT_TRUE(worker.run(stop.get_token()));
  std::size_t seen = 0;
  for (const auto& poll : server_.polls) {
    if (poll.acks != std::vector<std::string>{"a"}) continue;
    ++seen;
    EXPECT_GE(poll.timeout, 4'000ms);
    EXPECT_LT(poll.timeout, 4'100ms);
  }
  EXPECT_EQ(seen, 1u);
}

// --- Progress.

TEST_F(WorkerFaultsTest, ProgressThatTheServerWouldRefuseIsCut) {
  server_.put("a", 1);
  std::vector<std::string> beats;
  server_.refuse_beat = [&](const std::string& beat) {
    // A heartbeat may be sent before the handler has reported anything.
    if (beat.find("progress") != std::string::npos) beats.push_back(beat);
    return std::string();
  };
  ASSERT_TRUE(work([&](Context& context) {
    const auto await_beats = [&](std::size_t count) {
      EXPECT_TRUE(server_.await([&] { return beats.size() >= count; }));
    };
    context.progress({.percent = 120, .message = std::string(5'000, 'x')}, "{not json");
    await_beats(1);
    context.progress({.percent = std::nan("")}, "\"" + std::string(70'000, 'x') + "\"");
    await_beats(2);
    return Outcome::succeeded();
  }));
  ASSERT_GE(beats.size(), 2u);
  EXPECT_EQ(beats[0], fmt::format(R"({{"id":"a","token":1,"progress":{{"percent":100,)"
                                  R"("message":"{}"}}}})",
                                  std::string(1'024, 'x')));
  EXPECT_EQ(beats[1], R"({"id":"a","token":1,"progress":{}})");
  ASSERT_EQ(server_.logs.size(), 2u);
  EXPECT_NE(server_.logs[0].find("not JSON"), std::string::npos);
  EXPECT_NE(server_.logs[1].find("at most 65470"), std::string::npos);
}

TEST_F(WorkerFaultsTest, ProgressThatIsTooLargeTogetherGoesInTwoHeartbeats) {
  constexpr std::size_t kBound = 64 << 10;  // the server's, of the whole object
  server_.put("a", 1);
  std::vector<std::string> told;
  server_.refuse_beat = [&](const std::string& beat) -> std::string {
    const auto at = beat.find(R"("progress":)");
    if (at == std::string::npos) return "";
    told.push_back(beat.substr(at + 11, beat.size() - at - 12));
    EXPECT_LE(told.back().size(), kBound);
    return "";
  };
  const std::string control(1'024, '\x01');  // six bytes each as JSON
  ASSERT_TRUE(work([&](Context& context) {
    context.progress({.percent = 99.99999999999999}, "\"" + std::string(65'468, 'x') + "\"");
    context.progress({.percent = 99.99999999999999, .message = control});
    EXPECT_TRUE(server_.await([&] { return told.size() >= 2; }));
    // A checkpoint that fits with an empty message is too large with this one.
    context.progress({.message = control}, "\"" + std::string(62'000, 'x') + "\"");
    EXPECT_TRUE(server_.await([&] { return told.size() >= 3; }));
    return Outcome::succeeded();
  }));
  ASSERT_EQ(told.size(), 3u);
  EXPECT_EQ(told[0].find("message"), std::string::npos);
  EXPECT_EQ(told[1].find("checkpoint"), std::string::npos);
  EXPECT_NE(told[1].find("message"), std::string::npos);
  EXPECT_EQ(told[2].find("checkpoint"), std::string::npos);
  ASSERT_EQ(server_.logs.size(), 1u);
  EXPECT_NE(server_.logs[0].find("dropped a checkpoint"), std::string::npos);
}

// The handler reports news faster than heartbeats are answered.
TEST_F(WorkerFaultsTest, NewsAfterARefusalWaitForAHeartbeatWithout) {
  server_.lease_ms = 6'000;
  server_.put("a", 1);
  std::vector<bool> had_progress;
  Context* running = nullptr;
  server_.refuse_beat = [&](const std::string& beat) -> std::string {
    had_progress.push_back(beat.find("progress") != std::string::npos);
    if (running != nullptr) running->progress({.percent = 5}, "7");
    if (!had_progress.back()) return "";
    return R"({"status":422,"id":"a","error":{"status":422,"code":"validation_failed"}})";
  };
  ASSERT_TRUE(work([&](Context& context) {
    server_.await([&] {
      running = &context;
      return true;
    });
    context.progress({.percent = 5}, "7");
    EXPECT_TRUE(server_.await([&] { return had_progress.size() >= 6; }));
    server_.await([&] {
      running = nullptr;
      return true;
    });
    return Outcome::succeeded();
  }));
  for (std::size_t i = 1; i < 6; ++i) EXPECT_NE(had_progress[i], had_progress[i - 1]) << i;
}

TEST_F(WorkerFaultsTest, NewsAfterARefusalOfAllWaitForHeartbeatsWithout) {
  server_.lease_ms = 6'000;
  server_.put("a", 1);
  Context* running = nullptr;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (request.body.find("progress") == std::string::npos) return std::nullopt;
    if (running != nullptr) running->progress({.percent = 5}, "7");
    return problem(400, "invalid_json");
  };
  ASSERT_TRUE(work([&](Context& context) {
    server_.await([&] {
      running = &context;
      return true;
    });
    context.progress({.percent = 5}, "7");
    EXPECT_TRUE(server_.await([&] { return server_.heartbeats >= 3; }));
    server_.await([&] {
      running = nullptr;
      return true;
    });
    return Outcome::succeeded();
  }));
  EXPECT_EQ(server_.outcomes.size(), 1u);
}

TEST_F(WorkerFaultsTest, AHeartbeatWhoseProgressIsRefusedGoesAgainWithoutIt) {
  server_.put("b", 2);
  std::vector<std::string> beats;
  server_.refuse_beat = [&](const std::string& beat) -> std::string {
    beats.push_back(beat);
    if (beat.find("progress") == std::string::npos) return "";
    return R"({"status":422,"id":"a","error":{"status":422,"code":"validation_failed"}})";
  };
  ASSERT_TRUE(work([&](Context& context) {
    context.progress({.percent = 5}, "7");
    const auto began = std::chrono::steady_clock::now();
    EXPECT_TRUE(server_.await([&] { return beats.size() >= 2; }));
    EXPECT_LT(std::chrono::steady_clock::now() - began, 9s);  // not 10 s: the next beat
    return Outcome::succeeded();
  }));
  ASSERT_GE(beats.size(), 2u);
  EXPECT_NE(beats[0].find("progress"), std::string::npos);
  EXPECT_EQ(beats[1], R"({"id":"b","token":2})");
  EXPECT_TRUE(was_noticed("refused the progress"));
}

TEST_F(WorkerFaultsTest, AHeartbeatThatMayNotBeNowKeepsItsProgress) {
  server_.lease_ms = 6'000;
  server_.put("a", 1);
  std::vector<std::string> beats;
  server_.refuse_beat = [&](const std::string& beat) -> std::string {
    beats.push_back(beat);
    if (beats.size() > 1) return "";
    return R"({"status":503,"id":"a","error":{"status":503,"code":"overloaded"}})";
  };
  ASSERT_TRUE(work([&](Context& context) {
    context.progress({.percent = 5}, "7");
    EXPECT_TRUE(server_.await([&] { return beats.size() >= 2; }));
    return Outcome::succeeded();
  }));
  ASSERT_GE(beats.size(), 2u);
  EXPECT_NE(beats[0].find("progress"), std::string::npos);
  EXPECT_EQ(beats[1], beats[0]);
}

TEST_F(WorkerFaultsTest, HeartbeatsThatAreRefusedTogetherGoWithoutTheirProgress) {
  server_.lease_ms = 4'500;
  server_.put("a", 1);
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (request.body.find("progress") == std::string::npos) return std::nullopt;
    return problem(400, "invalid_json");
  };
  ASSERT_TRUE(work([&](Context& context) {
    context.progress({.percent = 5});
    EXPECT_TRUE(server_.await([&] { return server_.heartbeats > 0; }));
    return Outcome::succeeded();
  }));
  EXPECT_EQ(server_.outcomes.size(), 1u);
}

TEST_F(WorkerFaultsTest, LinesThatAreLostHoldUpNoOutcome) {
  server_.put("a", 1);
  std::atomic<bool> is_lost = false;
  server_.answer_instead = [&](const Request& request) -> std::optional<Result<Response>> {
    if (has_acks(request) || request.body.find("\"logs\"") == std::string::npos)
      return std::nullopt;
    is_lost = true;
    return FakeTransport::unreachable();
  };
  ASSERT_TRUE(work([&](Context& context) {
    context.log("info", "one");
    while (!is_lost) std::this_thread::sleep_for(1ms);
    return Outcome::succeeded();
  }));
  EXPECT_EQ(server_.outcomes.at("a").size(), 1u);
  EXPECT_TRUE(server_.logs.empty());
}

TEST_F(WorkerFaultsTest, ALineOfALevelThatTheServerDoesNotKnowRefusesNoOutcome) {
  server_.put("a", 1);
  ASSERT_TRUE(work([](Context& context) {
    for (const char* level : {"warning", "WARN", "critical", "trace", "chatty", "", "debug"}) {
      context.log(level, "x");
    }
    return Outcome::succeeded();
  }));
  std::string levels;
  const std::string& sent = server_.outcomes.at("a").at(0);
  constexpr std::string_view kMark = R"("level":")";
  for (std::size_t at = 0; (at = sent.find(kMark, at)) != std::string::npos;) {
    at += kMark.size();
    levels += sent.substr(at, sent.find('"', at) - at) + " ";
  }
  EXPECT_EQ(levels, "warn warn error debug info info debug ");
}

}  // namespace
}  // namespace millrace::sdk
