// The promises of ByteStream, for the encrypted stream, between two ends on one loop; and the trust
// between both sides.
#include "net/tls_stream.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/error.hpp>

#include "net/certificates.h"
#include "net/testing.h"
#include "net/tls.h"

namespace millrace::net {
namespace {

namespace asio = boost::asio;

class TlsStreamTest : public ::testing::Test {
 protected:
  TlsStreamTest() {
    ::signal(SIGPIPE, SIG_IGN);
    std::string name = ::testing::TempDir() + "tls-XXXXXX";
    EXPECT_NE(::mkdtemp(name.data()), nullptr);
    folder_ = name;
    ours_ = *make_authority("ours");
    write("ca.pem", ours_.certificate);
    issue("server", ours_, "node.example");
  }
  ~TlsStreamTest() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string& file) const { return folder_ / file; }
  void write(const std::string& file, const std::string& text) {
    std::ofstream(path(file)) << text;
  }
  void issue(const std::string& file, const Certified& authority, const std::string& name) {
    const auto issued = issue_certificate(authority, {name, "127.0.0.1"});
    ASSERT_TRUE(issued) << issued.error().message;
    write(file + ".pem", issued->certificate);
    write(file + ".key", issued->key);
  }

  std::unique_ptr<Tls> server(const std::string& authorities = "") {
    return tls(TlsSide::kServer, {path("server.pem"), path("server.key"), authorities});
  }
  std::unique_ptr<Tls> client(TlsFiles files) { return tls(TlsSide::kClient, std::move(files)); }
  std::unique_ptr<Tls> client() { return client({.authorities = path("ca.pem")}); }
  static std::unique_ptr<Tls> tls(TlsSide side, TlsFiles files) {
    auto made = Tls::load(side, std::move(files));
    EXPECT_TRUE(made) << made.error().message;
    return std::move(*made);
  }

  void connect(const Tls& serving, const Tls& connecting,
               const std::string& host = "node.example") {
    auto [here, there] = sockets();
    near_ = serving.accept(std::move(here));
    far_ = connecting.connect(std::move(there), host);
  }
  void connect() { connect(*server(), *client()); }
  std::pair<Socket, Socket> sockets() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    std::pair<Socket, Socket> pair{context_, context_};
    pair.first.assign(asio::ip::tcp::v4(), ends[0]);
    pair.second.assign(asio::ip::tcp::v4(), ends[1]);
    return pair;
  }

  // Runs all ready handlers.
  void settle() {
    context_.restart();
    context_.poll();
  }
  // The next bytes that the stream reads, or the error's message.
  std::string next_of(ByteStream& stream) {
    const auto user = std::make_shared<KeepingUser>();
    std::string room(1 << 16, '\0');
    stream.read_some(asio::buffer(room), user);
    settle();
    if (!user->read) {
      stream.cancel();
      settle();
      return "nothing";
    }
    return user->read->error ? user->read->error.message() : room.substr(0, user->read->bytes);
  }
  // The whole handshake, and a word in each direction.
  void talk() {
    send(*far_, "hello");
    EXPECT_EQ(next_of(*near_), "hello");
    send(*near_, "there");
    EXPECT_EQ(next_of(*far_), "there");
  }
  void send(ByteStream& stream, std::string_view text) {
    const auto user = std::make_shared<KeepingUser>();
    while (!text.empty()) {
      stream.write_some({asio::buffer(text)}, user);
      shake_hands();
      ASSERT_TRUE(user->written);
      ASSERT_FALSE(user->written->error) << user->written->error.message();
      text.remove_prefix(std::exchange(user->written, std::nullopt)->bytes);
    }
  }
  // A side that neither reads nor writes does not answer a handshake.
  void shake_hands() {
    for (ByteStream* stream : {near_.get(), far_.get()}) stream->watch(watching_);
    settle();
    for (ByteStream* stream : {near_.get(), far_.get()}) {
      if (!watching_->readable) stream->cancel();
    }
    settle();
  }

  std::filesystem::path folder_;
  Certified ours_;
  asio::io_context context_{1};
  std::unique_ptr<ByteStream> near_;  // the server's
  std::unique_ptr<ByteStream> far_;
  std::shared_ptr<KeepingUser> user_ = std::make_shared<KeepingUser>();
  std::shared_ptr<KeepingUser> watching_ = std::make_shared<KeepingUser>();
  std::string room_ = std::string(1 << 16, '\0');
};

TEST_F(TlsStreamTest, CarriesWhatIsSaid) {
  connect();
  near_->read_some(asio::buffer(room_), user_);
  far_->write_some({asio::buffer("one, ", 5), asio::buffer("two", 3)}, user_);
  EXPECT_FALSE(user_->read || user_->written) << "told from within a call";
  settle();
  ASSERT_TRUE(user_->read && user_->written);
  EXPECT_EQ(room_.substr(0, user_->read->bytes), "one, ");
  EXPECT_EQ(user_->written->bytes, 5u);
  error_code error;
  EXPECT_EQ(far_->write_now({asio::buffer("two, ", 5), asio::buffer("three", 5)}, error), 10u);
  EXPECT_EQ(next_of(*near_), "two, ");
  EXPECT_EQ(next_of(*near_), "three");
}

TEST_F(TlsStreamTest, MegabytesArriveWhole) {
  connect();
  near_->watch(user_);
  const std::string sent(5 << 20, 'x');
  std::string received;
  std::size_t written = 0;
  const auto writer = std::make_shared<KeepingUser>();
  const auto reader = std::make_shared<KeepingUser>();
  far_->write_some({asio::buffer(sent)}, writer);
  near_->read_some(asio::buffer(room_), reader);
  for (int turns = 0; received.size() < sent.size() && turns < 100'000; ++turns) {
    settle();
    if (writer->written) {
      ASSERT_FALSE(writer->written->error) << writer->written->error.message();
      written += std::exchange(writer->written, std::nullopt)->bytes;
      error_code error;
      written += far_->write_now({asio::buffer(sent) + written}, error);
      ASSERT_FALSE(error);
      if (written < sent.size()) far_->write_some({asio::buffer(sent) + written}, writer);
    }
    if (reader->read) {
      ASSERT_FALSE(reader->read->error) << reader->read->error.message();
      received += room_.substr(0, std::exchange(reader->read, std::nullopt)->bytes);
      near_->read_some(asio::buffer(room_), reader);
    }
  }
  EXPECT_EQ(received.size(), sent.size());
  EXPECT_TRUE(received == sent);
}

TEST_F(TlsStreamTest, AFullSocketIsNoError) {
  connect();
  near_->read_some(asio::buffer(room_), user_);
  far_->write_some({asio::buffer("x", 1)}, user_);
  settle();
  error_code error;
  const std::string bytes(1 << 20, 'x');
  std::size_t written = 0;
  while (const std::size_t some = far_->write_now({asio::buffer(bytes)}, error)) written += some;
  EXPECT_FALSE(error) << error.message();
  EXPECT_GT(written, 0u);
  const auto writer = std::make_shared<KeepingUser>();
  far_->write_some({asio::buffer(bytes)}, writer);
  settle();
  EXPECT_FALSE(writer->written);
  while (next_of(*near_) != "nothing") {
  }
  EXPECT_TRUE(writer->written);
}

TEST_F(TlsStreamTest, WatchesWithoutReading) {
  connect();
  near_->watch(user_);
  EXPECT_FALSE(near_->ended());
  settle();
  EXPECT_FALSE(user_->readable) << "the handshake is nothing to read";
  far_->write_some({asio::buffer("hello", 5)}, user_);
  settle();
  ASSERT_TRUE(user_->readable);
  EXPECT_FALSE(user_->readable->error);
  far_.reset();
  EXPECT_FALSE(near_->ended());
  EXPECT_EQ(next_of(*near_), "hello");
  EXPECT_TRUE(near_->ended());
}

TEST_F(TlsStreamTest, CancelEndsWhatIsUnderWayAndNoMore) {
  connect();
  near_->read_some(asio::buffer(room_), user_);
  far_->write_some({asio::buffer("x", 1)}, user_);
  settle();
  ASSERT_TRUE(std::exchange(user_->read, std::nullopt));
  near_->read_some(asio::buffer(room_), user_);
  near_->watch(user_);
  near_->cancel();
  settle();
  ASSERT_TRUE(user_->read && user_->readable);
  EXPECT_EQ(user_->read->error, asio::error::operation_aborted);
  EXPECT_EQ(user_->readable->error, asio::error::operation_aborted);
  error_code error;
  far_->write_now({asio::buffer("hello", 5)}, error);
  EXPECT_EQ(next_of(*near_), "hello");
}

// The socket becomes readable, with half a record, just when the wait is cancelled.
TEST_F(TlsStreamTest, CancelHoldsForAWaitThatEndsAtThatMoment) {
  auto [here, there] = sockets();
  near_ = server()->accept(std::move(here));
  near_->read_some(asio::buffer(room_), user_);
  settle();
  const std::array<unsigned char, 3> half = {0x16, 0x03, 0x01};
  there.send(asio::buffer(half));
  context_.restart();
  context_.poll_one();  // the kernel is asked, and the wait has ended
  near_->cancel();
  settle();
  ASSERT_TRUE(user_->read);
  EXPECT_EQ(user_->read->error, asio::error::operation_aborted);
}

TEST_F(TlsStreamTest, AfterTheEndOfItsOutputItStillReads) {
  connect();
  near_->read_some(asio::buffer(room_), user_);
  far_->write_some({asio::buffer("x", 1)}, user_);
  settle();
  far_->end_output();
  EXPECT_EQ(next_of(*near_), error_code(asio::error::eof).message());
  error_code error;
  EXPECT_EQ(near_->write_now({asio::buffer("late", 4)}, error), 4u);
  EXPECT_EQ(next_of(*far_), "late");
}

TEST_F(TlsStreamTest, WhoSpeaksLivesUntilItIsTold) {
  connect();
  const std::weak_ptr<KeepingUser> kept = user_;
  near_->read_some(asio::buffer(room_), std::exchange(user_, nullptr));
  EXPECT_FALSE(kept.expired());
  near_.reset();
  settle();
  EXPECT_TRUE(kept.expired());
}

TEST_F(TlsStreamTest, WhoSpeaksInTheClearReadsWhy) {
  auto [here, there] = sockets();
  near_ = server()->accept(std::move(here));
  near_->read_some(asio::buffer(room_), user_);
  const std::string_view request = "GET /livez HTTP/1.1\r\nHost: x\r\n\r\n";
  there.send(asio::buffer(request));
  settle();
  ASSERT_TRUE(user_->read);
  EXPECT_TRUE(user_->read->error);
  error_code error;
  const std::size_t bytes = there.read_some(asio::buffer(room_), error);
  const std::string answer = room_.substr(0, bytes);
  EXPECT_TRUE(answer.starts_with("HTTP/1.1 400 ")) << answer;
  const std::size_t end = answer.find("\r\n\r\n") + 4;
  EXPECT_NE(answer.find("Content-Length: " + std::to_string(answer.size() - end) + "\r\n"),
            std::string::npos)
      << answer;
  EXPECT_NE(answer.find("https://"), std::string::npos);
}

// --- Trust.

class TlsTrust : public TlsStreamTest {
 protected:
  // What arrives at the client and the server: the word, or the error.
  std::string heard(const Tls& serving, const Tls& connecting,
                    const std::string& host = "node.example") {
    connect(serving, connecting, host);
    const auto server = std::make_shared<KeepingUser>();
    const auto client = std::make_shared<KeepingUser>();
    near_->read_some(asio::buffer(room_), server);
    far_->write_some({asio::buffer("hello", 5)}, client);
    settle();
    if (client->written && client->written->error) return client->written->error.message();
    if (!server->read) return "nothing";
    return server->read->error ? "the server: " + server->read->error.message()
                               : room_.substr(0, server->read->bytes);
  }
};

TEST_F(TlsTrust, AServerOfAnotherNameOrAuthorityIsRefused) {
  const std::string refused = "TLS: certificate verify failed";
  EXPECT_EQ(heard(*server(), *client()), "hello");
  EXPECT_EQ(heard(*server(), *client(), "127.0.0.1"), "hello");
  EXPECT_EQ(heard(*server(), *client(), "other.example"), refused);
  EXPECT_EQ(heard(*server(), *client(), "127.0.0.2"), refused);
  const Certified others = *make_authority("others");
  write("others.pem", others.certificate);
  EXPECT_EQ(heard(*server(), *client({.authorities = path("others.pem")})), refused);
}

TEST_F(TlsTrust, AClientsCertificateIsTheAuthoritys) {
  const auto asking = server(path("ca.pem"));
  EXPECT_EQ(heard(*asking, *client()), "hello") << "none is shown";
  EXPECT_EQ(near_->certified_name(), "");
  issue("worker", ours_, "worker.example");
  EXPECT_EQ(heard(*asking, *client({path("worker.pem"), path("worker.key"), path("ca.pem")})),
            "hello");
  EXPECT_EQ(near_->certified_name(), "worker.example");
  EXPECT_EQ(far_->certified_name(), "node.example");
  issue("stranger", *make_authority("others"), "worker.example");
  EXPECT_NE(heard(*asking, *client({path("stranger.pem"), path("stranger.key"), path("ca.pem")})),
            "hello");
}

TEST_F(TlsTrust, FilesThatChangeAreReadAgain) {
  const auto serving = server();
  EXPECT_EQ(serving->reload_if_changed().value_or(!false), false);
  const Certified others = *make_authority("others");
  write("others.pem", others.certificate);
  const auto connecting = client({.authorities = path("others.pem")});
  EXPECT_NE(heard(*serving, *connecting), "hello");
  issue("server", others, "node.example");
  EXPECT_EQ(serving->reload_if_changed().value_or(!true), true);
  EXPECT_EQ(heard(*serving, *connecting), "hello");
  // Broken files are reported once, and change nothing.
  write("server.pem", "no certificate");
  const auto broken = serving->reload_if_changed();
  ASSERT_FALSE(broken);
  EXPECT_NE(broken.error().message.find("server.pem"), std::string::npos) << broken.error().message;
  EXPECT_EQ(serving->reload_if_changed().value_or(!false), false);
  EXPECT_EQ(heard(*serving, *connecting), "hello");
}

TEST_F(TlsTrust, WhatIsNoCertificateOrKeyIsNamed) {
  const auto fault = [&](TlsFiles files) {
    const auto made = Tls::load(TlsSide::kServer, std::move(files));
    return made ? "none" : made.error().message;
  };
  EXPECT_EQ(fault({path("none.pem"), path("server.key")}),
            "can't use \"" + path("none.pem") + "\" as the certificate: No such file or directory");
  issue("other", ours_, "other.example");
  EXPECT_EQ(fault({path("server.pem"), path("other.key")}),
            "the key \"" + path("other.key") + "\" is not that of the certificate \"" +
                path("server.pem") + "\"");
  EXPECT_EQ(fault({path("server.pem"), path("server.key"), path("server.key")}),
            "can't use \"" + path("server.key") +
                "\" as the authorities' certificates: it has no certificate");
}

// OpenSSL would wait for ever for who writes to it.
TEST_F(TlsTrust, AFifoIsNoCertificate) {
  ASSERT_EQ(::mkfifo(path("fifo").c_str(), 0600), 0);
  const std::string refused = "can't use \"" + path("fifo") + "\" as ";
  for (const TlsFiles& files :
       {TlsFiles{path("fifo"), path("server.key")}, TlsFiles{path("server.pem"), path("fifo")},
        TlsFiles{path("server.pem"), path("server.key"), path("fifo")}}) {
    const auto made = Tls::load(TlsSide::kServer, files);
    ASSERT_FALSE(made);
    EXPECT_TRUE(made.error().message.starts_with(refused)) << made.error().message;
    EXPECT_TRUE(made.error().message.ends_with(": it is not a regular file"));
  }
}

}  // namespace
}  // namespace millrace::net
