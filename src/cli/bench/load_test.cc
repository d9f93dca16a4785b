#include "cli/bench/load.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "cli/bench/lag.h"
#include "cli/bench/report.h"
#include "cli/bench/server.h"
#include "cli/bench/shared.h"
#include "cli/bench/worker.h"

namespace millrace::cli {
namespace {

using std::chrono::nanoseconds;

TEST(Delays, AreWithinTheSpanSpreadAndTheSameForTheSameSeed) {
  const Delays delays{.first = time_from_ms(1'000), .span = Duration{99}, .seed = 7};
  std::set<std::int64_t> seen;
  for (std::uint64_t job = 0; job < 2'000; ++job) {
    const auto due = to_ms(delays.due(job));
    EXPECT_GE(due, 1'000);
    EXPECT_LE(due, 1'099);
    EXPECT_EQ(due, to_ms(delays.due(job)));
    seen.insert(due);
  }
  EXPECT_EQ(seen.size(), 100u);  // 2,000 draws of 100: every one came
}

LoadPlan plan_of(std::size_t queues, int workers) {
  LoadPlan plan{.address = {}, .token = {}, .queues = {}, .workers = workers};
  for (std::size_t i = 0; i < queues; ++i) plan.queues.push_back(std::to_string(i));
  return plan;
}

TEST(ClaimedQueues, AreAllWhereOneClaimCanNameThem) {
  const auto groups = claimed_queues(plan_of(100, 3), 101);
  ASSERT_EQ(groups.size(), 1u);
  EXPECT_EQ(groups[0].size(), 100u);
  EXPECT_EQ(groups[0].front(), "1");
  EXPECT_EQ(groups[0].back(), "0");
}

TEST(ClaimedQueues, AreSharedOutInGroupsWhereThereAreMore) {
  std::multiset<std::string> served;
  for (int worker = 0; worker < 3; ++worker) {
    for (const auto& group : claimed_queues(plan_of(1'000, 3), worker)) {
      EXPECT_LE(group.size(), 100u);
      served.insert(group.begin(), group.end());
    }
  }
  EXPECT_EQ(served.size(), 1'000u);
  EXPECT_EQ(std::set(served.begin(), served.end()).size(), 1'000u);
}

TEST(ClaimedQueues, AreNeverNone) { EXPECT_EQ(claimed_queues(plan_of(101, 300), 250).size(), 1u); }

TEST(LoadShared, GivesOutEveryJobOnceAndTheRestInASmallerBatch) {
  const LoadPlan plan{.address = {}, .token = {}, .queues = {"q"}, .jobs = 25, .batch = 10};
  LoadShared shared(plan);
  EXPECT_EQ(shared.take().first, 0u);
  const auto second = shared.take();
  EXPECT_EQ(second.first, 10u);
  EXPECT_EQ(second.jobs, 10);
  EXPECT_EQ(shared.take().jobs, 5);
  EXPECT_EQ(shared.take().jobs, 0);
}

TEST(LoadShared, IsOverWhenWhatWasTakenIsDone) {
  const LoadPlan plan{
      .address = {}, .token = {}, .queues = {"q"}, .jobs = 25, .workers = 1, .batch = 10};
  LoadShared shared(plan);
  shared.take();
  shared.stop_taking();
  EXPECT_EQ(shared.take().jobs, 0);
  EXPECT_EQ(shared.to_do, 10u);
  const LoadShared::Instant begin{};
  shared.sent(begin + nanoseconds{5});
  shared.submission_answered(begin + nanoseconds{9}, 10);
  shared.completion_answered(begin + nanoseconds{30}, 6);
  EXPECT_FALSE(shared.is_over);
  shared.completion_answered(begin + nanoseconds{20}, 4);
  EXPECT_TRUE(shared.is_over);
  EXPECT_EQ(shared.submit_took(), nanoseconds{4});
  EXPECT_EQ(shared.took(), nanoseconds{25});
  EXPECT_FALSE(shared.error());
}

TEST(LoadShared, KeepsTheFirstErrorOnly) {
  const LoadPlan plan{.address = {}, .token = {}, .queues = {"q"}, .jobs = 1, .batch = 1};
  LoadShared shared(plan);
  shared.fail({"first"});
  shared.fail({"second"});
  ASSERT_TRUE(shared.error());
  EXPECT_EQ(shared.error()->message, "first");
  EXPECT_FALSE(shared.sleep_until(LoadShared::Instant::max()));
}

TEST(Report, TellsPercentilesInMillisecondsAndNothingWhereNothingWasMeasured) {
  Histogram histogram;
  histogram.add(std::chrono::milliseconds{2});
  sdk::JsonWriter json;
  json.begin_object();
  write_latencies(json, "some", histogram);
  write_latencies(json, "none", Histogram{});
  json.end_object();
  EXPECT_EQ(json.text(), R"({"some":{"p50":2.000,"p90":2.000,"p95":2.000,"p99":2.000,)"
                         R"("p999":2.000,"max":2.000},"none":null})");
}

TEST(Report, TellsOfTheServerWhatItSays) {
  const std::chrono::steady_clock::time_point at{};
  const auto before = read_server_figures("millrace_process_cpu_seconds_total 1.5\n", at);
  const auto after = read_server_figures(
      "millrace_process_cpu_seconds_total 2\nmillrace_process_resident_memory_bytes 1048576\n",
      at + std::chrono::seconds{2});
  EXPECT_EQ(describe_server_figures(before, after),
            "The server: 25.0 % of a core, 1.0 MiB resident.");
  sdk::JsonWriter json;
  json.begin_object();
  write_server_figures(json, before, after);
  write_server_figures(json, {}, {});
  json.end_object();
  EXPECT_EQ(json.text(), R"({"server":{"cpu_seconds":0.500,"resident_bytes":1048576},)"
                         R"("server":{"cpu_seconds":null,"resident_bytes":null}})");
}

TEST(Lag, IsThatOfTheShardThatIsFurthestBehind) {
  EXPECT_EQ(projection_lag_seconds("# HELP millrace_projection_lag_seconds x\nother 9\n"),
            std::nullopt);
  EXPECT_EQ(projection_lag_seconds("millrace_projection_lag_seconds 0.25"), 0.25);
  EXPECT_EQ(projection_lag_seconds("a 1\n"
                                   "millrace_projection_lag_seconds{shard=\"0\"} 0.5\n"
                                   "millrace_projection_lag_seconds{shard=\"1\"} 1.5\n"
                                   "millrace_projection_lag_seconds{shard=\"2\"} 0\nb 7\n"),
            1.5);
}

TEST(Lag, OfAListOfNodesIsThatOfTheShardsThatTheServerLeads) {
  sdk::Cluster cluster;
  EXPECT_EQ(projection_lag_seconds(cluster), std::nullopt);
  cluster.shards = {{.shard = 0}, {.shard = 1, .projection_lag_ms = 1'500}, {.shard = 2}};
  EXPECT_EQ(projection_lag_seconds(cluster), 1.5);
  cluster.shards[2].projection_lag_ms = 20;
  EXPECT_EQ(projection_lag_seconds(cluster), 1.5);
}

TEST(Report, RatesOfNoTimeAreNone) {
  EXPECT_EQ(per_second(10, std::chrono::seconds{2}), 5);
  EXPECT_EQ(per_second(10, nanoseconds{0}), 0);
}

TEST(RateMeter, TellsOfCompletionsOnceThereAreAny) {
  const std::chrono::steady_clock::time_point begin{};
  const auto at = [begin](int ms) { return begin + std::chrono::milliseconds{ms}; };
  RateMeter meter(begin);
  EXPECT_EQ(meter.read(500, 0, at(500)), 1'000);
  EXPECT_EQ(meter.read(900, 0, at(600)), 1'000);  // too soon
  EXPECT_EQ(meter.read(1'000, 30, at(1'000)), 60);
  EXPECT_EQ(meter.read(1'000, 30, at(2'000)), 0);
}

TEST(ListeningUrl, IsWhatTheServerLogs) {
  EXPECT_EQ(listening_url("x INFO  starting pid=1\ny INFO  listening url=http://[::1]:1\n"),
            "http://[::1]:1");
  EXPECT_EQ(listening_url("y INFO  listening url=http://127"), "");  // not written to its end
  EXPECT_EQ(listening_url(""), "");
}

}  // namespace
}  // namespace millrace::cli
