// Access control: every route with every scope, and the queues that a token opens.
#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "http/routes.h"
#include "http/testing.h"

namespace millrace::http {
namespace {

using api::Scope;

constexpr Scope kScopes[] = {Scope::kSubmit, Scope::kWork, Scope::kRead, Scope::kOperate,
                             Scope::kAdmin};

service::NewToken token_number(std::uint8_t number) {
  std::array<std::uint8_t, 32> secret{};
  secret.fill(number);
  std::array<std::uint8_t, 6> id{};
  id.fill(number);
  return service::make_token(secret, id);
}

std::uint8_t number_of(Scope scope) { return static_cast<std::uint8_t>(scope); }

std::string bearing(const std::string& token) { return "Authorization: Bearer " + token + "\r\n"; }

// A path that matches the route's pattern.
std::string path_of(const Route& route) {
  std::string path(route.pattern);
  for (std::size_t brace = path.find('{'); brace != std::string::npos; brace = path.find('{')) {
    path.replace(brace, path.find('}') + 1 - brace, "01890a5d-ac96-774b-bcce-b302099a8057");
  }
  return path;
}

std::optional<engine::Answer> unavailable(const engine::Request&) {
  return engine::Unavailable::kStorage;
}

TEST(Access, EveryRouteWithEveryScope) {
  std::vector<service::TokenSettings> tokens;
  for (const Scope scope : kScopes) {
    const std::string name(api::name_of(scope));
    tokens.push_back({name, token_number(number_of(scope)).hash, {name}, {}, std::nullopt});
  }
  TestServer server({}, std::move(tokens));
  server.gateway.respond_with(unavailable);
  TestClient client(server);
  for (const Route& route : all_routes()) {
    const std::string path = path_of(route);
    client.send(request(api::name_of(route.method), path));
    const int without = client.receive().status;
    EXPECT_EQ(without == 401, route.scope != Scope::kNone) << path << " without a token";
    for (const Scope scope : kScopes) {
      const std::string token = token_number(number_of(scope)).token;
      client.send(request(api::name_of(route.method), path, {}, bearing(token)));
      const int status = client.receive().status;
      const bool expected = route.scope == Scope::kNone || route.scope == scope;
      EXPECT_EQ(status != 403, expected) << path << " with " << api::name_of(scope);
      EXPECT_NE(status, 401) << path;
    }
  }
}

TEST(Access, StrangersLearnNothingOfThePaths) {
  TestServer server({}, {{"t", token_number(1).hash, {"read"}, {}, std::nullopt}});
  TestClient client(server);
  for (const char* path : {"/v1/nothing", "/v1/jobs", "/dashboard", "/metrics"}) {
    client.send(request("GET", path));
    const TestResponse response = client.receive();
    EXPECT_EQ(response.status, 401) << path;
    EXPECT_EQ(response.headers.at("www-authenticate"), "Bearer");
  }
  client.send(request("GET", "/readyz?verbose"));
  EXPECT_EQ(client.receive().body, R"({"status":"ready"})");
  client.send(request("GET", "/v1/nothing", {}, bearing(token_number(1).token)));
  EXPECT_EQ(client.receive().status, 404);
}

// Every look-up finds a job in the queue "secret".
std::optional<engine::Answer> secret_job(const engine::Request& request) {
  const auto* command = std::get_if<core::Command>(&request);
  if (command == nullptr || !std::holds_alternative<core::GetJob>(*command)) {
    return engine::Unavailable::kStorage;
  }
  auto view = std::make_shared<core::JobView>();
  view->job.id = std::get<core::GetJob>(*command).id;
  view->job.queue = SharedBytes("secret");
  view->job.type = SharedBytes("t");
  view->job.payload = SharedBytes("1");
  view->job.retry = core::default_retry_policy();
  return core::Reply(core::JobReply{std::move(view), false});
}

TEST(Access, AQueueOutOfReachIsNotThere) {
  std::vector<std::string> scopes;
  for (const Scope scope : kScopes) scopes.emplace_back(api::name_of(scope));
  TestServer server({}, {{"t", token_number(1).hash, scopes, {"mail*"}, std::nullopt}});
  server.gateway.respond_with(secret_job);
  TestClient client(server);
  const std::string job = "/v1/jobs/01890a5d-ac96-774b-bcce-b302099a8057";
  const struct {
    const char* method;
    std::string target;
    const char* body;
    int status;
  } cases[] = {
      {"GET", job, "", 404},
      {"GET", job + "?wait_ms=10&until=final", "", 404},
      {"GET", job + "/attempts", "", 404},
      {"PATCH", job, R"({"priority":1})", 404},
      {"DELETE", job, "", 404},
      {"POST", job + "/cancel", "", 404},
      {"POST", job + "/retry", "", 404},
      {"POST", job + "/complete", R"({"token":1})", 404},
      {"POST", job + "/heartbeat", R"({"token":1})", 404},
      {"POST", "/v1/jobs", R"({"type":"t","queue":"secret"})", 404},
      {"POST", "/v1/claim", R"({"queues":["mail","secret"],"worker":{"id":"w"}})", 404},
      {"GET", "/v1/queues/secret", "", 404},
      {"PUT", "/v1/queues/secret", "{}", 404},
      {"POST", "/v1/queues/secret/pause", "", 404},
      {"POST", "/v1/queues/secret/purge", "", 404},
      {"POST", "/v1/workers/w/quiet", "", 403},
      // Calls about all queues.
      {"GET", "/metrics", "", 403},
      {"POST", "/v1/admin/backup", R"({"path":"/tmp/copy"})", 403},
      {"POST", "/v1/admin/nodes/n/drain", "", 403},
      {"POST", "/v1/admin/nodes/n/undrain", "", 403},
      // Allowed calls get as far as the shard.
      {"POST", "/v1/jobs", R"({"type":"t","queue":"mail.eu"})", 503},
      {"GET", "/v1/queues/mail", "", 503},
  };
  for (const auto& one : cases) {
    client.send(request(one.method, one.target, one.body, bearing(token_number(1).token)));
    EXPECT_EQ(client.receive().status, one.status) << one.method << " " << one.target;
  }
  // In a batch the other items are handled; the lease of a forbidden job is lost.
  client.send(request("POST", "/v1/ack",
                      R"({"items":[{"id":"01890a5d-ac96-774b-bcce-b302099a8057","token":1,)"
                      R"("outcome":"succeeded"}]})",
                      bearing(token_number(1).token)));
  const TestResponse acked = client.receive();
  EXPECT_EQ(acked.status, 200);
  EXPECT_NE(acked.body.find("lease_lost"), std::string::npos) << acked.body;
}

std::optional<engine::Answer> nothing_there(const engine::Request& request) {
  if (std::holds_alternative<engine::Poll>(request)) return engine::PollReply();
  return core::Reply(core::JobReply{});
}

std::optional<engine::Answer> denied_elsewhere(const engine::Request&) {
  return engine::Denied::kQueue;
}

// For a worker, "the lease is lost" is final, so a failed look-up must not be reported that way.
TEST(Access, AJobThatCantBeLookedAtIsNotOutOfReach) {
  TestServer server({}, {{"t", token_number(1).hash, {"work"}, {"mail*"}, std::nullopt}});
  TestClient client(server);
  const std::string job = "/v1/jobs/01890a5d-ac96-774b-bcce-b302099a8057";
  const std::string ack =
      R"({"id":"01890a5d-ac96-774b-bcce-b302099a8057","token":1,"outcome":"succeeded"})";
  const std::string beat = R"({"id":"01890a5d-ac96-774b-bcce-b302099a8057","token":1})";
  const std::pair<std::string, std::string> calls[] = {
      {"/v1/ack", R"({"items":[)" + ack + "]}"},
      {"/v1/heartbeat", R"({"items":[)" + beat + "]}"},
      {"/v1/workers/w1/poll", R"({"acks":[)" + ack + "]}"},
      {"/v1/workers/w1/poll", R"({"heartbeats":[)" + beat + "]}"},
      {job + "/complete", R"({"token":1})"},
  };
  // Item by item: the others are still handled.
  const auto is_told_of_silence = [&] {
    for (const auto& [target, body] : calls) {
      client.send(request("POST", target, body, bearing(token_number(1).token)));
      const std::string answer = client.receive().body;
      if (answer.find("storage_unavailable") == std::string::npos) return target + ": " + answer;
      if (answer.find("lease_lost") != std::string::npos) return target + ": " + answer;
    }
    return std::string();
  };
  server.gateway.respond_with(unavailable);
  EXPECT_EQ(is_told_of_silence(), "");
  server.gateway.respond_with(nothing_there);
  client.send(request("POST", "/v1/ack", calls[0].second, bearing(token_number(1).token)));
  EXPECT_NE(client.receive().body.find("lease_lost"), std::string::npos);
  // The node that leads its shard has looked, and reports it.
  server.gateway.respond_with(denied_elsewhere);
  client.send(request("POST", "/v1/ack", calls[0].second, bearing(token_number(1).token)));
  EXPECT_NE(client.receive().body.find("lease_lost"), std::string::npos);
  server.gateway.respond_with(nothing_there);
  server.fail_reads();
  EXPECT_EQ(is_told_of_silence(), "");
}

// Each item is refused separately, in a complete answer.
TEST(Access, AJobForWhoseLookUpThereIsNoTurnIsToldAsOneThatCantBeLookedAt) {
  TestServer server({}, {{"t", token_number(1).hash, {"work"}, {"mail*"}, std::nullopt}});
  server.gateway.respond_with(nothing_there);
  std::atomic<bool> open = false;
  server.before_fetch([&] {
    while (!open) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  });
  const std::string ack = request(
      "POST", "/v1/ack",
      R"({"items":[{"id":"01890a5d-ac96-774b-bcce-b302099a8057","token":1,"outcome":"released"}]})",
      bearing(token_number(1).token));
  // Two have a thread and 256 wait; the next ones are answered at once.
  std::vector<std::unique_ptr<TestClient>> clients;
  for (int i = 0; i < 1'000 && server.log().empty(); ++i) {
    clients.push_back(std::make_unique<TestClient>(server));
    clients.back()->send(ack);
    // The refused ones are those that came last.
    std::this_thread::sleep_for(std::chrono::milliseconds(i < 300 ? 1 : 50));
  }
  ASSERT_FALSE(server.log().empty());
  EXPECT_EQ(server.log().front().first, 200);
  TestClient last(server);
  last.send(ack);
  const TestResponse response = last.receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_TRUE(response.body.starts_with(R"({"results":[)")) << response.body;
  EXPECT_NE(response.body.find("storage_unavailable"), std::string::npos) << response.body;
  open = true;
}

TEST(Access, PagesOfOtherSitesChangeNothing) {
  TestServer open;
  TestServer closed({}, {{"t", token_number(1).hash, {"operate"}, {}, std::nullopt}});
  const struct {
    std::string fields;
    bool refused;
  } cases[] = {
      {"", false},  // a program
      {"Sec-Fetch-Site: same-origin\r\nOrigin: http://elsewhere\r\n", false},
      {"Sec-Fetch-Site: none\r\n", false},
      {"Sec-Fetch-Site: cross-site\r\n", true},
      {"Sec-Fetch-Site: same-site\r\nOrigin: http://localhost\r\n", true},
      {"sec-fetch-site: CROSS-SITE\r\n", true},
      {"Origin: http://LOCALHOST\r\n", false},
      {"Origin: http://localhost:8080\r\n", true},
      {"Origin: https://evil.example\r\n", true},
      {"Origin: null\r\n", true},
      {"Origin: localhost\r\n", true},
  };
  for (TestServer* server : {&open, &closed}) {
    server->gateway.respond_with(unavailable);
    const std::string token = server == &open ? "" : bearing(token_number(1).token);
    TestClient client(*server);
    for (const auto& one : cases) {
      client.send(request("POST", "/v1/queues/mail/purge", "{}", token + one.fields));
      EXPECT_EQ(client.receive().status, one.refused ? 403 : 503) << one.fields;
      client.send(request("DELETE", "/v1/nothing", "", token + one.fields));
      EXPECT_EQ(client.receive().status, one.refused ? 403 : 404) << one.fields;
      client.send(request("GET", "/livez", "", token + one.fields));
      EXPECT_EQ(client.receive().status, 200) << one.fields;
    }
  }
  EXPECT_EQ(open.gateway.requests().size(), 4u) << "of what was refused nothing was asked";
}

TEST(Access, WithoutTokensTheServerAnswersToLocalNamesOnly) {
  TestServer open;
  TestServer closed({}, {{"t", token_number(1).hash, {"read"}, {}, std::nullopt}});
  const std::pair<const char*, bool> hosts[] = {
      {"localhost", true},
      {"LocalHost:7600", true},
      {"127.0.0.1:7600", true},
      {"127.9.9.9", true},
      {"[::1]:7600", true},
      {"[::1]", true},
      {"evil.example", false},
      {"evil.example:7600", false},
      {"localhost.evil.example", false},
      {"127.0.0.1.nip.io", false},
      {"10.0.0.1:7600", false},
      {"[2001:db8::1]", false},
      {"::1", false},
      {"[127.0.0.1]", false},
      {"t", false},
  };
  for (const auto& [host, local] : hosts) {
    const std::string get = "GET /livez HTTP/1.1\r\nHost: " + std::string(host) + "\r\n\r\n";
    TestClient client(open);
    client.send(get);
    const TestResponse response = client.receive();
    EXPECT_EQ(response.status, local ? 200 : 403) << host;
    if (!local) EXPECT_NE(response.body.find("Host: localhost"), std::string::npos);
    TestClient other(closed);
    other.send(get);
    EXPECT_EQ(other.receive().status, 200) << host;
  }
  TestClient old(open);
  old.send("GET /livez HTTP/1.0\r\n\r\n");
  EXPECT_EQ(old.receive().status, 200) << "no browser is so old";
}

// The job known by secret_job(), in an open queue.
std::optional<engine::Answer> failed_job(const engine::Request& request) {
  auto answer = secret_job(request);
  if (auto* const reply = std::get_if<core::Reply>(&*answer)) {
    auto view = std::make_shared<core::JobView>(*std::get<core::JobReply>(*reply).job);
    view->job.queue = SharedBytes("mail");
    view->job.payload = SharedBytes(R"("hidden")");
    core::JobError error;
    error.type = SharedBytes("Oops");
    error.message = error.stack = SharedBytes("hidden");
    view->job.last_error = std::make_shared<const core::JobError>(error);
    core::Progress progress;
    progress.checkpoint = SharedBytes(R"("hidden")");
    view->job.progress = std::make_shared<const core::Progress>(progress);
    *reply = core::JobReply{std::move(view), false};
  }
  return answer;
}

TEST(Access, WithoutTheScopePayloadWhatWasWrittenIsLeftOut) {
  service::TokenSettings blind{"blind", token_number(1).hash, {"read"}, {}, std::nullopt};
  blind.sees_payloads = false;
  TestServer server({}, {blind, {"sees", token_number(2).hash, {"read"}, {}, std::nullopt}});
  server.gateway.respond_with(failed_job);
  TestClient client(server);
  const std::string job = "/v1/jobs/01890a5d-ac96-774b-bcce-b302099a8057?include=payload";
  client.send(request("GET", job, {}, bearing(token_number(2).token)));
  const std::string seen = client.receive().body;
  EXPECT_NE(seen.find(R"("payload":"hidden")"), std::string::npos) << seen;
  EXPECT_EQ(seen.find("redacted"), std::string::npos) << seen;
  client.send(request("GET", job, {}, bearing(token_number(1).token)));
  const std::string left = client.receive().body;
  EXPECT_EQ(left.find("hidden"), std::string::npos) << left;
  EXPECT_EQ(left.find("payload"), std::string::npos) << left;
  EXPECT_NE(left.find(R"("redacted":true)"), std::string::npos) << left;
  EXPECT_NE(left.find(R"("type":"Oops","message":"","stack":null)"), std::string::npos) << left;
}

TEST(Access, WhoKeepsFailingIsToldToWait) {
  ServerOptions options;
  options.failed_logins_per_minute = 5;
  TestServer server(options, {{"t", token_number(1).hash, {"read"}, {}, std::nullopt}});
  TestClient client(server);
  const auto status_with = [&](const std::string& token) {
    client.send(request("GET", "/v1/openapi.json", {}, bearing(token)));
    const TestResponse response = client.receive();
    EXPECT_EQ(response.headers.contains("retry-after"), response.status == 429);
    return response.status;
  };
  EXPECT_EQ(status_with(token_number(1).token), 200);
  for (int i = 0; i < 5; ++i) EXPECT_EQ(status_with(token_number(9).token), 401) << i;
  EXPECT_EQ(status_with(token_number(9).token), 429);
  EXPECT_EQ(status_with("nonsense"), 429);
  EXPECT_EQ(status_with(token_number(1).token), 200) << "a good one is let in all the while";
  client.send(request("GET", "/v1/openapi.json"));
  EXPECT_EQ(client.receive().status, 401) << "who sends none has not guessed";
  server.server().set_failed_logins_per_minute(60'000);
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(status_with(token_number(9).token), 401);
}

}  // namespace
}  // namespace millrace::http
