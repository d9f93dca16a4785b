// For tests of streams and of the rooms that use them.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <utility>

#include "net/tcp_stream.h"

namespace millrace::net {

// Records the results that a stream reports.
struct Told {
  error_code error;
  std::size_t bytes = 0;
};

struct KeepingUser final : ByteStream::User {
  void on_read(const error_code& error, std::size_t bytes) override { read = {error, bytes}; }
  void on_written(const error_code& error, std::size_t bytes) override { written = {error, bytes}; }
  void on_readable(const error_code& error) override { readable = {error, 0}; }

  std::optional<Told> read;
  std::optional<Told> written;
  std::optional<Told> readable;
};

// Carries another stream's bytes in the smallest pieces allowed: reads of one byte and writes of a
// few. Every other write_now() writes nothing, as if it would block.
class TrickleStream final : public ByteStream {
 public:
  explicit TrickleStream(std::unique_ptr<ByteStream> next) : next_(std::move(next)) {}

  Executor executor() override { return next_->executor(); }
  void read_some(boost::asio::mutable_buffer room, std::shared_ptr<User> user) override {
    next_->read_some(boost::asio::buffer(room, 1), std::move(user));
  }
  void watch(std::shared_ptr<User> user) override { next_->watch(std::move(user)); }
  bool ended() override { return next_->ended(); }
  std::size_t write_now(const Pieces& pieces, error_code& error) override {
    waits_ = !waits_;
    return waits_ ? 0 : next_->write_now(first_of(pieces), error);
  }
  void write_some(const Pieces& pieces, std::shared_ptr<User> user) override {
    next_->write_some(first_of(pieces), std::move(user));
  }
  void cancel() override { next_->cancel(); }
  void end_output() override { next_->end_output(); }
  void close() override { next_->close(); }

 private:
  static constexpr std::size_t kWritten = 7;

  static Pieces first_of(const Pieces& pieces) {
    const auto first = boost::asio::buffer(pieces[0], kWritten);
    return {first, boost::asio::buffer(pieces[1], kWritten - first.size())};
  }

  const std::unique_ptr<ByteStream> next_;
  bool waits_ = true;
};

inline std::unique_ptr<ByteStream> make_trickle_stream(Socket socket) {
  return std::make_unique<TrickleStream>(std::make_unique<TcpStream>(std::move(socket)));
}

}  // namespace millrace::net
