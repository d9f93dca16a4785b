#include "millrace/client.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstdlib>
#include <set>
#include <thread>

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
  Client client_{{.url = "http://server", .timeout = Milliseconds{30'000}}, transport_};
  Client hasty_{{.url = "http://server", .timeout = Milliseconds{3'000}}, transport_};

  const Request& request(std::size_t i = 0) { return transport_->requests.at(i); }
};

TEST_F(ClientTest, ReadsAJobAndPassesOverWhatItDoesNotKnow) {
  transport_->answer(200, kJob);
  const auto job = client_.get(kId);
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
  ASSERT_TRUE(client.get(kId, {.stop = own.get_token()}));
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

TEST_F(ClientTest, GivesUpWhenItsTimeIsOver) {
  transport_->lose_answer();
  const auto began = std::chrono::steady_clock::now();
  const auto job = hasty_.get(kId);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().kind, ErrorKind::kUnreachable);
  EXPECT_GE(transport_->requests.size(), 2u);
  EXPECT_LT(transport_->requests.back().timeout, Milliseconds{3'000});  // what is left of it
  EXPECT_LT(std::chrono::steady_clock::now() - began, std::chrono::seconds{20});
}

constexpr char kInvalidState[] = R"({"status":409,"code":"invalid_state","detail":"no"})";

TEST_F(ClientTest, ACancelWhoseAnswerIsLostHasCancelled) {
  transport_->lose_answer();
  transport_->answer(409, kInvalidState);
  transport_->answer(200, R"({"id":"j","state":"cancelled"})");
  const auto job = client_.cancel("j", "late");
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(job->state, "cancelled");
  EXPECT_EQ(request().body, R"({"reason":"late"})");
}

TEST_F(ClientTest, ACancelThatComesTooLateIsRefused) {
  transport_->answer(409, kInvalidState);
  EXPECT_EQ(client_.cancel("j").error().problem(), Problem::kInvalidState);
  EXPECT_EQ(transport_->requests.size(), 1u);
  transport_->lose_answer();
  transport_->answer(409, kInvalidState);
  transport_->answer(200, R"({"id":"j","state":"dead"})");
  EXPECT_EQ(client_.cancel("j").error().problem(), Problem::kInvalidState);
}

TEST_F(ClientTest, ADeleteWhoseAnswerIsLostHasDeleted) {
  transport_->answer(404, R"({"status":404,"code":"not_found"})");
  EXPECT_EQ(client_.remove("j").error().problem(), Problem::kNotFound);
  transport_->lose_answer();
  transport_->answer(404, R"({"status":404,"code":"not_found"})");
  // The script goes on after the answer that repeated.
  EXPECT_FALSE(client_.remove("j"));
  EXPECT_TRUE(client_.remove("j"));
}

TEST_F(ClientTest, RepeatsARetryOnlyIfTheServerCannotHaveBegunIt) {
  transport_->lose_answer();
  EXPECT_EQ(client_.retry("j").error().problem(), Problem::kUnreachable);
  EXPECT_EQ(transport_->requests.size(), 1u);
  Error refused;
  refused.kind = ErrorKind::kUnreachable;
  refused.is_unsent = true;
  int tries = 0;
  transport_->respond_by([&](const Request&) -> Result<Response> {
    ++tries;
    if (tries == 1) return std::unexpected(refused);
    if (tries == 2) return Response{429, R"({"status":429,"code":"rate_limited"})", {}};
    return Response{200, kJob, {}};
  });
  EXPECT_TRUE(client_.retry("j"));
  EXPECT_EQ(tries, 3);
}

TEST_F(ClientTest, DoesNotWaitForATryThatItsTimeDoesNotAllow) {
  transport_->answer(503, R"({"status":503,"code":"draining"})", {{"retry-after", "60"}});
  const auto began = std::chrono::steady_clock::now();
  const auto job = client_.get(kId);
  EXPECT_EQ(job.error().problem(), Problem::kUnavailable);
  EXPECT_EQ(job.error().retry_after, Milliseconds{60'000});
  EXPECT_LT(std::chrono::steady_clock::now() - began, Milliseconds{20'000});
}

TEST_F(ClientTest, WaitsUntilTheJobHasEnded) {
  transport_->answer(200, R"({"id":"j","state":"running"})");
  transport_->answer(200, R"({"id":"j","state":"dead"})");
  EXPECT_EQ(client_.wait("j", std::chrono::minutes{2})->state, "dead");
  EXPECT_EQ(request().path, "/v1/jobs/j?include=result&until=final&wait_ms=60000");
}

TEST_F(ClientTest, SaysSoIfTheJobDoesNotEndInTime) {
  transport_->answer(200, R"({"id":"j","state":"running"})");
  const auto job = client_.wait("j", Milliseconds{20});
  EXPECT_EQ(job.error().code, "wait_timeout");
  EXPECT_EQ(job.error().problem(), Problem::kWaitTimeout);
}

TEST_F(ClientTest, AnItemOfABatchMayHaveAKeyInPlaceOfAnId) {
  transport_->answer(200, R"({"results":[]})");
  const std::vector<NewJob> jobs{{.type = "a", .idempotency_key = "k"}, {.type = "b"}};
  ASSERT_TRUE(client_.submit_batch(jobs));
  EXPECT_NE(request().body.find(R"({"type":"a","idempotency_key":"k","payload":null})"),
            std::string::npos);
  EXPECT_NE(request().body.find(R"({"type":"b","id":")"), std::string::npos);
}

TEST_F(ClientTest, GoesOnToTheNextPage) {
  transport_->answer(200, R"({"items":[{"id":"a"},{"id":"b"}],"next_cursor":"n"})");
  transport_->answer(200, R"({"items":[{"id":"c"}],"next_cursor":null})");
  std::string ids;
  for (const auto& job : client_.list_all({.limit = 2})) ids += job->id;
  EXPECT_EQ(ids, "abc");
  EXPECT_EQ(request(1).path, "/v1/jobs?limit=2&cursor=n");
}

TEST_F(ClientTest, TheLastItemOfAListMayBeAnError) {
  transport_->answer(200, R"({"items":[{"id":"a"}],"next_cursor":"n"})");
  transport_->answer(403, R"({"status":403,"code":"forbidden"})");
  std::vector<bool> are_jobs;
  for (const auto& job : client_.list_all({})) are_jobs.push_back(job.has_value());
  EXPECT_EQ(are_jobs, (std::vector<bool>{true, false}));
}

TEST_F(ClientTest, AVersionIsARequirement) {
  transport_->answer(412, R"({"status":412,"code":"version_conflict"})");
  const auto queue = client_.patch_queue("q", "{}", IfMissing::kFail, 7);
  EXPECT_EQ(queue.error().problem(), Problem::kVersionConflict);
  EXPECT_EQ(request().headers, (Headers{{"If-Match", "\"7\""}}));
}

TEST_F(ClientTest, TheApplicationMayGiveATraceContext) {
  transport_->answer(200, kJob);
  Client client({.url = "http://server", .traceparent = [] { return "00-a-b-01"; }}, transport_);
  ASSERT_TRUE(client.submit({.type = "t", .id = "1"}));
  ASSERT_TRUE(client.submit({.type = "t", .id = "1", .traceparent = "own"}));
  EXPECT_NE(request(0).body.find(R"("traceparent":"00-a-b-01")"), std::string::npos);
  EXPECT_NE(request(1).body.find(R"("traceparent":"own")"), std::string::npos);
}

TEST(MakeIdTest, NoneIsMadeTwice) {
  std::set<std::string> ids;
  for (int i = 0; i < 10'000; ++i) ids.insert(make_id("q"));
  EXPECT_EQ(ids.size(), 10'000u);
  EXPECT_EQ(ids.begin()->substr(14, 4), make_id("q").substr(14, 4));
  EXPECT_EQ(make_id().substr(14, 4), make_id("default").substr(14, 4));
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
  Client patient({.url = "http://server"}, transport_);
  EXPECT_TRUE(patient.get(kId));
  EXPECT_GE(std::chrono::steady_clock::now() - began, std::chrono::seconds{1});
}

TEST_F(ClientTest, TellsAnAnswerThatIsNotMillraces) {
  transport_->answer(200, "<html>hello</html>");
  const auto job = client_.get(kId);
  ASSERT_FALSE(job);
  EXPECT_EQ(job.error().kind, ErrorKind::kBadAnswer);
  transport_->answer(502, "<html>bad gateway</html>");
  transport_->requests.clear();
  EXPECT_FALSE(hasty_.get(kId));
}

TEST_F(ClientTest, NamesFiltersInTheQuery) {
  transport_->answer(200, R"({"items":[)" + kJob + R"(],"next_cursor":"abc"})");
  const auto page = client_.list({.states = {"dead", "ready"},
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

TEST_F(ClientTest, MakesALimit) {
  transport_->answer(201, R"({"name":"api","per_key":false,"keys":{},"concurrency":4,)"
                          R"("rate":{"limit":5,"per_ms":1000},"in_use":2,"version":1})");
  const auto limit = client_.put_limit(
      "api", {.concurrency = 4, .rate = Rate{.limit = 5, .per = Milliseconds{1'000}}});
  ASSERT_TRUE(limit);
  EXPECT_EQ(request().path, "/v1/limits/api");
  EXPECT_EQ(request().body, R"({"concurrency":4,"rate":{"limit":5,"per_ms":1000}})");
  EXPECT_EQ(limit->rate->limit, 5);
  EXPECT_EQ(limit->in_use, 2);
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

TEST(ClientOptionsTest, ATokenIsTrimmedAndChecked) {
  EXPECT_EQ(Client({.token = " \tmlr_token\r\n"}).token(), "mlr_token");
  EXPECT_EQ(Client({.token = " \n"}).token(), "");
  for (const std::string token : {"mlr_hid\r\nX: y", "mlr_hid den", "mlr_hid\x7f"}) {
    try {
      const Client client({.token = token});
      ADD_FAILURE() << token;
    } catch (const std::invalid_argument& refused) {
      EXPECT_EQ(std::string(refused.what()).find("hid"), std::string::npos) << refused.what();
    }
  }
}

TEST(HttpTransport, NoHeaderBringsAnother) {
  Client client({.url = "http://127.0.0.1:1"});
  const auto refused = client.submit({.type = "t", .idempotency_key = "k\r\nX-Other: y"});
  EXPECT_EQ(refused.error().kind, ErrorKind::kBadArgument);
  EXPECT_NE(refused.error().message.find("Idempotency-Key"), std::string::npos);
}

TEST_F(ClientTest, AFullQueueIsNotTriedForLong) {
  transport_->answer(429, R"({"status":429,"code":"queue_full"})", {{"retry-after", "1"}});
  EXPECT_EQ(client_.submit({.type = "t"}).error().problem(), Problem::kQueueFull);
  EXPECT_LE(transport_->requests.size(), 3u);  // in 2 s
}

TEST_F(ClientTest, AnUntrustedCertificateIsFinal) {
  transport_->respond_by([](const Request&) -> Result<Response> {
    return std::unexpected(
        Error{.kind = ErrorKind::kUnreachable, .code = "unreachable", .is_untrusted = true});
  });
  EXPECT_EQ(client_.get(kId).error().problem(), Problem::kUnreachable);
  EXPECT_EQ(transport_->requests.size(), 1u);
}

TEST(HttpTransport, TellsWhyThereIsNoAnswer) {
  const auto nobody = make_http_transport({.url = "http://127.0.0.1:1"});
  EXPECT_EQ(nobody->send({}).error().kind, ErrorKind::kUnreachable);
  const auto nonsense = make_http_transport({.url = "ftp://127.0.0.1"});
  EXPECT_EQ(nonsense->send({}).error().kind, ErrorKind::kBadArgument);
}

// On a reused connection, bytes after the end of an answer look like such an answer.
TEST(HttpTransport, AnAnswerThatIsNotHttpIsABadAnswer) {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  ASSERT_EQ(bind(listener, reinterpret_cast<sockaddr*>(&address), size), 0);
  ASSERT_EQ(listen(listener, 1), 0);
  ASSERT_EQ(getsockname(listener, reinterpret_cast<sockaddr*>(&address), &size), 0);
  std::thread server([listener] {
    const int connection = accept(listener, nullptr, nullptr);
    char request[4'096];
    EXPECT_GT(read(connection, request, sizeof request), 0);
    EXPECT_EQ(write(connection, "why\n", 4), 4);
    close(connection);
  });
  const auto transport =
      make_http_transport({.url = fmt::format("http://127.0.0.1:{}", ntohs(address.sin_port))});
  const auto answer = transport->send({});
  server.join();
  close(listener);
  ASSERT_FALSE(answer);
  EXPECT_EQ(answer.error().kind, ErrorKind::kBadAnswer) << answer.error().message;
}

}  // namespace
}  // namespace millrace::sdk
