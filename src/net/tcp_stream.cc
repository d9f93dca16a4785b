#include "net/tcp_stream.h"

#include <utility>

#include <boost/asio/error.hpp>

namespace millrace::net {
namespace {

namespace asio = boost::asio;

// The operation would have blocked.
bool is_for_later(const error_code& error) {
  return error == asio::error::would_block || error == asio::error::try_again;
}

}  // namespace

TcpStream::TcpStream(Socket socket) : socket_(std::move(socket)) {
  error_code ignored;
  socket_.non_blocking(true, ignored);
}

void TcpStream::read_some(asio::mutable_buffer room, std::shared_ptr<User> user) {
  socket_.async_read_some(room,
                          [user = std::move(user)](const error_code& error, std::size_t bytes) {
                            user->on_read(error, bytes);
                          });
}

void TcpStream::watch(std::shared_ptr<User> user) {
  socket_.async_wait(Socket::wait_read, [user = std::move(user)](const error_code& error) {
    user->on_readable(error);
  });
}

bool TcpStream::ended() {
  char first = 0;
  error_code error;
  socket_.receive(asio::buffer(&first, 1), asio::socket_base::message_peek, error);
  return error && !is_for_later(error);
}

std::size_t TcpStream::write_now(const Pieces& pieces, error_code& error) {
  const std::size_t written = socket_.write_some(pieces, error);
  if (is_for_later(error)) error.clear();
  return written;
}

void TcpStream::write_some(const Pieces& pieces, std::shared_ptr<User> user) {
  socket_.async_write_some(pieces,
                           [user = std::move(user)](const error_code& error, std::size_t bytes) {
                             user->on_written(error, bytes);
                           });
}

void TcpStream::cancel() {
  error_code ignored;
  socket_.cancel(ignored);
}

void TcpStream::end_output() {
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
}

void TcpStream::close() {
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_both, ignored);
  socket_.close(ignored);
}

std::unique_ptr<ByteStream> make_tcp_stream(Socket socket) {
  return std::make_unique<TcpStream>(std::move(socket));
}

}  // namespace millrace::net
