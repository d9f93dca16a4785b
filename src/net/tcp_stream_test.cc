// The promises of ByteStream, for the plain stream, on a pair of sockets and a loop stepped by
// hand.
#include "net/tcp_stream.h"

#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <boost/asio/error.hpp>

#include "net/testing.h"

namespace millrace::net {
namespace {

namespace asio = boost::asio;

class TcpStreamTest : public ::testing::Test {
 protected:
  TcpStreamTest() {
    int ends[2];
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0, ends), 0);
    other_ = ends[0];
    Socket socket(context_);
    socket.assign(asio::ip::tcp::v4(), ends[1]);
    stream_ = std::make_unique<TcpStream>(std::move(socket));
  }
  ~TcpStreamTest() override { leave(); }

  // Runs all ready handlers.
  void settle() {
    context_.restart();
    context_.poll();
  }
  void leave() {
    if (other_ >= 0) ::close(std::exchange(other_, -1));
  }
  void send(std::string_view bytes) {
    EXPECT_EQ(::send(other_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  std::string receive() {
    std::array<char, 1024> buffer{};
    const ssize_t bytes = ::recv(other_, buffer.data(), buffer.size(), 0);
    return bytes < 0 ? "nothing" : std::string(buffer.data(), static_cast<std::size_t>(bytes));
  }
  // Until the kernel accepts no more.
  std::size_t fill_up() {
    const std::string bytes(64 * 1024, 'x');
    std::size_t written = 0;
    error_code error;
    while (const std::size_t some = stream_->write_now({asio::buffer(bytes)}, error)) {
      written += some;
    }
    EXPECT_FALSE(error) << error.message();
    return written;
  }

  asio::io_context context_{1};
  int other_ = -1;
  std::unique_ptr<ByteStream> stream_;
  std::shared_ptr<KeepingUser> user_ = std::make_shared<KeepingUser>();
  std::string room_ = std::string(16, '\0');
};

TEST_F(TcpStreamTest, ReadsWhatComesWhenItComes) {
  stream_->read_some(asio::buffer(room_), user_);
  settle();
  EXPECT_FALSE(user_->read);
  send("hello");
  settle();
  ASSERT_TRUE(user_->read);
  EXPECT_FALSE(user_->read->error);
  EXPECT_EQ(room_.substr(0, user_->read->bytes), "hello");
}

TEST_F(TcpStreamTest, TellsTheOtherSidesEndAsAnError) {
  stream_->read_some(asio::buffer(room_), user_);
  leave();
  settle();
  ASSERT_TRUE(user_->read);
  EXPECT_EQ(user_->read->error, asio::error::eof);
}

TEST_F(TcpStreamTest, NeverTellsFromWithinACall) {
  send("hello");
  stream_->watch(user_);
  stream_->write_some({asio::buffer("there", 5)}, user_);
  EXPECT_FALSE(user_->readable || user_->written);
  settle();
  EXPECT_TRUE(user_->readable && user_->written);
  stream_->read_some(asio::buffer(room_), user_);
  EXPECT_FALSE(user_->read);
  settle();
  EXPECT_TRUE(user_->read);
}

TEST_F(TcpStreamTest, WritesBothPiecesInOrder) {
  error_code error;
  EXPECT_EQ(stream_->write_now({asio::buffer("one, ", 5), asio::buffer("two", 3)}, error), 8u);
  EXPECT_EQ(receive(), "one, two");
  stream_->write_some({asio::buffer("three, ", 7), asio::buffer("four", 4)}, user_);
  settle();
  ASSERT_TRUE(user_->written);
  EXPECT_EQ(user_->written->bytes, 11u);
  EXPECT_EQ(receive(), "three, four");
}

TEST_F(TcpStreamTest, AFullSocketIsNoErrorAndIsWaitedFor) {
  EXPECT_GT(fill_up(), 0u);
  stream_->write_some({asio::buffer("x", 1)}, user_);
  settle();
  EXPECT_FALSE(user_->written);
  while (receive() != "nothing") {
  }
  settle();
  ASSERT_TRUE(user_->written);
  EXPECT_EQ(user_->written->bytes, 1u);
}

TEST_F(TcpStreamTest, WritingToWhoHasGoneFails) {
  leave();
  error_code error;
  EXPECT_EQ(stream_->write_now({asio::buffer("x", 1)}, error), 0u);
  EXPECT_TRUE(error);
}

// The end is visible only after all bytes before it were read.
TEST_F(TcpStreamTest, WatchesWithoutReading) {
  stream_->watch(user_);
  EXPECT_FALSE(stream_->ended());
  send("hello");
  settle();
  ASSERT_TRUE(user_->readable);
  EXPECT_FALSE(user_->readable->error);
  leave();
  EXPECT_FALSE(stream_->ended());
  stream_->read_some(asio::buffer(room_), user_);
  settle();
  EXPECT_EQ(user_->read->bytes, 5u);
  EXPECT_TRUE(stream_->ended());
}

TEST_F(TcpStreamTest, CancelEndsWhatIsUnderWayAndNoMore) {
  stream_->read_some(asio::buffer(room_), user_);
  stream_->watch(user_);
  stream_->cancel();
  settle();
  ASSERT_TRUE(user_->read && user_->readable);
  EXPECT_EQ(user_->read->error, asio::error::operation_aborted);
  EXPECT_EQ(user_->readable->error, asio::error::operation_aborted);
  send("hello");
  stream_->read_some(asio::buffer(room_), user_);
  settle();
  EXPECT_EQ(user_->read->bytes, 5u);
}

TEST_F(TcpStreamTest, AfterTheEndOfItsOutputItStillReads) {
  stream_->end_output();
  EXPECT_EQ(receive(), "");
  send("late");
  stream_->read_some(asio::buffer(room_), user_);
  settle();
  EXPECT_EQ(user_->read->bytes, 4u);
}

TEST_F(TcpStreamTest, WhoSpeaksLivesUntilItIsTold) {
  const std::weak_ptr<KeepingUser> kept = user_;
  stream_->read_some(asio::buffer(room_), std::exchange(user_, nullptr));
  EXPECT_FALSE(kept.expired());
  stream_.reset();
  settle();
  EXPECT_TRUE(kept.expired());
}

TEST_F(TcpStreamTest, CloseEndsBothWays) {
  stream_->read_some(asio::buffer(room_), user_);
  stream_->close();
  settle();
  ASSERT_TRUE(user_->read);
  EXPECT_TRUE(user_->read->error);
  EXPECT_EQ(receive(), "");
}

}  // namespace
}  // namespace millrace::net
