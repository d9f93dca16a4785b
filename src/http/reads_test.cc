// Reads, and callers that wait for something else meanwhile.
#include <gtest/gtest.h>

#include <chrono>
#include <latch>
#include <semaphore>
#include <thread>

#include "http/testing.h"
#include "store/testing/jobs.h"

namespace millrace::http {
namespace {

using namespace std::chrono_literals;

constexpr std::string_view kList = "/v1/jobs?limit=1";

// Controls the searches: each waits until it is released, or its client has gone.
class Searches {
 public:
  explicit Searches(TestServer& server) {
    server.before_list([this](const store::ReadBudget& budget) {
      ++begun_;
      const auto give_up = std::chrono::steady_clock::now() + 60s;
      while (!open_ && !budget.gone.stop_requested() &&
             std::chrono::steady_clock::now() < give_up) {
        std::this_thread::sleep_for(1ms);
      }
      if (budget.gone.stop_requested()) ++stopped_;
    });
  }
  ~Searches() { open_ = true; }

  void let_go() { open_ = true; }
  // Waits for this many; false after thirty seconds.
  bool begun(int count) const { return reaches(begun_, count); }
  bool stopped(int count) const { return reaches(stopped_, count); }
  int begun_so_far() const { return begun_; }

 private:
  static bool reaches(const std::atomic<int>& value, int count) {
    for (int i = 0; i < 30'000 && value < count; ++i) std::this_thread::sleep_for(1ms);
    return value >= count;
  }

  std::atomic<bool> open_ = false;
  std::atomic<int> begun_ = 0;
  std::atomic<int> stopped_ = 0;
};

TEST(Reads, ASearchWhoseClientHasGoneStops) {
  TestServer server;
  Searches searches(server);
  {
    TestClient client(server);
    client.send(request("GET", kList));
    ASSERT_TRUE(searches.begun(1));
  }
  EXPECT_TRUE(searches.stopped(1));
}

TEST(Reads, SearchesThatWaitForAThreadAreForgottenWithTheirClients) {
  TestServer server;
  Searches searches(server);
  TestClient first(server);
  first.send(request("GET", kList));
  TestClient second(server);
  second.send(request("GET", kList));
  ASSERT_TRUE(searches.begun(2)) << "half of the threads, which is this address's share";
  for (int i = 0; i < 200; ++i) {
    TestClient gone(server);
    gone.send(request("GET", kList));
  }
  TestClient patient(server);
  patient.send(request("GET", kList));
  for (int i = 0; i < 30'000 && server.log().size() < 200; ++i) std::this_thread::sleep_for(1ms);
  EXPECT_EQ(server.log().size(), 200u);
  EXPECT_EQ(server.log().front().second, "client_gone");
  searches.let_go();
  EXPECT_EQ(first.receive().status, 200);
  EXPECT_EQ(second.receive().status, 200);
  EXPECT_EQ(patient.receive().status, 200);
  EXPECT_EQ(searches.begun_so_far(), 3);
}

// Many matches, or few among many rows: no count is completed in the time of one read.
TEST(Reads, ADryRunGoesOnRoundByRound) {
  TestServer server;
  server.gateway.respond_with(
      [](const engine::Request&) -> std::optional<engine::Answer> { return std::monostate{}; });
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 25; ++ord) {
    jobs.push_back(store::make_job(ord, ord % 5 == 0 ? "other" : "mail"));
  }
  store::Flusher flusher;
  ASSERT_TRUE(flusher.flush(server.tables(0), jobs));
  server.search_slowly(3);
  TestClient client(server);
  client.send(request("POST", "/v1/jobs/bulk",
                      R"({"action":"cancel","filter":{"queue":"mail"},"dry_run":true})"));
  const TestResponse response = client.receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find(R"("matched":20)"), std::string::npos) << response.body;
  EXPECT_EQ(server.gateway.requests().size(), 1U) << "nothing but that the tables catch up";
}

TEST(Reads, AClientThatPipelinesIsSeenToGoToo) {
  TestServer server;
  Searches searches(server);
  {
    TestClient client(server);
    client.send(request("GET", kList) + request("GET", kList));
    ASSERT_TRUE(searches.begun(1));
  }
  EXPECT_TRUE(searches.stopped(1));
}

TEST(Reads, TooManyOfOneClientAreRefused) {
  TestServer server;
  Searches searches(server);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 2 + 256; ++i) {
    clients.push_back(std::make_unique<TestClient>(server));
    clients.back()->send(request("GET", kList));
    if (i == 1) ASSERT_TRUE(searches.begun(2));
  }
  TestResponse refused;
  for (int i = 0; i < 500 && refused.status != 503; ++i) {  // until all others have come in
    clients.push_back(std::make_unique<TestClient>(server));
    clients.back()->send(request("GET", kList));
    std::this_thread::sleep_for(20ms);
    for (const auto& [status, problem] : server.log()) refused.status = status;
  }
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(server.log().front().second, "overloaded");
  TestClient other(server);
  other.send(request("GET", "/metrics"));
  EXPECT_EQ(other.receive().status, 200) << "metrics have a turn of their own";
}

// Hands out two jobs, one without its payload in memory; accepts any acks.
std::optional<engine::Answer> hands_out(const engine::Request& request, Duration lease) {
  if (std::holds_alternative<engine::WaitingClaim>(request)) {
    core::ClaimReply claim;
    core::Job& job = claim.jobs.emplace_back().job;
    job.id = *parse_job_id("01890a5d-ac96-774b-bcce-b302099a8057");
    job.queue = SharedBytes("mail");
    job.type = SharedBytes("t");
    job.retry = core::default_retry_policy();
    job.token = LeaseToken{17};
    job.lease_given = lease;
    claim.jobs.push_back(claim.jobs.front());
    claim.jobs.back().job.payload = SharedBytes("1");  // of this one it has not
    return core::Reply(std::move(claim));
  }
  core::ItemsReply acked;
  acked.items.emplace_back();
  return core::Reply(std::move(acked));
}

std::optional<engine::Answer> hands_out_for_a_second(const engine::Request& request) {
  return hands_out(request, Duration{1'000});
}
std::optional<engine::Answer> hands_out_for_an_hour(const engine::Request& request) {
  return hands_out(request, Duration{3'600'000});
}

constexpr std::string_view kClaim = R"({"queues":["mail"],"worker":{"id":"w1"}})";

TEST(Reads, AClaimThatTookMostOfItsLeaseIsGivenBack) {
  TestServer server;
  server.gateway.respond_with(hands_out_for_a_second);
  server.before_fetch([] { std::this_thread::sleep_for(600ms); });
  TestClient client(server);
  client.send(request("POST", "/v1/claim", kClaim));
  const TestResponse response = client.receive();
  EXPECT_EQ(response.status, 503);
  EXPECT_NE(response.body.find("gave the jobs back"), std::string::npos) << response.body;
  const std::vector<engine::Request> requests = server.gateway.requests();
  ASSERT_EQ(requests.size(), 2u);
  const auto& command = std::get<core::Command>(requests.back());
  // The tables lack the other job: it has been deleted, and its lease with it.
  ASSERT_EQ(std::get<core::Ack>(command).items.size(), 1u);
  const core::AckItem& released = std::get<core::Ack>(command).items.at(0);
  EXPECT_EQ(released.outcome, core::AckOutcome::kReleased);
  EXPECT_EQ(released.token, LeaseToken{17});
}

TEST(Reads, AClaimWhoseClientWentMeanwhileIsGivenBack) {
  TestServer server;
  server.gateway.respond_with(hands_out_for_a_second);
  std::latch gone(1);
  server.before_fetch([&] { gone.wait(); });
  {
    TestClient client(server);
    client.send(request("POST", "/v1/claim", kClaim));
    ASSERT_TRUE(server.gateway.wait_for_requests(1));
  }
  std::this_thread::sleep_for(100ms);
  gone.count_down();
  ASSERT_TRUE(server.gateway.wait_for_requests(2));
  const std::vector<engine::Request> requests = server.gateway.requests();
  const auto& command = std::get<core::Command>(requests.back());
  EXPECT_EQ(std::get<core::Ack>(command).items.at(0).outcome, core::AckOutcome::kReleased);
}

TEST(Reads, AClaimsPayloadsWaitForNoSearch) {
  TestServer server;
  server.gateway.respond_with(hands_out_for_an_hour);
  Searches searches(server);
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 20; ++i) {
    clients.push_back(std::make_unique<TestClient>(server));
    clients.back()->send(request("GET", kList));
  }
  ASSERT_TRUE(searches.begun(2));
  TestClient worker(server);
  worker.send(request("POST", "/v1/claim", kClaim));
  EXPECT_EQ(worker.receive().status, 200);
}

TEST(Reads, AWaitForEventsEndsAtAStop) {
  TestServer server;
  server.gateway.respond_with([](const engine::Request&) -> std::optional<engine::Answer> {
    return engine::Unavailable::kDraining;
  });
  TestClient client(server);
  client.send(request("GET", "/v1/events?wait_ms=60000"));
  const TestResponse response = client.receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find(R"("items":[])"), std::string::npos) << response.body;
  EXPECT_EQ(server.gateway.requests().size(), 1u) << "it is not asked again and again";
}

// A job whose answer is larger than any request may be.
std::optional<engine::Answer> large_job(const engine::Request& asked) {
  const auto* command = std::get_if<core::Command>(&asked);
  const auto* get = command == nullptr ? nullptr : std::get_if<core::GetJob>(command);
  if (get == nullptr) return std::nullopt;
  auto view = std::make_shared<core::JobView>();
  view->job.id = get->id;
  view->job.queue = SharedBytes("mail");
  view->job.type = SharedBytes("t");
  view->job.retry = core::default_retry_policy();
  view->job.payload = SharedBytes('"' + std::string(12'000'000, 'x') + '"');
  return core::Reply(core::JobReply{std::move(view), false});
}

TEST(Reads, LargeAnswersShareABudgetAndWhoDoesNotReadIsClosed) {
  ServerOptions options;
  options.answers_bytes = 20'000'000;
  options.transfer_grace = Duration{3'000};  // until then it holds what the other lacks
  TestServer server(options);
  server.gateway.respond_with(large_job);
  const std::string get =
      request("GET", "/v1/jobs/01890a5d-ac96-774b-bcce-b302099a8057?include=payload");
  TestClient silent(server);
  silent.send(get);
  ASSERT_EQ(silent.receive(true).status, 200);  // and no more of it
  TestClient reader(server);
  reader.send(get);
  const TestResponse refused = reader.receive();
  EXPECT_EQ(refused.status, 503);
  EXPECT_EQ(refused.headers.at("retry-after"), "1");
  EXPECT_NE(refused.body.find("overloaded"), std::string::npos);
  reader.send(request("GET", "/livez"));
  const TestResponse small = reader.receive();
  EXPECT_EQ(small.status, 200) << "small ones are not counted: " << small.body;
  // It is cut off, and its memory is available to others.
  TestResponse taken;
  for (int i = 0; i < 600 && taken.status != 200; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    reader.send(get);
    taken = reader.receive();
  }
  EXPECT_EQ(taken.status, 200);
  EXPECT_GT(taken.body.size(), 12'000'000u);
  EXPECT_LT(silent.receive_bytes(12'000'000).size(), 12'000'000u) << "it got the beginning alone";
}

}  // namespace
}  // namespace millrace::http
