#include "millrace/worker.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <simdjson.h>

#include <atomic>
#include <condition_variable>
#include <deque>
#include <map>
#include <thread>

#include "backoff.h"
#include "fake_transport.h"

namespace millrace::sdk {
namespace {

using namespace std::chrono_literals;

// A server as far as a worker sees it: hands out what is put in, remembers outcomes, heartbeats and
// log lines.
class FakeServer {
 public:
  explicit FakeServer(FakeTransport& transport) {
    transport.respond_by([this](const Request& request) { return respond(request); });
  }

  void put(std::string id, std::uint64_t token, std::string payload = "null") {
    const std::lock_guard lock(mutex_);
    jobs_.push_back(fmt::format(
        R"({{"id":"{}","queue":"q","type":"t","payload":{},"attempt":1,"max_attempts":5,)"
        R"("lease":{{"token":{},"expires_at":"2026-03-01T09:30:00.000Z"}},"lease_ms":300,)"
        R"("meta":{{}}}})",
        id, payload, token));
  }

  // What the next requests meet.
  std::atomic<int> failures = 0;                // so many answers are lost
  std::atomic<bool> refuse_large_acks = false;  // the whole request, as for a result beyond a bound
  std::atomic<bool> cancel_at_heartbeat = false;
  std::atomic<bool> lease_is_lost = false;

  std::map<std::string, std::vector<std::string>> outcomes() {
    const std::lock_guard lock(mutex_);
    return outcomes_;
  }
  int heartbeats() {
    const std::lock_guard lock(mutex_);
    return heartbeats_;
  }
  std::vector<std::string> logs() {
    const std::lock_guard lock(mutex_);
    return logs_;
  }
  std::vector<int> limits() {
    const std::lock_guard lock(mutex_);
    return limits_;
  }

 private:
  Result<Response> respond(const Request& request) {
    const std::lock_guard lock(mutex_);
    if (failures > 0) {
      --failures;
      return FakeTransport::unreachable();
    }
    simdjson::dom::parser parser;
    const simdjson::dom::element body = parser.parse(request.body);
    if (refuse_large_acks && request.body.find("TOO LARGE") != std::string::npos) {
      return Response{422, R"({"status":422,"code":"validation_failed","detail":"too large"})", {}};
    }
    return Response{
        200,
        fmt::format(R"({{"acks":[{}],"heartbeats":[{}],"logs":[],"jobs":[{}],"commands":[]}})",
                    take_acks(body), take_heartbeats(body), claim(body)),
        {}};
  }

  std::string take_acks(simdjson::dom::element body) {
    std::string results;
    simdjson::dom::array acks;
    if (body["acks"].get(acks) != simdjson::SUCCESS) return results;
    for (const simdjson::dom::element ack : acks) {
      const std::string id{std::string_view(ack["id"])};
      outcomes_[id].emplace_back(simdjson::minify(ack));
      simdjson::dom::array lines;
      if (ack["logs"].get(lines) == simdjson::SUCCESS) keep_lines(lines);
      results += fmt::format(R"({}{{"status":200,"id":"{}","state":"succeeded"}})",
                             results.empty() ? "" : ",", id);
    }
    return results;
  }

  std::string take_heartbeats(simdjson::dom::element body) {
    std::string results;
    simdjson::dom::array lines;
    if (body["logs"].get(lines) == simdjson::SUCCESS) keep_lines(lines);
    simdjson::dom::array beats;
    if (body["heartbeats"].get(beats) != simdjson::SUCCESS) return results;
    for (const simdjson::dom::element beat : beats) {
      ++heartbeats_;
      const std::string id{std::string_view(beat["id"])};
      const std::string comma = results.empty() ? "" : ",";
      results +=
          lease_is_lost
              ? fmt::format(R"({}{{"status":409,"id":"{}","error":{{"code":"lease_lost"}}}})",
                            comma, id)
              : fmt::format(R"({}{{"status":200,"id":"{}","cancel_requested":{}}})", comma, id,
                            cancel_at_heartbeat.load());
    }
    return results;
  }

  std::string claim(simdjson::dom::element body) {
    simdjson::dom::object wanted;
    if (body["claim"].get(wanted) != simdjson::SUCCESS) return {};
    const auto limit = static_cast<int>(std::int64_t(wanted["limit"]));
    limits_.push_back(limit);
    std::string claimed;
    for (int i = 0; i < limit && !jobs_.empty(); ++i) {
      claimed += (claimed.empty() ? "" : ",") + jobs_.front();
      jobs_.pop_front();
    }
    return claimed;
  }

  void keep_lines(simdjson::dom::array lines) {
    for (const simdjson::dom::element line : lines) {
      logs_.emplace_back(std::string_view(line["message"]));
    }
  }

  std::mutex mutex_;
  std::deque<std::string> jobs_;
  std::map<std::string, std::vector<std::string>> outcomes_;
  std::vector<std::string> logs_;
  std::vector<int> limits_;
  int heartbeats_ = 0;
};

class WorkerTest : public ::testing::Test {
 protected:
  // Runs until nothing is left to claim.
  Result<void> work(Handler handler, int concurrency = 1) {
    Worker worker(client_, options(concurrency), std::move(handler));
    return worker.run({});
  }
  WorkerOptions options(int concurrency = 1) {
    return {.queues = {"q"},
            .concurrency = concurrency,
            .poll_wait = 50ms,
            .flush_timeout = 500ms,
            .exit_when = ExitWhen::kNothingToClaim,
            .notice = [this](std::string_view message) {
              const std::lock_guard lock(mutex_);
              notices_.emplace_back(message);
            }};
  }

  std::shared_ptr<FakeTransport> transport_ = std::make_shared<FakeTransport>();
  FakeServer server_{*transport_};
  Client client_{{.url = "http://server", .retries = 0}, transport_};
  std::mutex mutex_;
  std::vector<std::string> notices_;
};

TEST_F(WorkerTest, RunsJobsAndReportsTheirOutcomes) {
  server_.put("a", 1, R"({"n": 1})");
  server_.put("b", 2);
  ASSERT_TRUE(work([](Context& context) {
    if (context.job().id == "b") return Outcome::failed({.type = "oops", .message = "no"}, 5s);
    return Outcome::succeeded(context.job().payload);
  }));
  const auto outcomes = server_.outcomes();
  ASSERT_EQ(outcomes.at("a").size(), 1u);
  EXPECT_EQ(outcomes.at("a")[0], R"({"id":"a","token":1,"outcome":"succeeded","result":{"n":1}})");
  EXPECT_EQ(outcomes.at("b")[0],
            R"({"id":"b","token":2,"outcome":"failed","error":{"type":"oops","message":"no"},)"
            R"("delay_ms":5000})");
}

TEST_F(WorkerTest, NeverRunsMoreThanItsConcurrency) {
  for (int i = 0; i < 30; ++i)
    server_.put(fmt::format("job{}", i), static_cast<std::uint64_t>(i + 1));
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
  EXPECT_EQ(server_.outcomes().size(), 30u);
  EXPECT_EQ(most, 3);
  for (const int limit : server_.limits()) EXPECT_LE(limit, 3);
}

TEST_F(WorkerTest, AnExceptionFailsTheAttempt) {
  server_.put("a", 1);
  ASSERT_TRUE(work([](Context&) -> Outcome { throw std::runtime_error("broken pipe"); }));
  EXPECT_NE(server_.outcomes().at("a")[0].find(R"("message":"broken pipe")"), std::string::npos);
}

TEST_F(WorkerTest, TellsAnOutcomeAgainUntilItIsAnswered) {
  server_.put("a", 1);
  ASSERT_TRUE(work([&](Context&) {
    server_.failures = 2;
    return Outcome::succeeded();
  }));
  EXPECT_EQ(server_.outcomes().at("a").size(), 1u);
  ASSERT_EQ(notices_.size(), 2u);  // once that it is away, once that it is back
  EXPECT_NE(notices_[0].find("trying again"), std::string::npos);
  EXPECT_NE(notices_[1].find("again"), std::string::npos);
}

TEST_F(WorkerTest, KeepsLeasesAliveWhileTheHandlerRuns) {
  server_.put("a", 1);  // a lease of 300 ms: a heartbeat every 100 ms
  ASSERT_TRUE(work([](Context& context) {
    context.progress({.percent = 50});
    std::this_thread::sleep_for(450ms);
    return Outcome::succeeded();
  }));
  EXPECT_GE(server_.heartbeats(), 3);
}

TEST_F(WorkerTest, TellsTheHandlerThatItsJobIsCancelled) {
  server_.put("a", 1);
  server_.cancel_at_heartbeat = true;
  StopReason reason = StopReason::kNone;
  ASSERT_TRUE(work([&](Context& context) {
    for (int i = 0; i < 500 && !context.stop_token().stop_requested(); ++i) {
      std::this_thread::sleep_for(10ms);
    }
    reason = context.stop_reason();
    return Outcome::cancelled();
  }));
  EXPECT_EQ(reason, StopReason::kCancelled);
  EXPECT_NE(server_.outcomes().at("a")[0].find(R"("outcome":"cancelled")"), std::string::npos);
}

TEST_F(WorkerTest, SaysNothingAboutAJobWhoseLeaseIsLost) {
  server_.put("a", 1);
  server_.lease_is_lost = true;
  ASSERT_TRUE(work([&](Context& context) {
    for (int i = 0; i < 500 && !context.stop_token().stop_requested(); ++i) {
      std::this_thread::sleep_for(10ms);
    }
    EXPECT_EQ(context.stop_reason(), StopReason::kLeaseLost);
    return Outcome::succeeded();
  }));
  EXPECT_TRUE(server_.outcomes().empty());
}

TEST_F(WorkerTest, OneRefusedOutcomeDoesNotHoldBackTheOthers) {
  server_.refuse_large_acks = true;
  for (int i = 0; i < 6; ++i)
    server_.put(fmt::format("job{}", i), static_cast<std::uint64_t>(i + 1));
  ASSERT_TRUE(work(
      [](Context& context) {
        return Outcome::succeeded(context.job().id == "job3" ? R"("TOO LARGE")" : "1");
      },
      6));
  const auto outcomes = server_.outcomes();
  EXPECT_EQ(outcomes.size(), 6u);
  EXPECT_NE(outcomes.at("job3")[0].find(R"("type":"outcome_refused")"), std::string::npos);
  EXPECT_NE(outcomes.at("job2")[0].find(R"("outcome":"succeeded")"), std::string::npos);
}

TEST_F(WorkerTest, SendsLogLinesOnceAndInOrder) {
  server_.put("a", 1);
  ASSERT_TRUE(work([](Context& context) {
    context.log("info", "one");
    std::this_thread::sleep_for(1'300ms);  // sent on the way
    context.log("info", "two");            // sent with the outcome
    return Outcome::succeeded();
  }));
  EXPECT_EQ(server_.logs(), (std::vector<std::string>{"one", "two"}));
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
  EXPECT_EQ(server_.outcomes().size(), 1u);  // "b" was never claimed, "a" was told
}

TEST_F(WorkerTest, LeavesAtOnceWhenItMayNotWork) {
  transport_->respond_by([](const Request&) -> Result<Response> {
    return Response{401, R"({"status":401,"code":"unauthenticated","detail":"no token"})", {}};
  });
  const auto result = work([](Context&) { return Outcome::succeeded(); });
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
    EXPECT_EQ(context.stop_reason(), StopReason::kAborted);
    return Outcome::released();
  });
  running = &worker;
  const auto began = std::chrono::steady_clock::now();
  ASSERT_TRUE(worker.run(stop.get_token()));
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
}

TEST(BackoffTest, DoublesUpToItsBoundAndStartsAgain) {
  Backoff backoff(100ms, 1'000ms, 42);
  std::chrono::milliseconds bound = 100ms;
  for (int i = 0; i < 8; ++i) {
    const auto delay = backoff.next();
    EXPECT_GE(delay, bound / 2);
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
