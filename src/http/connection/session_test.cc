// The session on a real socket, against a gateway that answers as told.
#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "http/testing.h"

namespace millrace::http {
namespace {

using std::chrono::milliseconds;

core::Job job_named(std::string_view payload) {
  core::Job job;
  job.id = *parse_job_id("01890a5d-ac96-774b-bcce-b302099a8057");
  job.queue = SharedBytes("mail");
  job.type = SharedBytes("email.send");
  job.payload = SharedBytes(payload);
  job.max_attempts = 5;
  job.retry = core::default_retry_policy();
  job.lease = Duration{30'000};
  return job;
}

// Every submission makes the job above; every look-up of a queue finds none.
std::optional<engine::Answer> submit_succeeds(const engine::Request& request) {
  const auto* command = std::get_if<core::Command>(&request);
  if (command == nullptr) return std::nullopt;
  if (const auto* enqueue = std::get_if<core::Enqueue>(command)) {
    core::EnqueueReply reply;
    for (const core::JobSpec& spec : enqueue->jobs) {
      core::EnqueueReply::Item item;
      item.fate = core::Fate::kCreated;
      item.id = spec.id;
      item.state = core::State::kReady;
      auto view = std::make_shared<core::JobView>();
      view->job = job_named(spec.payload.view());
      item.job = std::move(view);
      reply.items.push_back(std::move(item));
    }
    return core::Reply(std::move(reply));
  }
  if (std::holds_alternative<core::GetQueues>(*command)) return core::Reply(core::QueueReply{});
  return std::nullopt;
}

constexpr std::string_view kJob = R"({"type":"email.send","queue":"mail","payload":{"a": 1.0}})";
constexpr std::string_view kClaim = R"({"queues":["mail"],"wait_ms":30000,"worker":{"id":"w1"}})";

TEST(Session, AnswersARequestAndKeepsTheConnection) {
  TestServer server;
  server.gateway.respond_with(submit_succeeds);
  TestClient client(server);
  for (int i = 0; i < 3; ++i) {
    client.send(request("POST", "/v1/jobs?include=payload", kJob, "X-Request-Id: mine\r\n"));
    const TestResponse response = client.receive();
    EXPECT_EQ(response.status, 201);
    EXPECT_EQ(response.headers.at("content-type"), "application/json");
    EXPECT_EQ(response.headers.at("x-request-id"), "mine");
    EXPECT_EQ(response.headers.at("etag"), "\"1\"");
    EXPECT_EQ(response.headers.count("connection"), 0u);
    EXPECT_NE(response.body.find(R"("payload":{"a": 1.0})"), std::string::npos) << response.body;
  }
}

TEST(Session, ABulkCallThatIsAnsweredForFewerJobsIsAnInternalError) {
  TestServer server;
  server.gateway.respond_with([](const engine::Request&) -> std::optional<engine::Answer> {
    core::ItemsReply reply;
    reply.items.emplace_back();
    return core::Reply(reply);
  });
  TestClient client(server);
  const auto ask = [&](std::string_view ids) {
    const std::string body = R"({"action":"retry","ids":[)" + std::string(ids) + "]}";
    client.send(request("POST", "/v1/jobs/bulk", body));
    return client.receive().status;
  };
  EXPECT_EQ(ask(R"("01890a5d-ac96-774b-bcce-b302099a8057")"), 200);
  EXPECT_EQ(ask(R"("01890a5d-ac96-774b-bcce-b302099a8057",)"
                R"("01890a5d-ac96-774b-bcce-b302099a8058")"),
            500);
}

TEST(Session, AnswersTheSameWhereverTheBytesAreSplit) {
  TestServer server;
  server.gateway.respond_with(submit_succeeds);
  const std::string bytes = request("POST", "/v1/jobs", kJob);
  TestClient client(server);
  for (std::size_t split = 1; split < bytes.size(); split += 13) {
    client.send(bytes.substr(0, split));
    std::this_thread::sleep_for(milliseconds(1));
    client.send(bytes.substr(split));
    EXPECT_EQ(client.receive().status, 201) << "split at " << split;
  }
}

TEST(Session, AnswersPipelinedRequestsInOrder) {
  TestServer server;
  server.gateway.respond_with(submit_succeeds);
  TestClient client(server);
  std::string bytes;
  for (int i = 0; i < 200; ++i) {
    const std::string id = "X-Request-Id: r" + std::to_string(i) + "\r\n";
    bytes += i % 3 == 0   ? request("GET", "/livez", {}, id)
             : i % 3 == 1 ? request("POST", "/v1/jobs", kJob, id)
                          : request("GET", "/v1/nothing", {}, id);
  }
  client.send(bytes);
  for (int i = 0; i < 200; ++i) {
    const TestResponse response = client.receive();
    EXPECT_EQ(response.status, i % 3 == 0 ? 200 : i % 3 == 1 ? 201 : 404);
    EXPECT_EQ(response.headers.at("x-request-id"), "r" + std::to_string(i));
  }
}

TEST(Session, ReadsLargeAndChunkedBodies) {
  TestServer server;
  server.gateway.respond_with(submit_succeeds);
  TestClient client(server);
  const std::string payload(900'000, 'x');
  const std::string body = R"({"type":"t","payload":")" + payload + "\"}";
  client.send(request("POST", "/v1/jobs?include=payload", body));
  TestResponse response = client.receive();
  EXPECT_EQ(response.status, 201);
  EXPECT_NE(response.body.find(payload), std::string::npos);

  std::string chunked =
      request("POST", "/v1/jobs?include=payload", {}, "Transfer-Encoding: chunked\r\n");
  for (std::size_t at = 0; at < body.size(); at += 5'000) {
    const std::string chunk = body.substr(at, 5'000);
    char size[16];
    std::snprintf(size, sizeof size, "%zx\r\n", chunk.size());
    chunked += size + chunk + "\r\n";
  }
  chunked += "0\r\n\r\n";
  // Twice in one piece: the bytes after a chunked body are the next request.
  client.send(chunked + chunked);
  for (int i = 0; i < 2; ++i) {
    response = client.receive();
    EXPECT_EQ(response.status, 201);
    EXPECT_NE(response.body.find(payload), std::string::npos);
  }
}

TEST(Session, InvitesABodyThatWaitsForIt) {
  TestServer server;
  server.gateway.respond_with(submit_succeeds);
  TestClient client(server);
  const std::string bytes = request("POST", "/v1/jobs", kJob, "Expect: 100-continue\r\n");
  const std::size_t body_start = bytes.find("\r\n\r\n") + 4;
  client.send(bytes.substr(0, body_start));
  EXPECT_EQ(client.receive().status, 100);
  client.send(bytes.substr(body_start));
  EXPECT_EQ(client.receive().status, 201);
}

TEST(Session, RefusesALargeBodyBeforeItIsSent) {
  ServerOptions options;
  options.limits.body_bytes = 1'000;
  TestServer server(options);
  TestClient client(server);
  client.send("POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1001\r\n\r\n");
  const TestResponse response = client.receive();
  EXPECT_EQ(response.status, 413);
  EXPECT_EQ(response.headers.at("connection"), "close");
  EXPECT_EQ(response.headers.at("content-type"), "application/problem+json");
  EXPECT_TRUE(client.is_closed());
}

TEST(Session, ABodyThatIsSentAllTheSameDoesNotCostTheAnswer) {
  ServerOptions options;
  options.limits.body_bytes = 1'000;
  TestServer server(options);
  TestClient client(server);
  client.send(request("POST", "/v1/jobs", std::string(3'000'000, 'x')));
  EXPECT_EQ(client.receive().status, 413);
}

TEST(Session, ClosesAfterFramingErrors) {
  TestServer server;
  TestClient client(server);
  client.send(
      "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5\r\n"
      "Transfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /livez HTTP/1.1\r\nHost: localhost\r\n\r\n");
  const TestResponse response = client.receive();
  EXPECT_EQ(response.status, 400);
  EXPECT_NE(response.body.find("invalid_request"), std::string::npos);
  EXPECT_EQ(response.headers.at("connection"), "close");
  EXPECT_TRUE(client.is_closed()) << "the smuggled request is not answered";
}

TEST(Session, HeadHasTheLengthAndNoBody) {
  TestServer server;
  TestClient client(server);
  client.send(request("HEAD", "/livez"));
  const TestResponse response = client.receive(true);
  EXPECT_EQ(response.status, 200);
  EXPECT_EQ(response.headers.at("content-length"), "15");
  client.send(request("GET", "/livez"));
  EXPECT_EQ(client.receive().body, R"({"status":"ok"})");
}

TEST(Session, TimesOutSlowHeads) {
  ServerOptions options;
  options.header_timeout = Duration{3'000};  // the beginning must come in time
  TestServer server(options);
  TestClient client(server);
  client.send("GET /livez HTT");
  EXPECT_EQ(client.receive().status, 408);
  EXPECT_TRUE(client.is_closed());
}

TEST(Session, ClosesIdleConnectionsWithoutAWord) {
  ServerOptions options;
  options.idle_timeout = Duration{3'000};  // the request must come in time
  TestServer server(options);
  TestClient client(server);
  client.send(request("GET", "/livez"));
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_TRUE(client.is_closed());
}

TEST(Session, GivesUpAClaimWhoseClientHasGone) {
  TestServer server;
  TestClient client(server);
  client.send(request("POST", "/v1/claim", kClaim));
  ASSERT_TRUE(server.gateway.wait_for_requests(1));
  client.close();
  ASSERT_TRUE(server.gateway.wait_for_cancels(1));

  // The shard had already decided, so the job is given back.
  core::ClaimReply late;
  late.jobs.push_back({job_named("1")});
  late.jobs.front().job.token = LeaseToken{17};
  server.gateway.answer_oldest(core::Reply(std::move(late)));
  ASSERT_TRUE(server.gateway.wait_for_requests(2));
  const std::vector<engine::Request> requests = server.gateway.requests();
  const auto* command = std::get_if<core::Command>(&requests.back());
  ASSERT_NE(command, nullptr);
  const auto* ack = std::get_if<core::Ack>(command);
  ASSERT_NE(ack, nullptr);
  ASSERT_EQ(ack->items.size(), 1u);
  EXPECT_EQ(ack->items[0].outcome, core::AckOutcome::kReleased);
  EXPECT_EQ(ack->items[0].token, LeaseToken{17});
}

TEST(Session, GivesUpAWaitThatBeginsAfterItsClientHasGone) {
  const service::NewToken token = service::make_token({}, {});
  TestServer server({}, {{"t", token.hash, {"work"}, {"mail"}, std::nullopt}});
  TestClient client(server);
  constexpr std::string_view kPoll =
      R"({"acks":[{"id":"01890a5d-ac96-774b-bcce-b302099a8057","token":5,"outcome":"succeeded"}],)"
      R"("claim":{"queues":["mail"],"wait_ms":30000}})";
  client.send(request("POST", "/v1/workers/w1/poll", kPoll,
                      "Authorization: Bearer " + token.token + "\r\n"));
  ASSERT_TRUE(server.gateway.wait_for_requests(1));  // which queue is the job of?
  client.close();
  std::this_thread::sleep_for(milliseconds(50));
  auto view = std::make_shared<core::JobView>();
  view->job.queue = SharedBytes("mail");
  server.gateway.answer_oldest(core::Reply(core::JobReply{std::move(view), false}));
  ASSERT_TRUE(server.gateway.wait_for_requests(2)) << "the ack counts";
  EXPECT_TRUE(server.gateway.wait_for_cancels(1));
}

TEST(Session, GivesUpAClaimThatFilledTheBuffer) {
  // A connection's initial buffer size, its size for a body of known length, and a size that needs
  // a large buffer.
  for (const std::size_t size : {4'096u, 8'192u, 16'384u, 65'536u, 131'072u, 200'000u}) {
    TestServer server;
    TestClient client(server);
    const std::string head = request("POST", "/v1/claim", std::string(size, ' '));
    const std::size_t head_size = head.size() - size;
    std::string body(kClaim);
    body.resize(size - head_size, ' ');
    std::string whole = request("POST", "/v1/claim", body);
    if (whole.size() < size) {  // the length has a digit less
      body += std::string(size - whole.size(), ' ');
      whole = request("POST", "/v1/claim", body);
    }
    ASSERT_EQ(whole.size(), size);
    client.send(whole);
    ASSERT_TRUE(server.gateway.wait_for_requests(1)) << size;
    client.close();
    EXPECT_TRUE(server.gateway.wait_for_cancels(1)) << size;
  }
}

TEST(Session, AConnectionThatWasOnlyWatchedGoesOn) {
  TestServer server;
  TestClient client(server);
  std::string body(kClaim);
  body.resize(200'000, ' ');
  for (int round = 1; round <= 3; ++round) {
    client.send(request("POST", "/v1/claim", body));
    ASSERT_TRUE(server.gateway.wait_for_requests(static_cast<std::size_t>(round)));
    client.send(request("GET", "/livez"));  // ahead of the answer
    std::this_thread::sleep_for(milliseconds(20));
    server.gateway.answer_oldest(core::Reply(core::ClaimReply{}));
    EXPECT_EQ(client.receive().body, R"({"jobs":[]})");
    EXPECT_EQ(client.receive().body, R"({"status":"ok"})");
  }
}

// Hands out a job whose payload is no longer in memory; accepts any acks.
std::optional<engine::Answer> hands_out_without_payload(const engine::Request& request) {
  core::ClaimReply claim;
  claim.jobs.push_back({job_named("")});
  claim.jobs.front().job.token = LeaseToken{17};
  if (std::holds_alternative<engine::WaitingClaim>(request)) return core::Reply(std::move(claim));
  core::ItemsReply acked;
  acked.items.emplace_back();
  if (std::holds_alternative<engine::Poll>(request)) {
    engine::PollReply reply;
    reply.acks = std::move(acked);
    reply.claim = std::move(claim);
    return reply;
  }
  return core::Reply(std::move(acked));
}

TEST(Session, AClaimWhosePayloadsCantBeReadIsGivenBack) {
  TestServer server;
  server.gateway.respond_with(hands_out_without_payload);
  server.fail_reads();
  TestClient client(server);
  client.send(request("POST", "/v1/claim", kClaim));
  EXPECT_EQ(client.receive().status, 503);
  // In a poll the acks are still answered.
  constexpr std::string_view kPoll =
      R"({"acks":[{"id":"01890a5d-ac96-774b-bcce-b302099a8057","token":5,"outcome":"succeeded"}],)"
      R"("claim":{"queues":["mail"]}})";
  client.send(request("POST", "/v1/workers/w1/poll", kPoll));
  const TestResponse polled = client.receive();
  EXPECT_EQ(polled.status, 200);
  EXPECT_NE(polled.body.find(R"("jobs":[])"), std::string::npos) << polled.body;
  EXPECT_NE(polled.body.find(R"("status":200)"), std::string::npos) << polled.body;

  const std::vector<engine::Request> requests = server.gateway.requests();
  ASSERT_EQ(requests.size(), 4u);
  for (const std::size_t given_back : {1, 3}) {
    const auto* command = std::get_if<core::Command>(&requests[given_back]);
    ASSERT_NE(command, nullptr);
    const auto* ack = std::get_if<core::Ack>(command);
    ASSERT_NE(ack, nullptr);
    ASSERT_EQ(ack->items.size(), 1u);
    EXPECT_EQ(ack->items[0].outcome, core::AckOutcome::kReleased);
    EXPECT_EQ(ack->items[0].token, LeaseToken{17});
  }
}

TEST(Session, SubmissionsOfAClientThatHasGoneRunToTheirEnd) {
  TestServer server;
  TestClient client(server);
  client.send(request("POST", "/v1/jobs", kJob));
  ASSERT_TRUE(server.gateway.wait_for_requests(1));
  client.close();
  std::this_thread::sleep_for(milliseconds(50));
  server.gateway.answer_oldest(engine::Unavailable::kStorage);
  for (int i = 0; i < 3'000 && server.log().empty(); ++i) {
    std::this_thread::sleep_for(milliseconds(10));
  }
  ASSERT_EQ(server.log().size(), 1u);
  EXPECT_EQ(server.log()[0].first, 503);
}

TEST(Session, AReaderThatSleepsHoldsUpNobodyElse) {
  // Far more bytes than the kernel buffers for the client.
  TestServer server;
  server.gateway.respond_with(submit_succeeds);
  const std::string body = R"({"type":"t","payload":")" + std::string(1'000'000, 'x') + "\"}";
  TestClient sleeper(server);
  std::thread sender([&] {
    for (int i = 0; i < 16; ++i) {
      sleeper.send(request("POST", "/v1/jobs?include=payload", body));
    }
  });
  // Meanwhile others are served.
  TestClient other(server);
  for (int i = 0; i < 20; ++i) {
    other.send(request("GET", "/livez"));
    EXPECT_EQ(other.receive().status, 200);
  }
  // It finally reads, and has lost nothing.
  for (int i = 0; i < 16; ++i) EXPECT_EQ(sleeper.receive().status, 201);
  sender.join();
}

TEST(Session, RefusesWhatTheEngineRefuses) {
  TestServer server;
  server.gateway.respond_with([](const engine::Request&) -> std::optional<engine::Answer> {
    return engine::Unavailable::kDraining;
  });
  TestClient client(server);
  client.send(request("POST", "/v1/jobs", kJob));
  const TestResponse response = client.receive();
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.body.find("\"code\":\"draining\""), std::string::npos);
  EXPECT_EQ(response.headers.at("retry-after"), "5");
}

TEST(Session, LargeBodiesShareABudget) {
  ServerOptions options;
  options.bodies_bytes = 1'200'000;
  TestServer server(options);
  server.gateway.respond_with(submit_succeeds);
  const std::string job =
      R"({"type":"t","queue":"mail","payload":")" + std::string(900'000, 'x') + R"("})";
  const std::string large = request("POST", "/v1/jobs", job);
  TestClient first(server);
  first.send(large.substr(0, large.size() - 1));  // its end is still to come
  TestClient second(server);
  TestResponse refused;
  for (int i = 0; i < 100 && refused.status != 503; ++i) {  // until the first has come in
    TestClient other(server);
    other.send(large);
    refused = other.receive();
    if (refused.status != 503) std::this_thread::sleep_for(milliseconds(100));
  }
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_NE(refused.body.find("overloaded"), std::string::npos);
  second.send(request("POST", "/v1/jobs", kJob));
  EXPECT_EQ(second.receive().status, 201);  // small ones are not counted

  first.send(large.substr(large.size() - 1));
  EXPECT_EQ(first.receive().status, 201);
  // It is idle, so its memory can be used by others, again and again.
  for (int i = 0; i < 3; ++i) {
    second.send(large);
    EXPECT_EQ(second.receive().status, 201);
  }
}

TEST(Session, ConnectionsAreCapped) {
  ServerOptions options;
  options.max_connections = 2;
  TestServer server(options);
  TestClient first(server);
  TestClient second(server);
  first.send(request("GET", "/livez"));
  EXPECT_EQ(first.receive().status, 200);
  second.send(request("GET", "/livez"));
  EXPECT_EQ(second.receive().status, 200);
  TestClient third(server);
  EXPECT_TRUE(third.is_closed());
}

TEST(Server, SaysThatAPortIsTaken) {
  TestServer server;
  const Status second = server.start_another(server.port());
  ASSERT_FALSE(second);
  EXPECT_NE(second.error().message.find("127.0.0.1:" + std::to_string(server.port())),
            std::string::npos)
      << second.error().message;
  EXPECT_NE(second.error().message.find("another process"), std::string::npos);
}

TEST(Server, ClosesIdleConnectionsAndFinishesTheOthers) {
  TestServer server;
  TestClient idle(server);
  idle.send(request("GET", "/livez"));
  EXPECT_EQ(idle.receive().status, 200);
  TestClient busy(server);
  busy.send(request("POST", "/v1/jobs", kJob));
  ASSERT_TRUE(server.gateway.wait_for_requests(1));
  std::thread closer([&] { server.server().close(Duration{30'000}); });
  EXPECT_TRUE(idle.is_closed());
  server.gateway.answer_oldest(engine::Unavailable::kDraining);
  const TestResponse response = busy.receive();
  EXPECT_EQ(response.status, 503);
  EXPECT_EQ(response.headers.at("connection"), "close");
  closer.join();
}

}  // namespace
}  // namespace millrace::http
