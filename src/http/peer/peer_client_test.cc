// Asking: a real client against a simulated node, which can do what no node should.
#include "http/peer/peer_client.h"

#include <gtest/gtest.h>

#include <future>
#include <latch>

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "engine/wire/request_codec.h"
#include "http/peer/peer_link.h"
#include "http/peer/peer_testing.h"

namespace millrace::http {
namespace {

using engine::Unavailable;
using Handshake = HandNode::Handshake;

std::optional<Unavailable> unavailable_in(const std::optional<engine::Answer>& answer) {
  const auto* why = answer ? std::get_if<Unavailable>(&*answer) : nullptr;
  return why == nullptr ? std::nullopt : std::optional(*why);
}

std::string encoded(const engine::Answer& answer) {
  std::string body;
  engine::encode_answer(answer, body);
  return body;
}

// A client and its dependencies.
struct TestAsker {
  explicit TestAsker(PeerClientOptions options = quick_options(),
                     std::string_view secret = kTestSecret)
      : client(options, {std::string(secret), real_clock(), log.logger(), 1}) {}

  void ask(const std::string& url, std::uint64_t ticket,
           engine::Request request = engine::AwaitProjection{}) {
    client.ask({url, 0}, std::move(request), {}, port, engine::Ticket{ticket});
  }

  KeepingLog log;
  KeepingPort port;
  PeerClient client;  // last: it names what stands above
};

TEST(PeerUrl, IsASchemeAHostAndAPort) {
  EXPECT_EQ(parse_peer_url("http://10.0.0.7:7600")->host, "10.0.0.7");
  EXPECT_EQ(parse_peer_url("http://10.0.0.7:7600")->port, "7600");
  EXPECT_EQ(parse_peer_url("http://[::1]:80")->host, "::1");
  EXPECT_EQ(parse_peer_url("http://queue.internal:7600")->host, "queue.internal");
  EXPECT_FALSE(parse_peer_url("http://queue.internal:7600")->encrypted);
  EXPECT_TRUE(parse_peer_url("https://queue.internal:7600")->encrypted);
  for (const char* url : {"", "http://", "http://host", "host:80", "httpss://host:80",
                          "http://host:", "http://:80", "http://host:80/path", "http://::1:80",
                          "http://host:123456", "http://a\r\nb:80", "http://u@host:80"}) {
    EXPECT_FALSE(parse_peer_url(url)) << url;
  }
}

TEST(PeerClient, WhoCantBeReachedWasNotAsked) {
  TestAsker asking;
  asking.ask("http://127.0.0.1:1", 1);
  EXPECT_EQ(unavailable_in(asking.port.wait_for(1)), Unavailable::kNoLeader);
  asking.ask("not a url", 2);
  EXPECT_EQ(unavailable_in(asking.port.wait_for(2)), Unavailable::kNoLeader);
  EXPECT_TRUE(asking.log.wait_for("this node can't reach another node"));
}

TEST(PeerClient, ANodeThatTakesNoneWasNotAsked) {
  for (const Handshake handshake :
       {Handshake::kNoUpgrade, Handshake::kNoProof, Handshake::kWrongProof}) {
    HandNode node([](HandNode::Connection&) {}, handshake);
    TestAsker asking;
    asking.ask(node.url(), 1);
    EXPECT_EQ(unavailable_in(asking.port.wait_for(1)), Unavailable::kNoLeader);
    if (handshake == Handshake::kWrongProof) {
      EXPECT_TRUE(asking.log.wait_for("sent a wrong proof"));
    }
  }
}

TEST(PeerClient, NothingIsAskedOfANodeThatDidNotProveItself) {
  HandNode node([](HandNode::Connection&) {}, Handshake::kNoProof);
  TestAsker asking;
  for (std::uint64_t ticket = 1; ticket <= 3; ++ticket) asking.ask(node.url(), ticket);
  for (std::uint64_t ticket = 1; ticket <= 3; ++ticket) {
    EXPECT_EQ(unavailable_in(asking.port.wait_for(ticket)), Unavailable::kNoLeader);
  }
}

TEST(PeerClient, ThePeerDiesBetweenAskAndAnswer) {
  HandNode node([](HandNode::Connection& connection) { connection.receive(); });
  TestAsker asking;
  asking.ask(node.url(), 1);
  EXPECT_EQ(unavailable_in(asking.port.wait_for(1)), Unavailable::kUnknown);
}

// "localhost" is ::1 first on most machines, but the node listens only at 127.0.0.1.
TEST(PeerClient, TriesAllAddressesOfAName) {
  boost::asio::io_context context;
  const auto found = boost::asio::ip::tcp::resolver(context).resolve("localhost", "1");
  if (!found.begin()->endpoint().address().is_v6()) GTEST_SKIP() << "localhost is not ::1 first";
  HandNode node([](HandNode::Connection& connection) {
    const ReceivedFrame ask = connection.receive();
    connection.send(FrameKind::kAnswer, ask.number, encoded(std::monostate()));
  });
  TestAsker asking;
  const std::string url = node.url();
  asking.ask("http://localhost" + url.substr(url.rfind(':')), 1);
  const auto answer = asking.port.wait_for(1);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*answer));
}

TEST(PeerClient, IsOpenedAgainAfterAPause) {
  HandNode node([](HandNode::Connection& connection) {
    const ReceivedFrame ask = connection.receive();
    connection.send(FrameKind::kAnswer, ask.number, encoded(std::monostate()));
  });  // and closes
  TestAsker asking;
  std::uint64_t ticket = 0;
  int answered = 0;
  while (answered < 3 && ticket < 500) {
    asking.ask(node.url(), ++ticket);
    const auto answer = asking.port.wait_for(ticket);
    ASSERT_TRUE(answer);
    if (std::holds_alternative<std::monostate>(*answer)) {
      ++answered;
    } else {
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
  }
  EXPECT_EQ(answered, 3);
  EXPECT_GE(node.connections(), 3);
}

// The connection exists, but the node is silent.
TEST(PeerClient, AHalfOpenConnectionIsFoundDead) {
  HandNode node([](HandNode::Connection& connection) {
    connection.receive();
    connection.wait_for_close();
  });
  PeerClientOptions options = quick_options();
  options.timing = quick_timing();
  TestAsker asking(options);
  const auto begin = std::chrono::steady_clock::now();
  asking.ask(node.url(), 1);
  EXPECT_EQ(unavailable_in(asking.port.wait_for(1)), Unavailable::kUnknown);
  EXPECT_GE(std::chrono::steady_clock::now() - begin, quick_timing().silence);
  EXPECT_TRUE(asking.log.wait_for("the other node sent nothing in time"));
}

TEST(PeerClient, WhoPingsIsAlive) {
  HandNode node([](HandNode::Connection& connection) {
    const ReceivedFrame ask = connection.receive();
    for (int i = 0; i < 60; ++i) {  // 6 s, more than the silence that is borne
      std::this_thread::sleep_for(std::chrono::milliseconds(100));
      connection.send(FrameKind::kPing, 0);
    }
    connection.send(FrameKind::kAnswer, ask.number, encoded(std::monostate()));
    connection.wait_for_close();
  });
  PeerClientOptions options = quick_options();
  options.timing.silence = Duration{5'000};  // more than a machine may stand still
  TestAsker asking(options);
  asking.ask(node.url(), 1);
  const auto answer = asking.port.wait_for(1);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*answer));
}

// A newer node's frame: the connection and its other requests are not affected.
TEST(PeerClient, WhatIsNotUnderstoodIsSoForItselfAlone) {
  const std::vector<std::string> answers{"?", encoded(engine::WorkersReply{}),
                                         encoded(std::monostate())};
  HandNode node([&](HandNode::Connection& connection) {
    connection.send_bytes({"\x09\0\0\0\0\0\0\0\0\0\0\0\x63", 13});  // a frame of kind 99
    for (const std::string& answer : answers) {
      connection.send(FrameKind::kAnswer, connection.receive().number, answer);
    }
    connection.wait_for_close();
  });
  TestAsker asking;
  for (std::uint64_t ticket : {1, 2}) {
    asking.ask(node.url(), ticket);
    EXPECT_EQ(unavailable_in(asking.port.wait_for(ticket)), Unavailable::kUnknown);
  }
  asking.ask(node.url(), 3);
  const auto answer = asking.port.wait_for(3);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*answer));
  EXPECT_EQ(node.connections(), 1);
}

TEST(PeerClient, ANodeOfAnyLevelIsAskedForWhatItKnows) {
  engine::Poll goodbye;
  goodbye.worker.id = SharedBytes("w");
  goodbye.goodbye = true;
  std::string told;
  engine::encode_request(goodbye, told, engine::PeerLevel::kFirst);
  for (const std::string level : {"", "1", "99", "x"}) {
    std::promise<std::string> asked;
    HandNode node(
        [&](HandNode::Connection& connection) {
          const ReceivedFrame ask = connection.receive();
          asked.set_value(std::string(read_ask(ask.body)->request));
          connection.send(FrameKind::kAnswer, ask.number, encoded(Unavailable::kOverloaded));
          connection.wait_for_close();
        },
        Handshake::kWhole, level);
    TestAsker asking;
    asking.ask(node.url(), 2, goodbye);
    EXPECT_EQ(asked.get_future().get(), told) << level;
    EXPECT_EQ(unavailable_in(asking.port.wait_for(2)), Unavailable::kOverloaded) << level;
  }
}

// A frame that the socket did not take was not read; one that it took may have been.
TEST(PeerClient, TellsWhatWasWrittenFromWhatWasNot) {
  std::latch all_asked(1);
  HandNode node([&](HandNode::Connection& connection) {
    connection.receive();
    all_asked.wait();
    std::this_thread::sleep_for(std::chrono::milliseconds(100));
  });  // closes with the rest unread
  PeerClientOptions options = quick_options();
  options.connections = 1;
  TestAsker asking(options);
  core::Enqueue large;
  large.jobs.resize(1);
  large.jobs[0].payload = SharedBytes(std::string(std::size_t{48} * 1024 * 1024, '1'));
  asking.ask(node.url(), 1);
  asking.ask(node.url(), 2, core::Command(large));
  asking.ask(node.url(), 3);
  all_asked.count_down();
  EXPECT_EQ(unavailable_in(asking.port.wait_for(1)), Unavailable::kUnknown);
  EXPECT_EQ(unavailable_in(asking.port.wait_for(2)), Unavailable::kNoLeader);
  EXPECT_EQ(unavailable_in(asking.port.wait_for(3)), Unavailable::kNoLeader);
}

TEST(PeerClient, BoundsTheBytesInFlight) {
  HandNode node([](HandNode::Connection& connection) {
    const ReceivedFrame first = connection.receive();
    const ReceivedFrame last = connection.receive();
    connection.send(FrameKind::kAnswer, first.number, encoded(std::monostate()));
    connection.send(FrameKind::kAnswer, last.number, encoded(std::monostate()));
    connection.wait_for_close();
  });
  PeerClientOptions options = quick_options();
  options.bytes_in_flight = 1'000;
  options.timing = {};
  TestAsker asking(options);
  engine::AwaitWork work;
  work.worker = SharedBytes(std::string(900, 'w'));
  asking.ask(node.url(), 1, work);
  asking.ask(node.url(), 2, work);
  EXPECT_EQ(unavailable_in(asking.port.wait_for(2)), Unavailable::kOverloaded);
  asking.ask(node.url(), 3);  // there is room for a small one
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*asking.port.wait_for(1)));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*asking.port.wait_for(3)));
}

TEST(PeerClient, WhatMakesNoSenseEndsTheConnection) {
  std::string too_long;
  append_frame(too_long, FrameKind::kAnswer, 1, {encoded(std::monostate())});
  const auto length = static_cast<std::uint32_t>(kMaxFrameBytes + 1);
  for (int i = 0; i < 4; ++i)
    too_long[static_cast<std::size_t>(i)] = static_cast<char>(length >> (8 * i));
  const struct {
    const char* what;
    std::function<void(HandNode::Connection&, std::uint64_t)> send;
  } cases[] = {
      {"an answer to nothing",
       [](auto& c, auto number) { c.send(FrameKind::kAnswer, number + 1, encoded({})); }},
      {"a shard that was not asked for",
       [](auto& c, auto number) { c.send(FrameKind::kGiven, number, given_body(true)); }},
      {"an ask",
       [](auto& c, auto) { c.send(FrameKind::kAsk, 1, ask_body(engine::ListWorkers{})); }},
      {"a second challenge", [](auto& c, auto) { c.send(FrameKind::kChallenge, 0, "!"); }},
      {"a ping with a body", [](auto& c, auto) { c.send(FrameKind::kPing, 0, "!"); }},
      {"a frame one byte too long", [&](auto& c, auto) { c.send_bytes(too_long); }},
      {"a frame without a kind",
       [](auto& c, auto) { c.send_bytes({"\x08\0\0\0\0\0\0\0\0\0\0\0", 12}); }},
  };
  for (const auto& one : cases) {
    HandNode node([&](HandNode::Connection& connection) {
      const ReceivedFrame ask = connection.receive();
      one.send(connection, ask.number);
      connection.wait_for_close();
    });
    PeerClientOptions options = quick_options();
    options.timing = {};  // nobody is found dead first
    TestAsker asking(options);
    asking.ask(node.url(), 1);
    EXPECT_EQ(unavailable_in(asking.port.wait_for(1)), Unavailable::kUnknown) << one.what;
  }
}

TEST(PeerClient, AStoppingNodeIsAskedNoMore) {
  std::promise<void> said_goodbye;
  HandNode node([&](HandNode::Connection& connection) {
    const ReceivedFrame ask = connection.receive();
    connection.send(FrameKind::kGoodbye, 0);
    said_goodbye.set_value();
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    connection.send(FrameKind::kAnswer, ask.number, encoded(std::monostate()));
    connection.wait_for_close();
  });
  TestAsker asking;
  asking.ask(node.url(), 1);
  said_goodbye.get_future().wait();
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  asking.ask(node.url(), 2);
  EXPECT_EQ(unavailable_in(asking.port.wait_for(2)), Unavailable::kNoLeader);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*asking.port.wait_for(1)));
}

// The answer crossed the cancel: only jobs matter then, and are given back.
TEST(PeerClient, ALateClaimComesAndNothingElseDoes) {
  std::promise<void> asked;
  HandNode node([&](HandNode::Connection& connection) {
    const ReceivedFrame first = connection.receive();
    const ReceivedFrame second = connection.receive();
    asked.set_value();
    EXPECT_EQ(connection.receive().kind, FrameKind::kCancel);
    EXPECT_EQ(connection.receive().kind, FrameKind::kCancel);
    connection.send(FrameKind::kAnswer, first.number, encoded(Unavailable::kDraining));
    core::ClaimReply claim;
    claim.jobs.resize(1);
    claim.jobs[0].job.retry = core::default_retry_policy();
    connection.send(FrameKind::kAnswer, second.number, encoded(core::Reply(claim)));
    connection.wait_for_close();
  });
  TestAsker asking;
  asking.ask(node.url(), 1, engine::WaitingClaim{});
  asking.ask(node.url(), 2, engine::WaitingClaim{});
  asked.get_future().wait();
  asking.client.cancel(asking.port, engine::Ticket{1});
  asking.client.cancel(asking.port, engine::Ticket{2});
  const auto late = asking.port.wait_for(2);
  ASSERT_TRUE(late);
  EXPECT_TRUE(std::holds_alternative<core::Reply>(*late));
  EXPECT_EQ(asking.port.count(), 1u);
}

TEST(PeerClient, EveryAskIsAnsweredAtTheEnd) {
  HandNode node([](HandNode::Connection& connection) { connection.wait_for_close(); });
  TestAsker asking;
  for (std::uint64_t ticket = 1; ticket <= 100; ++ticket) asking.ask(node.url(), ticket);
  asking.client.stop();
  EXPECT_EQ(asking.port.count(), 100u);
  asking.ask(node.url(), 101);
  EXPECT_EQ(asking.port.count(), 100u);
}

TEST(PeerClient, SmallRequestsGoBesideLargeOnes) {
  HandNode node([](HandNode::Connection& connection) {
    while (true) {
      const ReceivedFrame ask = connection.receive();
      if (ask.kind != FrameKind::kAsk) return;
      connection.send(FrameKind::kAnswer, ask.number, encoded(std::monostate()));
    }
  });
  // It serves one connection at a time: a request on the second waits for the first to end.
  TestAsker asking;
  asking.ask(node.url(), 1);
  ASSERT_TRUE(std::holds_alternative<std::monostate>(*asking.port.wait_for(1)));
  engine::AwaitWork large;
  large.worker = SharedBytes(std::string(100'000, 'w'));
  asking.ask(node.url(), 2, large);
  asking.ask(node.url(), 3);
  EXPECT_TRUE(std::holds_alternative<std::monostate>(*asking.port.wait_for(3)));
  EXPECT_EQ(asking.port.count(), 2u);
}

}  // namespace
}  // namespace millrace::http
