// Sessions and connections between nodes on a stream that carries as little as possible at a time:
// they rely only on the promises of net::ByteStream.
#include <gtest/gtest.h>

#include "http/peer/peer_testing.h"
#include "http/testing.h"
#include "net/testing.h"
#include "service/answer_port.h"

namespace millrace::http {
namespace {

TestWiring trickling() {
  TestWiring wiring;
  wiring.make_stream = net::make_trickle_stream;
  return wiring;
}

// One job with this payload for every claim.
std::optional<engine::Answer> hand_out(const std::string& payload) {
  core::ClaimReply reply;
  core::Job& job = reply.jobs.emplace_back().job;
  job.id = *parse_job_id("01890a5d-ac96-774b-bcce-b302099a8057");
  job.token = LeaseToken{5};
  job.queue = SharedBytes("mail");
  job.type = SharedBytes("t");
  job.payload = SharedBytes(payload);
  job.retry = core::default_retry_policy();
  return core::Reply(std::move(reply));
}

constexpr std::string_view kClaim = R"({"queues":["mail"],"wait_ms":30000,"worker":{"id":"w1"}})";

TEST(Trickle, PipelinedRequestsAreAnsweredInOrder) {
  TestServer server({}, {}, trickling());
  TestClient client(server);
  const std::string two = request("GET", "/livez") + request("GET", "/nowhere");
  client.send(two + request("GET", "/livez"));
  EXPECT_EQ(client.receive().status, 200);
  EXPECT_EQ(client.receive().status, 404);
  EXPECT_EQ(client.receive().status, 200);
}

TEST(Trickle, AChunkedBodyAndALargeAnswerComeWhole) {
  TestServer server({}, {}, trickling());
  const std::string payload = '"' + std::string(100'000, 'x') + '"';
  server.gateway.respond_with([&](const engine::Request&) { return hand_out(payload); });
  TestClient client(server);
  client.send(
      "POST /v1/claim HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
      "Transfer-Encoding: chunked\r\n\r\n38\r\n" +
      std::string(kClaim) + "\r\n0\r\n\r\n");
  const TestResponse response = client.receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find(payload), std::string::npos);
}

TEST(Trickle, AClaimIsGivenUpWhenItsClientGoes) {
  TestServer server({}, {}, trickling());
  TestClient client(server);
  client.send(request("POST", "/v1/claim", kClaim));
  ASSERT_TRUE(server.gateway.wait_for_requests(1));
  client.close();
  EXPECT_TRUE(server.gateway.wait_for_cancels(1));
}

TEST(Trickle, WhoIsRefusedReadsWhyBeforeTheEnd) {
  TestServer server({}, {}, trickling());
  TestClient client(server);
  client.send("GET / HTTP/1.1\nHost: localhost\r\n\r\n");
  EXPECT_EQ(client.receive().status, 400);
  EXPECT_TRUE(client.is_closed());
}

TEST(Trickle, AnotherNodeAsksAndIsAnswered) {
  KeepingLog log;
  OneShard service;
  TestWiring wiring = trickling();
  wiring.peers.emplace(service, std::string(kTestSecret), log.logger(), patient_timing());
  TestServer server({}, {}, std::move(wiring));
  const std::string payload(10'000, '7');
  service.gateway.respond_with([&](const engine::Request&) { return hand_out(payload); });
  const PeerClientOptions options = quick_options();
  KeepingPort port;
  PeerClient client(options, {std::string(kTestSecret), real_clock(), log.logger(), 1});
  engine::WaitingClaim claim;
  claim.claim.queues.emplace_back("mail");
  const std::string url = "http://127.0.0.1:" + std::to_string(server.port());
  client.ask({url, 0}, claim, {}, port, engine::Ticket{1});
  auto answer = port.wait_for(1);
  ASSERT_TRUE(answer);
  const core::ClaimReply* const given = service::claim_in(*answer);
  ASSERT_NE(given, nullptr);
  EXPECT_EQ(given->jobs.front().job.payload.view(), payload);
}

}  // namespace
}  // namespace millrace::http
