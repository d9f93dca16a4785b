// Handlers over a store with several shards.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <mutex>

#include "engine/shard/shards_testing.h"
#include "http/testing.h"
#include "store/testing/jobs.h"

namespace millrace::http {
namespace {

using testing::HasSubstr;

constexpr std::uint32_t kTwo = 2;
const Time kThen = time_from_ms(1'700'000'000'000);

core::Job job_on(std::uint32_t shard, std::uint64_t ord, std::uint32_t id_of) {
  core::Job job = store::make_job(ord, engine::queue_on(shard, kTwo));
  job.created_at = job.run_at = kThen + Duration{static_cast<std::int64_t>(ord)};
  job.id =
      make_job_id(job.created_at, queue_bits(engine::queue_on(id_of, kTwo)), shard * 1'000 + ord);
  return job;
}

// A text member of a body.
std::string member(const std::string& body, const std::string& name) {
  const std::string key = "\"" + name + "\":\"";
  const std::size_t start = body.find(key);
  if (start == std::string::npos) return {};
  const std::size_t begin = start + key.size();
  return body.substr(begin, body.find('"', begin) - begin);
}

class Shards : public testing::Test {
 protected:
  // Look-ups in one shard find nothing; for look-ups in all shards see answer_find().
  void SetUp() override {
    server.gateway.respond_with(
        [this](const engine::Request& request) -> std::optional<engine::Answer> {
          if (std::holds_alternative<engine::FindJob>(request)) {
            const std::lock_guard lock(mutex_);
            return found_;
          }
          if (std::holds_alternative<engine::AwaitEvents>(request)) return std::monostate{};
          const auto* command = std::get_if<core::Command>(&request);
          if (command != nullptr && std::holds_alternative<core::GetJob>(*command)) {
            return core::Reply(core::JobReply{});
          }
          return engine::Unavailable::kStorage;
        });
  }
  static engine::Answer reply_with(const core::Job& job) {
    auto view = std::make_shared<core::JobView>();
    view->job = job;
    return core::Reply(core::JobReply{std::move(view), false});
  }
  void put(std::uint32_t shard, const std::vector<core::Job>& jobs) {
    ASSERT_TRUE(flushers[shard].flush(server.tables(shard), jobs).has_value());
  }
  TestResponse call(std::string_view method, const std::string& target, std::string_view body = {},
                    std::string_view fields = {}) {
    TestClient client(server);
    client.send(request(method, target, body, fields));
    return client.receive();
  }
  template <typename T>
  std::vector<T> asked() const {
    std::vector<T> all;
    for (const engine::Request& request : server.gateway.requests()) {
      if (const auto* one = std::get_if<T>(&request)) all.push_back(*one);
    }
    return all;
  }

  std::mutex mutex_;
  engine::Answer found_ = core::Reply(core::JobReply{});  // guarded by mutex_
  store::Flusher flushers[kTwo];
  TestServer server{{}, {}, {.shards = kTwo}};

  // Sets the later answers to FindJob.
  void answer_find(engine::Answer answer) {
    const std::lock_guard lock(mutex_);
    found_ = std::move(answer);
  }
};

TEST_F(Shards, AJobIsLookedForOnEachBeforeItIsNotThere) {
  const core::Job job = job_on(1, 1, 0);
  EXPECT_EQ(call("GET", "/v1/jobs/" + to_string(job.id)).status, 404);
  ASSERT_EQ(asked<engine::FindJob>().size(), 1U);
  EXPECT_EQ(asked<engine::FindJob>().front().id, job.id);

  answer_find(reply_with(job));
  const TestResponse in_memory = call("GET", "/v1/jobs/" + to_string(job.id) + "?include=payload");
  EXPECT_EQ(in_memory.status, 200);
  EXPECT_THAT(in_memory.body, HasSubstr(std::string(job.payload.view())));

  answer_find(engine::Unavailable::kStorage);  // one of them can't say
  EXPECT_EQ(call("GET", "/v1/jobs/" + to_string(job.id)).status, 503);

  answer_find(core::Reply(core::JobReply{}));
  put(1, {job});
  const TestResponse in_tables = call("GET", "/v1/jobs/" + to_string(job.id) + "?include=payload");
  EXPECT_EQ(in_tables.status, 200);
  EXPECT_THAT(in_tables.body, HasSubstr(std::string(job.payload.view())));

  answer_find(
      core::Reply(core::JobReply{nullptr, true}));  // the tables do not know yet that it is gone
  EXPECT_EQ(call("GET", "/v1/jobs/" + to_string(job.id)).status, 404);
}

TEST_F(Shards, AJobWhereItsIdPointsIsLookedForNowhereElse) {
  const core::Job job = job_on(1, 1, 1);
  put(1, {job});
  EXPECT_EQ(call("GET", "/v1/jobs/" + to_string(job.id)).status, 200);
  EXPECT_TRUE(asked<engine::FindJob>().empty());
}

TEST(WaitingForAJob, GoesOnWhereItLies) {
  TestServer server({}, {}, {.shards = kTwo});
  core::Job job = job_on(1, 1, 0);
  server.gateway.respond_with([&](const engine::Request& request) -> std::optional<engine::Answer> {
    const auto* watch = std::get_if<engine::WatchJob>(&request);
    if (watch != nullptr && watch->queue.empty()) return core::Reply(core::JobReply{});
    auto view = std::make_shared<core::JobView>();
    view->job = job;
    if (watch != nullptr) view->job.state = core::State::kDead;
    return core::Reply(core::JobReply{std::move(view), false});
  });
  TestClient client(server);
  client.send(request("GET", "/v1/jobs/" + to_string(job.id) + "?wait_ms=1000&until=final"));
  const TestResponse response = client.receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(member(response.body, "state"), "dead");
  EXPECT_EQ(server.gateway.requests().size(), 3U);
}

TEST(OneShard, AJobThatIsNotThereIsAskedForOnce) {
  TestServer server;
  server.gateway.respond_with([](const engine::Request&) -> std::optional<engine::Answer> {
    return core::Reply(core::JobReply{});
  });
  TestClient client(server);
  client.send(request("GET", "/v1/jobs/01890a5d-ac96-774b-bcce-b302099a8057"));
  EXPECT_EQ(client.receive().status, 404);
  EXPECT_EQ(server.gateway.requests().size(), 1U);
}

TEST_F(Shards, AnAtomicSubmissionLiesOnOne) {
  const std::string first = engine::queue_on(0, kTwo);
  const std::string second = engine::queue_on(1, kTwo);
  const auto batch = [](const std::string& a, const std::string& b, const char* atomic) {
    return R"({"jobs":[{"type":"t","queue":")" + a + R"("},{"type":"t","queue":")" + b +
           R"("}],"atomic":)" + atomic + "}";
  };
  const TestResponse refused = call("POST", "/v1/jobs/batch", batch(first, second, "true"));
  EXPECT_EQ(refused.status, 422);
  EXPECT_THAT(refused.body, HasSubstr(R"("code":"across_shards")"));
  EXPECT_TRUE(server.gateway.requests().empty());
  // These get as far as the shards.
  EXPECT_EQ(call("POST", "/v1/jobs/batch", batch(first, first, "true")).status, 503);
  EXPECT_EQ(call("POST", "/v1/jobs/batch", batch(first, second, "false")).status, 503);
}

TEST_F(Shards, AListIsOfAll) {
  std::vector<std::string> expected;
  for (std::uint64_t ord = 1; ord <= 4; ++ord) {
    for (std::uint32_t shard = kTwo; shard-- > 0;) {
      const core::Job job = job_on(shard, ord, shard);
      put(shard, {job});
      expected.insert(expected.begin(), to_string(job.id));
    }
  }
  std::vector<std::string> shown;
  std::string cursor;
  do {
    const TestResponse page =
        call("GET", "/v1/jobs?limit=1" + (cursor.empty() ? "" : "&cursor=" + cursor));
    ASSERT_EQ(page.status, 200) << page.body;
    shown.push_back(member(page.body, "id"));
    cursor = member(page.body, "next_cursor");
  } while (!cursor.empty() && shown.size() < 20);
  EXPECT_EQ(shown, expected);
  for (const char* bad : {"1z", "1.2.3", "x-", "..."}) {
    const TestResponse page = call("GET", std::string("/v1/jobs?cursor=") + bad);
    EXPECT_EQ(page.status, 422) << bad;
    EXPECT_THAT(page.body, HasSubstr(R"("parameter":"cursor")"));
  }
}

TEST_F(Shards, WhoWaitsForEventsWaitsForThoseOfAll) {
  const TestResponse page = call("GET", "/v1/events?wait_ms=50");
  EXPECT_EQ(page.status, 200);
  EXPECT_EQ(member(page.body, "next_cursor"), "1-0.1-0");
  ASSERT_FALSE(asked<engine::AwaitEvents>().empty());
  EXPECT_EQ(asked<engine::AwaitEvents>().front().after, (std::vector{Seq{0}, Seq{0}}));
  EXPECT_EQ(call("GET", "/v1/events?cursor=1-0").status, 422);
}

TEST_F(Shards, StatisticsOfThoseLedElsewhereAreRead) {
  engine::ShardModels leader(kTwo);
  ASSERT_TRUE(leader.load(server.tables(1), std::nullopt));
  core::EventBatch batch{std::chrono::time_point_cast<Duration>(std::chrono::system_clock::now()),
                         {}};
  core::Submitted submitted;
  submitted.job.queue = SharedBytes(engine::queue_on(1, kTwo));
  submitted.job.type = SharedBytes("t");
  batch.events.insert(batch.events.end(), 60, submitted);
  leader.take(Seq{1}, batch, engine::Statistics::Source::kLive);
  ASSERT_TRUE(leader.save(server.tables(1)).value());
  EXPECT_THAT(call("GET", "/v1/stats?window_ms=3600000").body, HasSubstr(",60"));
}

// A token's access is checked wherever the jobs are.
TEST(LimitedTokens, ReachJobsThatLieElsewhere) {
  const service::NewToken token = service::make_token({7}, {7});
  TestServer server({}, {{"t", token.hash, {"operate"}, {engine::queue_on(1, kTwo)}, std::nullopt}},
                    {.shards = kTwo});
  const core::Job job = job_on(1, 1, 0);
  server.gateway.respond_with([&](const engine::Request& request) -> std::optional<engine::Answer> {
    auto view = std::make_shared<core::JobView>();
    view->job = job;
    if (std::holds_alternative<engine::FindJob>(request)) {
      return core::Reply(core::JobReply{std::move(view), false});
    }
    const auto& command = std::get<core::Command>(request);
    if (std::holds_alternative<core::GetJob>(command)) return core::Reply(core::JobReply{});
    core::ItemsReply reply;
    reply.items.emplace_back().id = job.id;
    reply.items.back().job = std::move(view);
    return core::Reply(std::move(reply));
  });
  TestClient client(server);
  client.send(request("POST", "/v1/jobs/" + to_string(job.id) + "/cancel", {},
                      "Authorization: Bearer " + token.token + "\r\n"));
  EXPECT_EQ(client.receive().status, 200);
}

}  // namespace
}  // namespace millrace::http
