// Takes connections of TCP and deals them out to the I/O threads in turn.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <boost/asio/basic_socket_acceptor.hpp>

#include "base/result.h"
#include "net/connection_gate.h"
#include "net/io_thread.h"
#include "net/tcp_stream.h"

namespace millrace::net {

// Whether a listener could be bound there now; the error is bind()'s.
Status can_listen(const std::string& host, std::uint16_t port);

class Listener {
 public:
  // All of it outlives the listener.
  Listener(std::vector<IoThread*> threads, ConnectionGate& gate, ConnectionObserver& observer,
           StreamMaker make_stream);
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Binds and listens. The error names the address and says what to do.
  Status bind(const std::string& host, std::uint16_t port);
  std::uint16_t port() const { return port_; }

  // Begins to accept, on the first thread.
  void start();
  // Any thread. No connection is taken after it has run on the first thread; those that wait in the
  // kernel are refused.
  void close();

 private:
  void accept();
  void take(IoThread& thread, Socket socket);
  void turn_one_away();
  void pause();

  const std::vector<IoThread*> threads_;
  ConnectionGate& gate_;
  ConnectionObserver& observer_;
  const StreamMaker make_stream_;
  boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, Executor> acceptor_;
  Timer pause_;
  std::size_t next_thread_ = 0;
  std::uint16_t port_ = 0;
  // Kept open for the day when no descriptor is left: closing it lets one connection in, to be
  // closed at once, so that its client is not left waiting in the backlog.
  int spare_descriptor_;
};

}  // namespace millrace::net
