// A byte stream over TLS and TCP. The handshake is part of the first read or write, so a caller's
// time limit on those covers it too. The process must ignore SIGPIPE.
#pragma once

#include <memory>
#include <string>

#include "net/tcp_stream.h"

struct ssl_st;  // OpenSSL's

namespace millrace::net {

class TlsStream final : public ByteStream {
 public:
  // `ssl` has its side set and no connection yet. The stream takes ownership.
  TlsStream(Socket socket, ssl_st* ssl);
  ~TlsStream() override;

  Executor executor() override;
  void read_some(boost::asio::mutable_buffer room, std::shared_ptr<User> user) override;
  void watch(std::shared_ptr<User> user) override;
  bool ended() override;
  std::size_t write_now(const Pieces& pieces, error_code& error) override;
  void write_some(const Pieces& pieces, std::shared_ptr<User> user) override;
  std::string certified_name() const override;
  void keep_through_handshake(std::shared_ptr<void> kept) override;
  void cancel() override;
  void end_output() override;
  void close() override;

 private:
  class Connection;
  // Pending operations keep it alive.
  const std::shared_ptr<Connection> connection_;
};

}  // namespace millrace::net
