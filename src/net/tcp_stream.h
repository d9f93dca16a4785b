// A byte stream over plain TCP.
#pragma once

#include <functional>
#include <memory>

#include <boost/asio/ip/tcp.hpp>

#include "net/byte_stream.h"

namespace millrace::net {

using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;

class TcpStream final : public ByteStream {
 public:
  // `socket` must be connected.
  explicit TcpStream(Socket socket);

  Executor executor() override { return socket_.get_executor(); }
  void read_some(boost::asio::mutable_buffer room, std::shared_ptr<User> user) override;
  void watch(std::shared_ptr<User> user) override;
  bool ended() override;
  std::size_t write_now(const Pieces& pieces, error_code& error) override;
  void write_some(const Pieces& pieces, std::shared_ptr<User> user) override;
  void cancel() override;
  void end_output() override;
  void close() override;

 private:
  Socket socket_;
};

// Makes the stream of a new connection.
using StreamMaker = std::function<std::unique_ptr<ByteStream>(Socket socket)>;
std::unique_ptr<ByteStream> make_tcp_stream(Socket socket);

}  // namespace millrace::net
