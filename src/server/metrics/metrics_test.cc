#include "server/metrics/metrics.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "store/memory/memory_store.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using testing::Contains;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

class MetricsTest : public testing::Test {
 protected:
  MetricsTest() {
    models.led(0);
    shards.front().driver.emplace();
    shards.front().now = time_from_ms(2'000'000);
  }
  std::vector<std::string> lines() const {
    std::istringstream text(metrics.text({.version = "1.2.3",
                                          .commit = "abc",
                                          .models = models,
                                          .shards = shards,
                                          .started_at = time_from_ms(1'000'000)},
                                         {.queues = queues}));
    std::vector<std::string> all;
    for (std::string line; std::getline(text, line);) all.push_back(line);
    return all;
  }

  void submit(const std::string& queue, std::string_view type) {
    core::EventBatch batch{.at = time_from_ms(2'000'000), .events = {}};
    core::Submitted submitted;
    submitted.job.queue = SharedBytes(queue);
    submitted.job.type = SharedBytes(type);
    batch.events.emplace_back(std::move(submitted));
    seq = next(seq);
    models.of(0).take(seq, batch, engine::Statistics::Source::kLive);
    metrics.durable(seq, batch);
  }

  Metrics metrics;
  store::Store store = store::make_memory_store();
  engine::ReadModels models{{store.tables.get()}};
  std::vector<ShardReport> shards{1};
  std::vector<core::Queue> queues;
  Seq seq{};
};

TEST_F(MetricsTest, EveryLineIsOfAFamilyThatWasIntroducedOnce) {
  submit("mail", "send");
  metrics.committed(3ms, 500, 2);
  std::set<std::string> introduced;
  for (const std::string& line : lines()) {
    if (line.starts_with("# TYPE ")) {
      EXPECT_TRUE(introduced.insert(line.substr(7, line.find(' ', 7) - 7)).second) << line;
    } else if (!line.starts_with('#')) {
      EXPECT_THAT(line, StartsWith("millrace_"));
      std::string name = line.substr(0, line.find_first_of("{ "));
      for (const char* ending : {"_bucket", "_sum", "_count"}) {
        if (name.ends_with(ending) && !introduced.contains(name)) {
          name.resize(name.size() - std::string_view(ending).size());
        }
      }
      EXPECT_TRUE(introduced.contains(name)) << line;
    }
  }
}

TEST_F(MetricsTest, JobsAreCountedByQueueAndType) {
  submit("mail", "send");
  submit("mail", "send");
  submit("other", "send");
  EXPECT_THAT(lines(), Contains(R"(millrace_jobs_submitted_total{queue="mail",type="send"} 2)"));
  EXPECT_THAT(lines(), Contains(R"(millrace_jobs_submitted_total{queue="other",type="send"} 1)"));
}

TEST_F(MetricsTest, QueuesFromOutsideCannotGrowItWithoutBound) {
  constexpr std::size_t kQueues = 3000;
  for (std::size_t i = 0; i < kQueues; ++i) submit(fmt::format("queue-{}", i), "t");
  const auto all = lines();
  const auto of_jobs = std::ranges::count_if(all, [](const std::string& line) {
    return line.starts_with("millrace_jobs_submitted_total{");
  });
  EXPECT_LE(of_jobs, static_cast<std::ptrdiff_t>(engine::kMaxStatisticsSeries + 1));
  EXPECT_THAT(all, Contains(HasSubstr("(other)")));
}

TEST_F(MetricsTest, TheFullestQueuesAreNamed) {
  for (std::uint64_t i = 0; i < 200; ++i) {
    core::Queue& queue = queues.emplace_back();
    queue.name = SharedBytes(fmt::format("queue-{}", i));
    queue.counts[static_cast<std::size_t>(core::State::kReady)] = i;
  }
  const auto all = lines();
  EXPECT_THAT(all, Contains(R"(millrace_queue_jobs{queue="queue-199",state="ready"} 199)"));
  EXPECT_THAT(all, Contains(R"(millrace_queue_jobs{queue="queue-72",state="ready"} 72)"));
  EXPECT_THAT(all, Not(Contains(HasSubstr(R"(queue="queue-71",)"))));
  EXPECT_THAT(all, Contains(R"x(millrace_queue_jobs{queue="(other)",state="ready"} 2556)x"));
}

TEST_F(MetricsTest, LabelsAreEscaped) {
  submit("a\"b\\c", "t");
  EXPECT_THAT(lines(), Contains(HasSubstr(R"(queue="a\"b\\c")")));
}

TEST_F(MetricsTest, CommitsAndFlushes) {
  metrics.committed(3ms, 500, 7);
  metrics.append_failed(store::AppendOutcome::kUnknown);
  metrics.flushed(20ms, 100, true);
  metrics.flushed(20ms, 100, false);
  const auto all = lines();
  EXPECT_THAT(all, Contains(R"(millrace_commit_seconds_bucket{le="0.0025"} 0)"));
  EXPECT_THAT(all, Contains(R"(millrace_commit_seconds_bucket{le="0.005"} 1)"));
  EXPECT_THAT(all, Contains("millrace_commit_seconds_sum 0.003"));
  EXPECT_THAT(all, Contains("millrace_commit_requests_sum 7"));
  EXPECT_THAT(all, Contains(R"(millrace_append_failures_total{outcome="unknown"} 1)"));
  EXPECT_THAT(all, Contains("millrace_flush_seconds_count 2"));
  EXPECT_THAT(all, Contains("millrace_flush_jobs_count 1"));
  EXPECT_THAT(all, Contains("millrace_flush_failures_total 1"));
}

TEST_F(MetricsTest, RequestsByRouteAndProblemsByCode) {
  http::RequestRecord record;
  record.route = http::match_route(api::Method::kPost, "/v1/claim").route;
  record.status = 200;
  record.duration = 2ms;
  metrics.answered(record);
  record.route = nullptr;
  record.path = "/hostile\npath";
  record.status = 404;
  record.problem = "not_found";
  metrics.answered(record);
  const auto all = lines();
  EXPECT_THAT(
      all,
      Contains(R"(millrace_http_requests_total{method="POST",route="/v1/claim",status="2xx"} 1)"));
  EXPECT_THAT(all, Contains(R"(millrace_http_problems_total{code="not_found"} 1)"));
  EXPECT_THAT(all, Not(Contains(HasSubstr("hostile"))));
}

TEST_F(MetricsTest, LagIsWhatIsBetween) {
  DriverStatus& status = *shards.front().driver;
  status.figures.applied = Seq{12};
  status.figures.durable = Seq{11};
  status.figures.projected = Seq{8};
  status.figures.behind_since = time_from_ms(1'998'500);
  status.figures.counts[static_cast<std::size_t>(core::State::kReady)] = 5;
  const auto all = lines();
  EXPECT_THAT(all, Contains("millrace_journal_lag_rows 1"));
  EXPECT_THAT(all, Contains("millrace_projection_lag_rows 3"));
  EXPECT_THAT(all, Contains("millrace_projection_lag_seconds 1.5"));
  EXPECT_THAT(all, Contains(R"(millrace_jobs{state="ready"} 5)"));
}

TEST_F(MetricsTest, SeveralShardsAreToldApartAndTheirJobsAddedUp) {
  shards.resize(3);  // the last one is led elsewhere
  shards[1].shard = 1;
  shards[1].driver.emplace();
  for (std::uint64_t n : {0, 1}) {
    shards[n].driver->figures.durable = Seq{10 + n};
    shards[n].driver->figures.counts[static_cast<std::size_t>(core::State::kReady)] = 5;
  }
  const auto all = lines();
  EXPECT_THAT(all, Contains(R"(millrace_journal_seq{shard="0"} 10)"));
  EXPECT_THAT(all, Contains(R"(millrace_journal_seq{shard="1"} 11)"));
  EXPECT_THAT(all, Not(Contains(HasSubstr(R"({shard="2"})"))));
  EXPECT_THAT(all, Contains(R"(millrace_jobs{state="ready"} 10)"));
}

TEST_F(MetricsTest, ConnectionsAndTheProcess) {
  metrics.connection(Metrics::Connection::kOpened);
  metrics.connection(Metrics::Connection::kOpened);
  metrics.connection(Metrics::Connection::kClosed);
  metrics.connection(Metrics::Connection::kRefused);
  const auto all = lines();
  EXPECT_THAT(all, Contains("millrace_http_connections 1"));
  EXPECT_THAT(all, Contains("millrace_http_connections_refused_total 1"));
  EXPECT_THAT(all, Contains(R"(millrace_build_info{version="1.2.3",commit="abc"} 1)"));
  EXPECT_THAT(all, Contains("millrace_start_time_seconds 1000"));
  EXPECT_THAT(all, Contains(testing::MatchesRegex("millrace_process_open_fds [1-9][0-9]*")));
  EXPECT_THAT(all, Contains(testing::MatchesRegex("millrace_process_resident_memory_bytes .*")));
}

}  // namespace
}  // namespace millrace::server
