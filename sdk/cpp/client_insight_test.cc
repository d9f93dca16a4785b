#include <gtest/gtest.h>

#include "base/time.h"
#include "fake_transport.h"
#include "millrace/client.h"

namespace millrace::sdk {
namespace {

class ClientInsightTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeTransport> transport_ = std::make_shared<FakeTransport>();
  Client client_{{.url = "http://server"}, transport_};

  const Request& request(std::size_t i = 0) { return transport_->requests.at(i); }
};

TEST_F(ClientInsightTest, CallsOnManyJobs) {
  transport_->answer(200, R"({"matched":7,"changed":5,"failed":2,"more":true})");
  const auto done =
      client_.bulk({.action = "retry", .query = "error~\"550\"", .states = {"dead", "expired"}},
                   Milliseconds{9});
  ASSERT_TRUE(done);
  EXPECT_EQ(done->matched, 7);
  EXPECT_EQ(done->changed, 5);
  EXPECT_EQ(done->failed, 2);
  EXPECT_TRUE(done->more);
  EXPECT_EQ(request().path, "/v1/jobs/bulk");
  EXPECT_EQ(request().body, R"({"action":"retry","filter":{"q":"error~\"550\"",)"
                            R"("state":["dead","expired"]},"dry_run":false})");
  EXPECT_EQ(request().timeout, Milliseconds{9});
  EXPECT_EQ(request().repeat, Repeat::kIfUnbegun);
  ASSERT_TRUE(client_.bulk({.action = "delete", .query = "x", .dry_run = true}, Milliseconds{9}));
  EXPECT_EQ(request(1).repeat, Repeat::kAlways);
}

constexpr std::string_view kOperation =
    R"({"id":"o1","kind":"bulk","action":"retry","query":"state:dead","queue":null,)"
    R"("error_group":null,"state":"running","matched":200,"done":9,"changed":8,"failed":1,)"
    R"("rate_per_s":50,"reason":null})";

TEST_F(ClientInsightTest, ACallMayBeginAnOperation) {
  transport_->answer(202, std::string(kOperation));
  const auto begun =
      client_.bulk({.action = "retry", .query = "state:dead", .rate_per_s = 50}, Milliseconds{9});
  ASSERT_TRUE(begun) << begun.error().message;
  EXPECT_EQ(request().body,
            R"({"action":"retry","filter":{"q":"state:dead"},"dry_run":false,"rate_per_s":50})");
  ASSERT_TRUE(begun->operation);
  EXPECT_EQ(begun->operation->id, "o1");
  EXPECT_EQ(begun->operation->matched, 200);
  EXPECT_EQ(begun->operation->done, 9);
  EXPECT_EQ(begun->operation->rate_per_s, 50);
  EXPECT_FALSE(begun->operation->has_ended());
}

TEST_F(ClientInsightTest, OrdersOfOperations) {
  transport_->answer(200, std::string(kOperation));
  ASSERT_TRUE(client_.operation("o1"));
  ASSERT_TRUE(client_.pause_operation("o1"));
  ASSERT_TRUE(client_.resume_operation("o1"));
  ASSERT_TRUE(client_.cancel_operation("o1"));
  ASSERT_TRUE(client_.set_operation_rate("o1", 7));
  ASSERT_TRUE(client_.set_operation_rate("o1", {}));
  EXPECT_EQ(request(0).path, "/v1/operations/o1");
  EXPECT_EQ(request(1).path, "/v1/operations/o1/pause");
  EXPECT_EQ(request(2).path, "/v1/operations/o1/resume");
  EXPECT_EQ(request(3).path, "/v1/operations/o1/cancel");
  EXPECT_EQ(request(4).method, "PATCH");
  EXPECT_EQ(request(4).body, R"({"rate_per_s":7})");
  EXPECT_EQ(request(5).body, R"({"rate_per_s":null})");
}

TEST_F(ClientInsightTest, ReadsOperations) {
  transport_->answer(200, R"({"items":[)" + std::string(kOperation) + R"(],"next_cursor":"c"})");
  const auto page = client_.operations("running");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(request().path, "/v1/operations?state=running&limit=1000");
  EXPECT_EQ(page->items.at(0).query, "state:dead");
  EXPECT_EQ(page->next_cursor, "c");
}

TEST_F(ClientInsightTest, AnAnswerToManyJobsMustBeOne) {
  transport_->answer(200, R"({"items":[]})");
  const auto done = client_.bulk({.action = "retry", .query = "x"}, Milliseconds{9});
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().kind, ErrorKind::kBadAnswer);
  EXPECT_FALSE(client_.stats());
  EXPECT_FALSE(client_.quiet_worker("w"));
}

TEST_F(ClientInsightTest, ReadsWorkers) {
  const std::string worker =
      R"({"id":"box7-1","host":"box7","pid":4711,"sdk":"cpp","version":null,"labels":{"zone":"a"},)"
      R"("queues":["email","sms"],"types":null,"state":"quiet",)"
      R"("first_seen_at":"2026-03-01T09:30:00.000Z","last_seen_at":"2026-03-01T09:31:00.000Z",)"
      R"("running":[{"id":"j","queue":"email","type":"send","attempt":2,)"
      R"("started_at":"2026-03-01T09:30:30.000Z","lease_expires_at":null}]})";
  transport_->answer(200, R"({"items":[)" + worker + R"(],"next_cursor":"c"})");
  const auto page = client_.workers("b");
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(request().path, "/v1/workers?limit=1000&cursor=b");
  EXPECT_EQ(page->next_cursor, "c");
  const SeenWorker& seen = page->items.at(0);
  EXPECT_EQ(seen.id, "box7-1");
  EXPECT_EQ(seen.pid, 4711);
  EXPECT_EQ(seen.version, "");
  EXPECT_EQ(seen.labels, (Meta{{"zone", "a"}}));
  EXPECT_EQ(seen.queues, (std::vector<std::string>{"email", "sms"}));
  EXPECT_TRUE(seen.types.empty());
  EXPECT_EQ(seen.state, "quiet");
  EXPECT_EQ(seen.running.at(0).attempt, 2);
  EXPECT_EQ(seen.running.at(0).started_at, parse_rfc3339("2026-03-01T09:30:30Z"));
  EXPECT_FALSE(seen.running.at(0).lease_expires_at);
  EXPECT_EQ(seen.json, worker);
}

TEST_F(ClientInsightTest, TellsWorkers) {
  transport_->answer(200, R"({"id":"a/b","state":"stopping"})");
  ASSERT_TRUE(client_.stop_worker("a/b"));
  ASSERT_TRUE(client_.quiet_worker("a/b"));
  EXPECT_EQ(request(0).path, "/v1/workers/a%2Fb/stop");
  EXPECT_EQ(request(1).path, "/v1/workers/a%2Fb/quiet");
}

TEST_F(ClientInsightTest, ReadsEvents) {
  transport_->answer(200, R"({"items":[{"id":"3-1","at":"2026-03-01T09:30:00.000Z",)"
                          R"("type":"job.dead","queue":"q","job_id":"j","job_type":"t",)"
                          R"("attempt":3,"worker":"w","data":{"a": 1}},{"id":"4-0","at":null,)"
                          R"("type":"queue.paused","queue":"q","job_id":null,"job_type":null,)"
                          R"("attempt":null,"worker":null,"data":{}}],"next_cursor":"5-0"})");
  const auto page = client_.events({.types = {"job.dead", "queue.paused"},
                                    .queues = {"q"},
                                    .cursor = EventFilter::kEnd,
                                    .limit = 10,
                                    .wait = Milliseconds{5'000}});
  ASSERT_TRUE(page) << page.error().message;
  EXPECT_EQ(request().path,
            "/v1/events?types=job.dead%2Cqueue.paused&queues=q&limit=10&cursor=end&wait_ms=5000");
  EXPECT_GT(request().timeout, Milliseconds{5'000});
  EXPECT_EQ(page->items.at(0).attempt, 3);
  EXPECT_EQ(page->items.at(0).data, R"({"a": 1})");
  EXPECT_EQ(page->items.at(1).job_id, "");
  EXPECT_FALSE(page->items.at(1).attempt);
  EXPECT_EQ(page->next_cursor, "5-0");
}

TEST_F(ClientInsightTest, KeepsTheColumnsOfStatisticsTogether) {
  transport_->answer(
      200, R"({"from":"2026-03-01T09:00:00.000Z","step_ms":60000,"groups":[{"queue":"q",)"
           R"("submitted":[1,2],"started":[3,4],"succeeded":[5,6],"failed":[7,8],"dead":[9,0],)"
           R"("wait_ms":{"p50":[null,1.5],"p95":[null,2],"p99":[null,3]},)"
           R"("run_ms":{"p50":[4,null],"p95":[5,null],"p99":[6,null]}}]})");
  const auto stats =
      client_.stats({.window = Milliseconds{120'000}, .step = Milliseconds{60'000}, .by = "queue"});
  ASSERT_TRUE(stats) << stats.error().message;
  EXPECT_EQ(request().path, "/v1/stats?window_ms=120000&step_ms=60000&by=queue");
  EXPECT_EQ(stats->step, Milliseconds{60'000});
  const StatsGroup& group = stats->groups.at(0);
  EXPECT_EQ(group.name, "q");
  EXPECT_EQ(group.submitted, (std::vector<std::int64_t>{1, 2}));
  EXPECT_EQ(group.dead, (std::vector<std::int64_t>{9, 0}));
  EXPECT_EQ(group.wait.p50, (std::vector<std::optional<double>>{std::nullopt, 1.5}));
  EXPECT_EQ(group.run.p99, (std::vector<std::optional<double>>{6, std::nullopt}));
}

TEST_F(ClientInsightTest, MakesAQueueOnlyWhereItIsToldSo) {
  transport_->answer(200, R"({"name":"mail","paused":true})");
  ASSERT_TRUE(client_.pause_queue("mail"));
  ASSERT_TRUE(client_.pause_queue("mail", "why", IfMissing::kCreate));
  ASSERT_TRUE(client_.patch_queue("mail", "{}", IfMissing::kCreate));
  ASSERT_TRUE(client_.delete_queue("mail", false, Milliseconds{9}));
  ASSERT_TRUE(client_.delete_queue("a b", true, Milliseconds{9}));
  EXPECT_EQ(request(0).path, "/v1/queues/mail/pause");
  EXPECT_EQ(request(1).path, "/v1/queues/mail/pause?create=true");
  EXPECT_EQ(request(2).path, "/v1/queues/mail?create=true");
  EXPECT_EQ(request(3).path, "/v1/queues/mail");
  EXPECT_EQ(request(4).path, "/v1/queues/a%20b?force=true");
  EXPECT_EQ(request(4).method, "DELETE");
}

}  // namespace
}  // namespace millrace::sdk
