// Answering: a real server, with a real or a simulated client.
#include <gtest/gtest.h>

#include <future>
#include <thread>

#include "engine/wire/request_codec.h"
#include "http/peer/peer_proof.h"
#include "http/peer/peer_testing.h"

namespace millrace::http {
namespace {

using engine::Denied;
using engine::Unavailable;

constexpr std::string_view kJob = "01890a5d-ac96-774b-bcce-b302099a8057";

service::NewToken token_number(std::uint8_t number) {
  std::array<std::uint8_t, 32> secret{};
  secret.fill(number);
  std::array<std::uint8_t, 6> id{};
  id.fill(number);
  return service::make_token(secret, id);
}
std::string bearer(std::uint8_t number) { return "Bearer " + token_number(number).token; }

template <typename T>
T in(const std::optional<engine::Answer>& answer) {
  const T* value = answer ? std::get_if<T>(&*answer) : nullptr;
  EXPECT_NE(value, nullptr);
  return value == nullptr ? T{} : *value;
}

PeerClientOptions options_of(PeerTiming timing) {
  PeerClientOptions options = quick_options();
  options.timing = timing;
  return options;
}

// A node with shard 0, and a client that sends it requests.
struct Nodes {
  explicit Nodes(std::vector<service::TokenSettings> tokens = {},
                 std::string_view secret = kTestSecret, PeerTiming timing = patient_timing())
      : server({}, std::move(tokens),
               {nullptr, PeerParts{service, std::string(kTestSecret), log.logger(), timing}}),
        client(options_of(timing), {std::string(secret), real_clock(), log.logger(), 1}) {}

  std::string url() const { return "http://127.0.0.1:" + std::to_string(server.port()); }
  std::optional<engine::Answer> ask(engine::Request request, std::string_view credentials = {},
                                    std::uint32_t shard = 0) {
    begin(std::move(request), credentials, shard);
    return port.wait_for(last_ticket);
  }
  void begin(engine::Request request, std::string_view credentials = {}, std::uint32_t shard = 0) {
    client.ask({url(), shard}, std::move(request), credentials, port,
               engine::Ticket{++last_ticket});
  }

  KeepingLog log;
  OneShard service;
  TestServer server;
  KeepingPort port;
  std::uint64_t last_ticket = 0;
  PeerClient client;
};

engine::WaitingClaim claim_of(std::string_view queue) {
  engine::WaitingClaim claim;
  claim.claim.queues.emplace_back(queue);
  return claim;
}

core::ClaimReply one_job(std::string_view payload = "1") {
  core::ClaimReply reply;
  reply.jobs.resize(1);
  core::Job& job = reply.jobs[0].job;
  job.id = *parse_job_id(kJob);
  job.token = LeaseToken{5};
  job.queue = SharedBytes("mail");
  job.type = SharedBytes("t");
  job.payload = SharedBytes(payload);
  job.retry = core::default_retry_policy();
  return reply;
}

std::optional<engine::Answer> hands_out(const engine::Request&) { return core::Reply(one_job()); }

// --- Access.

TEST(PeerDoor, IsThereOnlyWhereThereAreOtherNodes) {
  TestServer server;
  TestClient client(server);
  EXPECT_FALSE(upgrade(client));
  EXPECT_EQ(server.log().back().first, 404);
}

TEST(PeerDoor, TakesNothingButItsOwnUpgrade) {
  Nodes nodes;
  for (const char* fields : {"", "Upgrade: websocket\r\n", "Upgrade: millrace-peer/2\r\n"}) {
    TestClient client(nodes.server);
    client.send(request("GET", "/internal/v1/peer", {}, fields));
    EXPECT_EQ(client.receive().status, 400) << fields;
  }
  TestClient head(nodes.server);
  head.send(request("HEAD", "/internal/v1/peer", {}, "Upgrade: millrace-peer/1\r\n"));
  EXPECT_EQ(head.receive(true).status, 400);
}

TEST(PeerDoor, AnsweredByTheProtocolItself) {
  Nodes nodes;
  TestClient client(nodes.server);
  client.send(request("GET", "/internal/v1/peer", {}, "Upgrade: millrace-peer/1\r\n"));
  const TestResponse response = client.receive();
  EXPECT_EQ(response.status, 101);
  EXPECT_EQ(response.headers.at("upgrade"), "millrace-peer/1");
  EXPECT_EQ(response.headers.at("connection"), "Upgrade");
  EXPECT_FALSE(response.headers.contains("content-length"));
  EXPECT_EQ(receive_frame(client).kind, FrameKind::kChallenge);
}

TEST(PeerDoor, AWrongSecretIsTurnedAway) {
  Nodes nodes({}, "another secret");
  nodes.service.gateway.respond_with(hands_out);
  EXPECT_EQ(in<Unavailable>(nodes.ask(claim_of("mail"))), Unavailable::kNoLeader);
  EXPECT_TRUE(nodes.log.wait_for("this node refused another node"));
  for (int i = 0; i < 5; ++i) {
    TestClient client(nodes.server);
    ASSERT_TRUE(upgrade(client));
    EXPECT_FALSE(prove(client, "a third"));
    EXPECT_TRUE(client.is_closed());
  }
  EXPECT_EQ(nodes.log.count("this node refused another node"), 1u)
      << "seldom, however often they come";
  EXPECT_TRUE(nodes.service.gateway.requests().empty());
}

TEST(PeerDoor, NothingIsReadBeforeTheProof) {
  const std::string ask = ask_body(claim_of("mail"));
  const struct {
    FrameKind kind;
    std::string body;
  } cases[] = {
      {FrameKind::kAsk, ask.substr(0, 20)},
      {FrameKind::kAsk, ask},
      {FrameKind::kPing, ""},
      {FrameKind::kProof, std::string(63, '\0')},
      {FrameKind::kProof, std::string(64, '\0')},
      {FrameKind::kProof, std::string(65, '\0')},  // one byte beyond what is read at all
      {FrameKind::kProven, std::string(32, '\0')},
      {FrameKind::kGiveShard, give_shard_body({0, 7, Epoch{1}})},
  };
  Nodes nodes;
  nodes.service.gateway.respond_with(hands_out);
  for (const auto& one : cases) {
    TestClient client(nodes.server);
    ASSERT_TRUE(upgrade(client));
    ASSERT_EQ(receive_frame(client).kind, FrameKind::kChallenge);
    send_frame(client, one.kind, 1, one.body);
    EXPECT_TRUE(client.is_closed()) << static_cast<int>(one.kind) << " " << one.body.size();
  }
  EXPECT_TRUE(nodes.service.gateway.requests().empty());
  EXPECT_EQ(nodes.service.given_epoch, Epoch{});
}

// One side's proof can't be sent back to it or used on another connection.
TEST(PeerDoor, AProofIsGoodForOnce) {
  Nodes nodes;
  TestClient first(nodes.server);
  ASSERT_TRUE(upgrade(first));
  const std::string challenge = receive_frame(first).body;
  PeerNonce answerer{};
  challenge.copy(reinterpret_cast<char*>(answerer.data()), answerer.size());
  const PeerNonce asker = make_peer_nonce();
  const PeerMac mac = peer_proof(kTestSecret, PeerRole::kAsker, answerer, asker);
  const PeerMac other_role = peer_proof(kTestSecret, PeerRole::kAnswerer, answerer, asker);
  TestClient second(nodes.server);
  ASSERT_TRUE(upgrade(second));
  receive_frame(second);
  send_frame(second, FrameKind::kProof, 0, std::string(as_text(asker)).append(as_text(mac)));
  EXPECT_TRUE(second.is_closed());
  send_frame(first, FrameKind::kProof, 0, std::string(as_text(asker)).append(as_text(other_role)));
  EXPECT_TRUE(first.is_closed());
}

TEST(PeerDoor, WhoFallsSilentIsCutOff) {
  Nodes nodes({}, kTestSecret, quick_timing());
  TestClient silent(nodes.server);
  ASSERT_TRUE(upgrade(silent));
  ASSERT_TRUE(prove(silent, kTestSecret));
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_TRUE(ends(silent));
  EXPECT_GE(std::chrono::steady_clock::now() - begin, quick_timing().silence / 2);
  EXPECT_TRUE(nodes.log.wait_for("the other node sent nothing in time"));
}

TEST(PeerDoor, WhatMakesNoSenseEndsTheConnection) {
  Nodes nodes;
  std::string head;  // of a frame one byte too long
  append_frame(head, FrameKind::kAsk, 1);
  const auto length = static_cast<std::uint32_t>(kMaxFrameBytes + 1);
  for (std::size_t i = 0; i < 4; ++i) head[i] = static_cast<char>(length >> (8 * i));
  std::string answer;
  append_frame(answer, FrameKind::kAnswer, 1, {"x"});
  std::string nobodys;
  append_frame(nobodys, FrameKind::kAsk, 0, {ask_body(engine::ListWorkers{})});
  std::string short_ask;
  append_frame(short_ask, FrameKind::kAsk, 1, {std::string_view("\0\0\0\0\xff\xff", 6)});
  std::string twice;
  append_frame(twice, FrameKind::kAsk, 1, {ask_body(claim_of("mail"))});
  twice += twice;
  std::string give;
  append_frame(give, FrameKind::kGiveShard, 1, {"short"});
  for (const std::string& bytes :
       {head, answer, nobodys, short_ask, twice, give, std::string("GET / HTTP/1.1\r\n\r\n")}) {
    TestClient client(nodes.server);
    ASSERT_TRUE(upgrade(client));
    ASSERT_TRUE(prove(client, kTestSecret));
    client.send(bytes);
    EXPECT_TRUE(ends(client)) << bytes.size();
  }
}

// A newer node's frame: its other requests are not affected.
TEST(PeerDoor, WhatIsNotUnderstoodIsRefusedForItselfAlone) {
  Nodes nodes;
  nodes.service.gateway.respond_with(hands_out);
  for (const std::string level : {"", "1", "2"}) {
    TestClient client(nodes.server);
    ASSERT_TRUE(upgrade(client, level));
    ASSERT_TRUE(prove(client, kTestSecret));
    const auto kind_of_tomorrow = static_cast<FrameKind>(static_cast<int>(FrameKind::kGiven) + 1);
    send_frame(client, kind_of_tomorrow, 0, "needs no answer");
    send_frame(client, kind_of_tomorrow, 1, "needs one");
    send_frame(client, FrameKind::kAsk, 2, std::string(6, '\0') + "not a request");
    send_frame(client, FrameKind::kAsk, 3, ask_body(claim_of("mail")));
    for (std::uint64_t number : {1, 2}) {
      const ReceivedFrame answer = receive_frame(client);
      EXPECT_EQ(answer.kind, FrameKind::kAnswer);
      EXPECT_EQ(answer.number, number);
      const auto read = engine::decode_answer(answer.body);
      ASSERT_TRUE(read && std::holds_alternative<Unavailable>(*read));
      EXPECT_EQ(std::get<Unavailable>(*read), Unavailable::kUpgrading);
    }
    const ReceivedFrame answer = receive_frame(client);
    EXPECT_EQ(answer.number, 3U);
    const auto read = engine::decode_answer(answer.body);
    ASSERT_TRUE(read);
    EXPECT_TRUE(std::holds_alternative<core::Reply>(*read));
  }
}

// --- Requests.

TEST(PeerAsks, AreAnsweredByTheShard) {
  Nodes nodes;
  nodes.service.gateway.respond_with(hands_out);
  const auto reply = in<core::Reply>(nodes.ask(claim_of("mail"), "Bearer x"));
  ASSERT_TRUE(std::holds_alternative<core::ClaimReply>(reply));
  EXPECT_EQ(std::get<core::ClaimReply>(reply).jobs.at(0).job.payload.view(), "1");
  EXPECT_EQ(nodes.service.gateway.credentials().back(), "Bearer x");
  EXPECT_TRUE(nodes.server.gateway.requests().empty()) << "nothing goes to the router";
}

TEST(PeerAsks, OfAShardThatIsLedElsewhereAreNotPassedOn) {
  Nodes nodes;
  nodes.server.gateway.respond_with(hands_out);
  EXPECT_EQ(in<Unavailable>(nodes.ask(claim_of("mail"), {}, 1)), Unavailable::kNoLeader);
  EXPECT_TRUE(nodes.server.gateway.requests().empty());
}

TEST(PeerAsks, ManyWaitOnOneConnection) {
  Nodes nodes;
  constexpr std::size_t kMany = 500;
  for (std::size_t i = 0; i < kMany; ++i) nodes.begin(claim_of("mail"));
  ASSERT_TRUE(nodes.service.gateway.wait_for_requests(kMany));
  for (std::size_t i = 0; i < kMany; ++i) {
    nodes.service.gateway.answer_oldest(core::Reply(core::ClaimReply{}));
  }
  for (std::size_t i = 1; i <= kMany; ++i) ASSERT_TRUE(nodes.port.wait_for(i)) << i;
}

TEST(PeerAsks, ALargeAnswerComesWhole) {
  Nodes nodes;
  const std::string payload(std::size_t{3} * 1024 * 1024, '7');
  nodes.service.gateway.respond_with([&](const engine::Request&) -> std::optional<engine::Answer> {
    return core::Reply(one_job(payload));
  });
  const auto reply = in<core::Reply>(nodes.ask(claim_of("mail")));
  EXPECT_EQ(std::get<core::ClaimReply>(reply).jobs.at(0).job.payload.view(), payload);
}

// Jobs that exceed the limit of one answer are given back at once.
TEST(PeerAsks, AClaimIsCutToItsBound) {
  Nodes nodes;
  core::ClaimReply many = one_job(std::string(std::size_t{30} * 1024 * 1024, '7'));
  many.jobs.resize(4, many.jobs[0]);
  nodes.service.gateway.respond_with(
      [&](const engine::Request&) -> std::optional<engine::Answer> { return core::Reply(many); });
  const auto reply = in<core::Reply>(nodes.ask(claim_of("mail")));
  EXPECT_EQ(std::get<core::ClaimReply>(reply).jobs.size(), 2u);
  ASSERT_TRUE(nodes.server.gateway.wait_for_requests(1));
  const engine::Request released = nodes.server.gateway.requests().at(0);
  EXPECT_EQ(std::get<core::Ack>(std::get<core::Command>(released)).items.size(), 2u);
}

TEST(PeerAsks, ACancelledWaitIsGivenUpAndItsJobsGivenBack) {
  Nodes nodes;
  nodes.begin(claim_of("mail"));
  ASSERT_TRUE(nodes.service.gateway.wait_for_requests(1));
  nodes.client.cancel(nodes.port, engine::Ticket{nodes.last_ticket});
  ASSERT_TRUE(nodes.service.gateway.wait_for_cancels(1));
  nodes.service.gateway.answer_oldest(core::Reply(one_job()));
  ASSERT_TRUE(nodes.server.gateway.wait_for_requests(1));
  const engine::Request released = nodes.server.gateway.requests().at(0);
  const auto& ack = std::get<core::Ack>(std::get<core::Command>(released));
  EXPECT_EQ(ack.items.at(0).outcome, core::AckOutcome::kReleased);
  EXPECT_EQ(ack.items.at(0).token, LeaseToken{5});
  EXPECT_EQ(nodes.port.count(), 0u) << "who cancelled is told nothing";
}

TEST(PeerAsks, WaitsAreGivenUpWhenTheConnectionEnds) {
  Nodes nodes;
  TestClient client(nodes.server);
  ASSERT_TRUE(upgrade(client));
  ASSERT_TRUE(prove(client, kTestSecret));
  for (std::uint64_t number = 1; number <= 3; ++number) {
    send_frame(client, FrameKind::kAsk, number, ask_body(claim_of("mail")));
  }
  ASSERT_TRUE(nodes.service.gateway.wait_for_requests(3));
  client.close();
  EXPECT_TRUE(nodes.service.gateway.wait_for_cancels(3));
}

TEST(PeerAsks, AShardIsAskedFor) {
  Nodes nodes;
  std::promise<bool> given;
  std::promise<bool> refused;
  nodes.client.ask_for_shard({nodes.url(), 0}, 7, Epoch{12}, [&](bool ok) { given.set_value(ok); });
  EXPECT_TRUE(given.get_future().get());
  EXPECT_EQ(nodes.service.given_epoch, Epoch{12});
  nodes.client.ask_for_shard({nodes.url(), 0}, 8, Epoch{12},
                             [&](bool ok) { refused.set_value(ok); });
  EXPECT_FALSE(refused.get_future().get());
  std::promise<bool> nobody;
  nodes.client.ask_for_shard({"http://127.0.0.1:1", 0}, 7, Epoch{12},
                             [&](bool ok) { nobody.set_value(ok); });
  EXPECT_FALSE(nobody.get_future().get());
}

TEST(PeerAsks, AServerThatClosesAnswersWhatItWasAsked) {
  Nodes nodes;
  nodes.begin(claim_of("mail"));
  ASSERT_TRUE(nodes.service.gateway.wait_for_requests(1));
  std::thread closing([&] { nodes.server.server().close(Duration{20'000}); });
  // It answers nothing until it has begun to close.
  for (int i = 0; i < 100 && nodes.port.count() == 0; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    nodes.begin(claim_of("mail"));
    for (int j = 0; j < 50 && nodes.port.count() == 0; ++j) {
      std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
  }
  EXPECT_EQ(in<Unavailable>(nodes.port.wait_for(nodes.last_ticket)), Unavailable::kNoLeader);
  nodes.service.gateway.answer_oldest(core::Reply(one_job()));
  EXPECT_TRUE(std::holds_alternative<core::Reply>(*nodes.port.wait_for(1)));
  closing.join();
}

// --- The check of the client's own token.

std::vector<service::TokenSettings> test_tokens() {
  return {{"submits", token_number(1).hash, {"submit"}, {}, std::nullopt},
          {"works", token_number(2).hash, {"work"}, {}, std::nullopt},
          {"reads", token_number(3).hash, {"read"}, {}, std::nullopt},
          {"operates", token_number(4).hash, {"operate"}, {}, std::nullopt},
          {"administers", token_number(5).hash, {"admin"}, {}, std::nullopt},
          {"mail", token_number(6).hash, {"submit", "work", "read", "operate"}, {"mail*"}, {}}};
}

core::Command enqueue_to(std::string_view queue) {
  core::Enqueue enqueue;
  enqueue.jobs.resize(1);
  enqueue.jobs[0].queue = SharedBytes(queue);
  enqueue.jobs[0].payload = SharedBytes("1");
  return enqueue;
}

// The request needs two scopes.
core::Ack ack_that_submits() {
  core::Ack ack;
  ack.items.resize(1);
  ack.items[0].enqueue.resize(1);
  return ack;
}
engine::Poll poll_that_submits() {
  engine::Poll poll;
  poll.acks = ack_that_submits();
  return poll;
}

TEST(PeerTokens, EveryKindNeedsAScope) {
  Nodes nodes(test_tokens());
  nodes.service.gateway.respond_with([](const engine::Request&) -> std::optional<engine::Answer> {
    return Unavailable::kStorage;
  });
  const struct {
    engine::Request request;
    std::string scopes;  // who of s, w, r, o may
  } cases[] = {
      {enqueue_to("q"), "s"},
      {core::Command(core::Claim{}), "w"},
      {core::Command(core::Heartbeat{}), "w"},
      {core::Command(core::Ack{}), "w"},
      {core::Command(core::AppendLogs{}), "w"},
      {core::Command(core::Cancel{}), "o"},
      {core::Command(core::Retry{}), "o"},
      {core::Command(core::Edit{}), "o"},
      {core::Command(core::Delete{}), "o"},
      {core::Command(core::SetQueue{}), "o"},
      {core::Command(core::PauseQueue{}), "o"},
      {core::Command(core::ResumeQueue{}), "o"},
      {core::Command(core::DeleteQueue{}), "o"},
      {core::Command(core::NotePurge{}), "o"},
      {core::Command(core::GetJob{}), "swro"},
      {core::Command(core::GetQueues{}), "ro"},
      {engine::WaitingClaim{}, "w"},
      {engine::Poll{}, "w"},
      {engine::WatchJob{}, "r"},
      {engine::WatchJob{{}, {}, {}, LeaseToken{1}}, "w"},
      {core::Command(ack_that_submits()), ""},
      {poll_that_submits(), ""},
      {engine::FindJob{}, "swro"},
      {engine::AwaitProjection{}, "ro"},
      {engine::AwaitEvents{}, "r"},
      {engine::AwaitWork{}, "w"},
      {engine::ListWorkers{}, "r"},
      {engine::SetWorkerState{SharedBytes("w"), engine::WorkerState::kQuiet}, "o"},
  };
  for (const auto& one : cases) {
    const std::string kind = std::to_string(one.request.index());
    for (std::uint8_t number = 1; number <= 5; ++number) {
      const auto answer = nodes.ask(one.request, bearer(number));
      const bool may = one.scopes.find("swroa"[number - 1]) != std::string::npos;
      if (may) {
        EXPECT_EQ(in<Unavailable>(answer), Unavailable::kStorage) << kind << " " << one.scopes;
      } else {
        EXPECT_EQ(in<Denied>(answer), Denied::kScope) << kind << " " << one.scopes;
      }
    }
  }
}

TEST(PeerTokens, StrangersAreDenied) {
  Nodes nodes(test_tokens());
  for (const std::string& credentials : {std::string(), bearer(9), std::string("Bearer x")}) {
    EXPECT_EQ(in<Denied>(nodes.ask(claim_of("mail"), credentials)), Denied::kUnauthenticated);
  }
  EXPECT_TRUE(nodes.service.gateway.requests().empty());
}

TEST(PeerTokens, ACertificateIsBelieved) {
  service::TokenSettings mailer;
  mailer.name = "mailer";
  mailer.certificate = "mailer.example";
  mailer.scopes = {"work"};
  Nodes nodes({mailer});
  nodes.service.gateway.respond_with([](const engine::Request&) -> std::optional<engine::Answer> {
    return Unavailable::kStorage;
  });
  const auto shows = [](std::string_view name) {
    return std::string(engine::kCertified).append(name);
  };
  EXPECT_EQ(in<Unavailable>(nodes.ask(claim_of("mail"), shows("mailer.example"))),
            Unavailable::kStorage);
  EXPECT_EQ(in<Denied>(nodes.ask(enqueue_to("mail"), shows("mailer.example"))), Denied::kScope);
  for (const std::string& credentials : {shows("stranger.example"), shows("")}) {
    EXPECT_EQ(in<Denied>(nodes.ask(claim_of("mail"), credentials)), Denied::kUnauthenticated);
  }
}

// Every job is in the queue "secret", except the last one, which does not exist.
std::optional<engine::Answer> secret_jobs(const engine::Request& request) {
  const auto* command = std::get_if<core::Command>(&request);
  const auto* get = command == nullptr ? nullptr : std::get_if<core::GetJob>(command);
  if (get == nullptr) return Unavailable::kStorage;
  if (get->id == JobId{}) return core::Reply(core::JobReply{});
  auto view = std::make_shared<core::JobView>();
  view->job = one_job().jobs[0].job;
  view->job.queue = SharedBytes("secret");
  return core::Reply(core::JobReply{std::move(view), false});
}

TEST(PeerTokens, AQueueOutOfReachIsNotThere) {
  Nodes nodes(test_tokens());
  nodes.service.gateway.respond_with(secret_jobs);
  const JobId id = *parse_job_id(kJob);
  core::Ack ack;
  ack.items.resize(1);
  ack.items[0].id = id;
  core::Ack nested;
  nested.items.resize(1);
  nested.items[0].enqueue = std::get<core::Enqueue>(enqueue_to("secret")).jobs;
  engine::Poll poll;
  poll.heartbeats.items.resize(1);
  poll.heartbeats.items[0].id = id;
  engine::Poll claiming;
  claiming.claim = claim_of("secret").claim;
  core::AppendLogs logs;
  logs.items.resize(1);
  logs.items[0].id = id;
  engine::AwaitWork work;
  work.queues.emplace_back("secret");
  for (const engine::Request& request :
       {engine::Request(enqueue_to("secret")), engine::Request(claim_of("secret")),
        engine::Request(core::Command(ack)), engine::Request(core::Command(nested)),
        engine::Request(core::Command(logs)), engine::Request(poll), engine::Request(claiming),
        engine::Request(work), engine::Request(core::Command(core::Cancel{{id}, {}})),
        engine::Request(core::Command(core::Retry{{id}, {}, true})),
        engine::Request(core::Command(core::Edit{{id}, {}, {}, {}, {}, {}, {}})),
        engine::Request(core::Command(core::Delete{{id}, core::DeleteCause::kOperator})),
        engine::Request(core::Command(core::SetQueue{SharedBytes("secret"), true, {}, {}})),
        engine::Request(core::Command(core::PauseQueue{SharedBytes("secret"), {}})),
        engine::Request(core::Command(core::ResumeQueue{SharedBytes("secret")})),
        engine::Request(core::Command(core::DeleteQueue{SharedBytes("secret")})),
        engine::Request(core::Command(core::NotePurge{SharedBytes("secret"), 1})),
        engine::Request(core::Command(core::GetQueues{SharedBytes("secret")})),
        engine::Request(core::Command(core::GetJob{id}))}) {
    EXPECT_EQ(in<Denied>(nodes.ask(request, bearer(6))), Denied::kQueue) << request.index();
  }
  const engine::SetWorkerState quiet{SharedBytes("w"), engine::WorkerState::kQuiet};
  EXPECT_EQ(in<Denied>(nodes.ask(quiet, bearer(6))), Denied::kScope) << "it has other queues too";
  // Allowed requests get as far as the shard, and so do those for missing jobs.
  core::Ack unknown;
  unknown.items.resize(1);
  for (const engine::Request& request :
       {engine::Request(enqueue_to("mail.eu")), engine::Request(claim_of("mail")),
        engine::Request(core::Command(unknown))}) {
    EXPECT_EQ(in<Unavailable>(nodes.ask(request, bearer(6))), Unavailable::kStorage);
  }
  // Another token may use all of them.
  EXPECT_EQ(in<Unavailable>(nodes.ask(core::Command(ack), bearer(2))), Unavailable::kStorage);
}

TEST(PeerTokens, WhereTheTablesCantBeReadNothingIsTouched) {
  Nodes nodes(test_tokens());
  nodes.service.gateway.respond_with(secret_jobs);
  nodes.server.fail_reads();
  core::Cancel cancel;
  cancel.ids.emplace_back();
  EXPECT_EQ(in<Unavailable>(nodes.ask(core::Command(cancel), bearer(6))), Unavailable::kStorage);
  EXPECT_EQ(nodes.service.gateway.requests().size(), 1u) << "the look-up alone";
}

TEST(PeerTokens, AnswersShowOnlyWhatTheTokenOpens) {
  Nodes nodes(test_tokens());
  nodes.service.gateway.respond_with(
      [](const engine::Request& request) -> std::optional<engine::Answer> {
        if (std::holds_alternative<engine::ListWorkers>(request)) {
          engine::WorkersReply workers;
          workers.workers.resize(1);
          workers.workers[0].queues = {SharedBytes("mail"), SharedBytes("secret")};
          return workers;
        }
        core::QueueReply queues;
        queues.queues.resize(2);
        queues.queues[0].name = SharedBytes("mail");
        queues.queues[1].name = SharedBytes("secret");
        return core::Reply(queues);
      });
  const auto queues = in<core::Reply>(nodes.ask(core::Command(core::GetQueues{}), bearer(6)));
  ASSERT_EQ(std::get<core::QueueReply>(queues).queues.size(), 1u);
  EXPECT_EQ(std::get<core::QueueReply>(queues).queues[0].name.view(), "mail");
  const auto workers = in<engine::WorkersReply>(nodes.ask(engine::ListWorkers{}, bearer(6)));
  ASSERT_EQ(workers.workers.size(), 1u);
  EXPECT_EQ(workers.workers[0].queues, std::vector{SharedBytes("mail")});
}

// --- From a client to the shard, across two nodes.

class Forwards final : public engine::Gateway {
 public:
  Forwards(PeerClient& client, std::string url) : client_(client), url_(std::move(url)) {}
  void submit(engine::Request request, engine::ReplyPort& port, engine::Ticket ticket,
              std::string_view credentials) override {
    client_.ask({url_, 0}, std::move(request), credentials, port, ticket);
  }
  void cancel(engine::ReplyPort& port, engine::Ticket ticket) override {
    client_.cancel(port, ticket);
  }

 private:
  PeerClient& client_;
  const std::string url_;
};

struct TwoNodes {
  Nodes leader{test_tokens()};
  PeerClient client{quick_options(), {std::string(kTestSecret), real_clock(), {}, 2}};
  Forwards forwards{client, leader.url()};
  TestServer entry{{}, test_tokens(), {&forwards, std::nullopt}};
  // The client's answers refer to the entry's members, so it must end first.
  ~TwoNodes() { client.stop(); }

  std::string fields(std::uint8_t token) const {
    return "Authorization: " + bearer(token) + "\r\n";
  }
};

constexpr std::string_view kClaim = R"({"queues":["mail"],"worker":{"id":"w"},"wait_ms":4000})";

TEST(TwoNodes, AClaimIsAnsweredFromTheOtherNode) {
  TwoNodes nodes;
  nodes.leader.service.gateway.respond_with(hands_out);
  TestClient client(nodes.entry);
  client.send(request("POST", "/v1/claim", kClaim, nodes.fields(2)));
  const TestResponse response = client.receive();
  EXPECT_EQ(response.status, 200);
  EXPECT_NE(response.body.find(kJob), std::string::npos) << response.body;
}

TEST(TwoNodes, AWaitIsGivenUpWhenItsClientLeaves) {
  TwoNodes nodes;
  TestClient client(nodes.entry);
  client.send(request("POST", "/v1/claim", kClaim, nodes.fields(2)));
  ASSERT_TRUE(nodes.leader.service.gateway.wait_for_requests(1));
  client.close();
  EXPECT_TRUE(nodes.leader.service.gateway.wait_for_cancels(1));
}

// A cancelled claim keeps the client's credentials, which are needed to give its jobs back.
TEST(TwoNodes, JobsAreGivenBackInTheNameOfWhoLeft) {
  TestServer server({}, test_tokens());
  TestClient client(server);
  client.send(request("POST", "/v1/claim", kClaim, "Authorization: " + bearer(2) + "\r\n"));
  ASSERT_TRUE(server.gateway.wait_for_requests(1));
  client.close();
  ASSERT_TRUE(server.gateway.wait_for_cancels(1));
  server.gateway.answer_oldest(core::Reply(one_job()));
  ASSERT_TRUE(server.gateway.wait_for_requests(2));
  EXPECT_EQ(server.gateway.credentials().back(), bearer(2));
}

TEST(TwoNodes, WhatTheLeaderSaysIsSaidToTheClient) {
  const struct {
    engine::Answer answer;
    int status;
    std::string_view code;
    std::string_view detail;
  } cases[] = {
      {Unavailable::kNoLeader, 503, "storage_unavailable", "nothing was done"},
      {Unavailable::kUnknown, 503, "storage_unavailable",
       "the request may have taken effect; send it again with the same id or key"},
      {Denied::kUnauthenticated, 401, "unauthenticated", "needs a valid token"},
      {Denied::kScope, 403, "forbidden", "lacks the scope work"},
      {Denied::kQueue, 404, "not_found", "the token reaches no such"},
  };
  for (const auto& one : cases) {
    TestServer server;
    server.gateway.respond_with(
        [&](const engine::Request&) -> std::optional<engine::Answer> { return one.answer; });
    TestClient client(server);
    client.send(request("POST", "/v1/claim", kClaim));
    const TestResponse response = client.receive();
    EXPECT_EQ(response.status, one.status);
    EXPECT_EQ(server.log().back().second, one.code);
    EXPECT_NE(response.body.find(one.detail), std::string::npos) << response.body;
    EXPECT_EQ(response.headers.contains("retry-after"), one.status == 503);
  }
}

}  // namespace
}  // namespace millrace::http
