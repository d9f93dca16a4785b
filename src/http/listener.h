// Takes connections and deals them out to the I/O threads in turn.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "base/result.h"
#include "http/connection_gate.h"
#include "http/io_thread.h"

namespace millrace::http {

class Listener {
 public:
  Listener(std::vector<std::unique_ptr<IoThread>>& threads, ConnectionGate& gate,
           Observer& observer);
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
  void take(IoThread& thread, IoThread::Socket socket);
  void turn_one_away();
  void pause();

  std::vector<std::unique_ptr<IoThread>>& threads_;
  ConnectionGate& gate_;
  Observer& observer_;
  boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, IoThread::Executor> acceptor_;
  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>,
                                    IoThread::Executor>
      pause_;
  std::size_t next_thread_ = 0;
  std::uint16_t port_ = 0;
  // Kept open for the day when no descriptor is left: closing it lets one connection in, to be
  // closed at once, so that its client is not left waiting in the backlog.
  int spare_descriptor_;
};

}  // namespace millrace::http
