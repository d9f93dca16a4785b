#include "millrace/client.h"

#include <gtest/gtest.h>

#include <cstdlib>

#include "base/ids.h"
#include "base/time.h"
#include "fake_transport.h"

namespace millrace::sdk {
namespace {

constexpr char kId[] = "019cb0b7-3f5c-737a-8def-0123456789ab";
const std::string kJob = R"({"id":"019cb0b7-3f5c-737a-8def-0123456789ab","queue":"default",
  "type":"greet","state":"ready","priority":-3,"attempt":1,"max_attempts":5,"crashes":0,
  "generation":1,"version":7,"created_at":"2026-03-01T09:30:00.000Z","run_at":null,
  "worker":null,"cancel_requested":false,"progress":{"percent":12.5,"message":"half"},
  "last_error":{"type":"timeout","message":"no answer","stack":null,"attempt":1,
  "at":"2026-03-01T09:30:01.000Z"},"tags":["a","b"],"meta":{"k":"v"},
  "payload":{ "big" : 123456789012345678901234567890 },"a member of tomorrow":{"x":[1]}})";

class ClientTest : public ::testing::Test {
 protected:
  std::shared_ptr<FakeTransport> transport_ = std::make_shared<FakeTransport>();
  Client client_{{.url = "http://server"}, transport_};

  const Request& request(std::size_t i = 0) { return transport_->requests.at(i); }
};

TEST_F(ClientTest, ReadsAJobAndPassesOverWhatItDoesNotKnow) {
  transport_->answer(200, kJob);
  const auto job = client_.job(kId);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->id, kId);
  EXPECT_EQ(job->state, "ready");
  EXPECT_EQ(job->priority, -3);
  EXPECT_EQ(job->version, 7);
  EXPECT_EQ(job->created_at, parse_rfc3339("2026-03-01T09:30:00Z"));
  EXPECT_FALSE(job->run_at);
  EXPECT_EQ(job->worker, "");
  EXPECT_EQ(job->progress->percent, 12.5);
  EXPECT_EQ(job->last_error->message, "no answer");
  EXPECT_EQ(job->tags, (std::vector<std::string>{"a", "b"}));
  EXPECT_EQ(job->meta, (Meta{{"k", "v"}}));
  EXPECT_EQ(job->payload, "{ \"big\" : 123456789012345678901234567890 }");  // byte for byte
  EXPECT_EQ(job->json, kJob);
}

TEST_F(ClientTest, OneTokenBreaksOffEveryCall) {
  std::stop_source all;
  std::stop_source own;
  transport_->answer(200, kJob);
  Client client({.url = "http://server", .stop = all.get_token()}, transport_);
  ASSERT_TRUE(client.cancel(kId));
  ASSERT_TRUE(client.job(kId, {.stop = own.get_token()}));
  EXPECT_EQ(request(0).stop, all.get_token());
  EXPECT_EQ(request(1).stop, own.get_token());
}

TEST_F(ClientTest, ARedirectionIsNoAnswer) {
  transport_->answer(302, "", {{"location", "https://login.example/"}});
  const auto removed = client_.remove(kId);
  ASSERT_FALSE(removed);
  EXPECT_EQ(removed.error().kind, ErrorKind::kBadAnswer);
  EXPECT_EQ(removed.error().message,
            "http://server answered with HTTP status 302, to https://login.example/");
}

TEST_F(ClientTest, SubmitsOnlyWhatIsSet) {
  transport_->answer(201, kJob);
  const auto submitted = client_.submit({.type = "greet", .payload = "[1, 2]", .id = kId});
  ASSERT_TRUE(submitted);
  EXPECT_TRUE(submitted->is_new);
  EXPECT_EQ(request().method, "POST");
  EXPECT_EQ(request().path, "/v1/jobs");
  EXPECT_EQ(request().body, R"({"type":"greet","id":"019cb0b7-3f5c-737a-8def-0123456789ab",)"
                            R"("payload":[1, 2]})");
}

TEST_F(ClientTest, SubmitsEveryMember) {
  transport_->answer(200, kJob);
  const NewJob job{.type = "t",
                   .payload = "null",
                   .queue = "q",
                   .priority = -1,
                   .run_at = time_from_ms(0),
                   .expires_in = Milliseconds{5},
                   .max_attempts = 2,
                   .retry = RetryPolicy{.strategy = "list", .delays = {Milliseconds{7}}},
                   .lease = Milliseconds{1'000},
                   .timeout = Milliseconds{2'000},
                   .unique = Unique{"key", Milliseconds{9}, "reject"},
                   .tags = {"x"},
                   .meta = {{"k", "\"v\""}},
                   .idempotency_key = "once",
                   .traceparent = "00-1-2-01"};
  const auto submitted = client_.submit(job);
  ASSERT_TRUE(submitted);
  EXPECT_FALSE(submitted->is_new);
  EXPECT_EQ(request().body,
            R"({"type":"t","queue":"q","priority":-1,"run_at":"1970-01-01T00:00:00.000Z",)"
            R"("expires_in_ms":5,"max_attempts":2,"retry":{"strategy":"list","delays_ms":[7]},)"
            R"("lease_ms":1000,"timeout_ms":2000,"unique":{"key":"key","for_ms":9,)"
            R"("on_conflict":"reject"},"tags":["x"],"meta":{"k":"\"v\""},)"
            R"("traceparent":"00-1-2-01","payload":null})");
  EXPECT_EQ(request().headers, (Headers{{"Idempotency-Key", "once"}}));
}

TEST_F(ClientTest, SubmitsTheSameJobAgainWhenTheAnswerIsLost) {
  transport_->lose_answer();
  transport_->answer(200, kJob);
  ASSERT_TRUE(client_.submit({.type = "greet"}));
  ASSERT_EQ(transport_->requests.size(), 2u);
  EXPECT_EQ(request(0).body, request(1).body);
  const std::size_t at = request().body.find(R"("id":")");
  ASSERT_NE(at, std::string::npos);
  const auto id = parse_job_id(std::string_view(request().body).substr(at + 6, kJobIdTextSize));
  ASSERT_TRUE(id);
  EXPECT_TRUE(is_uuid_v7(*id));
  EXPECT_EQ(to_string(*id).substr(15, 3), "37a");  // the first bits of SHA-256("default")
}

TEST_F(ClientTest, GivesUpAfterSoManyTries) {
  transport_->lose_answer();
  const auto job = client_.job(kId);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().kind, ErrorKind::kUnreachable);
  EXPECT_EQ(transport_->requests.size(), 3u);
}

TEST_F(ClientTest, DoesNotRepeatACancel) {
  transport_->lose_answer();
  EXPECT_FALSE(client_.cancel(kId, "late"));
  EXPECT_EQ(transport_->requests.size(), 1u);
  EXPECT_EQ(request().body, R"({"reason":"late"})");
}

TEST_F(ClientTest, DoesNotRepeatWhatWaitingDoesNotCure) {
  transport_->answer(422, R"({"type":"about:blank","title":"Unprocessable","status":422,
      "code":"validation_failed","detail":"the request has faults","request_id":"r1",
      "errors":[{"pointer":"/priority","detail":"must be -32768 to 32767"}]})");
  const auto submitted = client_.submit({.type = "greet", .priority = 99'999});
  ASSERT_FALSE(submitted);
  const Error& error = submitted.error();
  EXPECT_EQ(transport_->requests.size(), 1u);
  EXPECT_EQ(error.kind, ErrorKind::kRefused);
  EXPECT_EQ(error.code, "validation_failed");
  EXPECT_EQ(error.request_id, "r1");
  EXPECT_EQ(describe(error), "the request has faults (/priority: must be -32768 to 32767)");
}

TEST_F(ClientTest, WaitsAsLongAsTheServerAsks) {
  transport_->answer(503, R"({"status":503,"code":"draining","detail":"stopping"})",
                     {{"retry-after", "1"}});
  transport_->answer(200, kJob);
  const auto began = std::chrono::steady_clock::now();
  EXPECT_TRUE(client_.job(kId));
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::seconds{1});
}

TEST_F(ClientTest, TellsAnAnswerThatIsNotMillraces) {
  transport_->answer(200, "<html>hello</html>");
  const auto job = client_.job(kId);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().kind, ErrorKind::kBadAnswer);
  transport_->answer(502, "<html>bad gateway</html>");
  transport_->requests.clear();
  EXPECT_FALSE(client_.job(kId));
}

TEST_F(ClientTest, NamesFiltersInTheQuery) {
  transport_->answer(200, R"({"items":[)" + kJob + R"(],"next_cursor":"abc"})");
  const auto page = client_.jobs({.states = {"dead", "ready"},
                                  .queue = "a/b",
                                  .created_after = time_from_ms(0),
                                  .query = "error~time out&x",
                                  .limit = 5});
  ASSERT_TRUE(page);
  EXPECT_EQ(request().path,
            "/v1/jobs?state=dead%2Cready&queue=a%2Fb&created_after=1970-01-01T00%3A00%3A00.000Z"
            "&q=error~time%20out%26x&limit=5");
  ASSERT_EQ(page->items.size(), 1u);
  EXPECT_EQ(page->items[0].json, kJob);
  EXPECT_EQ(page->next_cursor, "abc");
}

TEST_F(ClientTest, ReadsAllPagesOfALog) {
  transport_->answer(200, R"({"items":[{"seq":1,"attempt":1,"level":"info","message":"a"}],)"
                          R"("next_cursor":"n"})");
  transport_->answer(200, R"({"items":[{"seq":2,"attempt":2,"level":"warn","message":"b"}],)"
                          R"("next_cursor":null})");
  const auto lines = client_.logs(kId);
  ASSERT_TRUE(lines);
  ASSERT_EQ(lines->size(), 2u);
  EXPECT_EQ(lines->at(1).level, "warn");
  EXPECT_NE(request(1).path.find("cursor=n"), std::string::npos);
}

TEST_F(ClientTest, ReadsWhatBecameOfABatch) {
  transport_->answer(200, R"({"results":[{"status":201,"id":"x","state":"ready"},)"
                          R"({"status":409,"error":{"status":409,"code":"duplicate_job",)"
                          R"("detail":"taken"}}]})");
  const std::vector<NewJob> jobs{{.type = "a", .id = "1"}, {.type = "b", .id = "2"}};
  const auto batch = client_.submit_batch(jobs, true);
  ASSERT_TRUE(batch);
  EXPECT_EQ(request().body, R"({"atomic":true,"jobs":[{"type":"a","id":"1","payload":null},)"
                            R"({"type":"b","id":"2","payload":null}]})");
  EXPECT_FALSE(batch->items.at(0).error);
  EXPECT_EQ(batch->items.at(1).error->code, "duplicate_job");
}

TEST_F(ClientTest, ReadsAQueue) {
  transport_->answer(200, R"({"name":"mail","paused":true,"pause_reason":"why",)"
                          R"("counts":{"ready":3,"dead":1},"oldest_ready_age_ms":4200,)"
                          R"("rates":{"submitted_per_s":1.5},"settings":{"max_attempts": 5}})");
  const auto queue = client_.queue("mail");
  ASSERT_TRUE(queue);
  EXPECT_TRUE(queue->paused);
  EXPECT_EQ(queue->counts.ready, 3);
  EXPECT_EQ(queue->oldest_ready_age, Milliseconds{4'200});
  EXPECT_EQ(queue->rates.submitted_per_s, 1.5);
  EXPECT_EQ(queue->settings, R"({"max_attempts": 5})");
}

TEST(ClientOptionsTest, ComeFromTheEnvironmentWhereTheyAreNotGiven) {
  setenv("MILLRACE_URL", "http://elsewhere:1", 1);
  EXPECT_EQ(Client({}).url(), "http://elsewhere:1");
  EXPECT_EQ(Client({.url = "http://here:2"}).url(), "http://here:2");
  unsetenv("MILLRACE_URL");
  EXPECT_EQ(Client({}).url(), kDefaultUrl);
}

TEST(HttpTransport, TellsWhyThereIsNoAnswer) {
  const auto nobody = make_http_transport({.url = "http://127.0.0.1:1"});
  EXPECT_EQ(nobody->send({}).error().kind, ErrorKind::kUnreachable);
  const auto nonsense = make_http_transport({.url = "ftp://127.0.0.1"});
  EXPECT_EQ(nonsense->send({}).error().kind, ErrorKind::kBadArgument);
}

}  // namespace
}  // namespace millrace::sdk
