// Takes connections of TCP, or of a socket of the file system, and deals them out to the I/O
// threads in turn.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <boost/asio/basic_socket_acceptor.hpp>
#include <boost/asio/local/stream_protocol.hpp>

#include "base/result.h"
#include "net/address_set.h"
#include "net/connection_gate.h"
#include "net/io_thread.h"
#include "net/tcp_stream.h"

namespace millrace::net {

// Whether a listener could be bound there now; the error is bind()'s.
Status can_listen(const std::string& host, std::uint16_t port);

struct ListenerOptions {
  AddressSet proxies;  // that may say whose connection it is
  // Of TLS, under way at a time; of one address that is no proxy, an eighth of it.
  std::size_t max_handshakes = 1'024;
};

class Listener {
 public:
  // All of it outlives the listener.
  Listener(std::vector<IoThread*> threads, ConnectionGate& gate, ConnectionObserver& observer,
           StreamMaker make_stream, ListenerOptions options = {});
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Binds and listens. The error names the address and says what to do.
  Status bind(const std::string& host, std::uint16_t port);
  std::uint16_t port() const { return port_; }
  // The same at a path of the file system.
  Status bind(const std::string& path, unsigned mode);

  // Begins to accept, on the first thread.
  void start();
  // Any thread. No connection is taken after it has run on the first thread; those that wait in the
  // kernel are refused.
  void close();

 private:
  using LocalAcceptor =
      boost::asio::basic_socket_acceptor<boost::asio::local::stream_protocol, Executor>;

  IoThread& next_thread();
  void remove_file();
  void accept();
  void accept_local();
  void take(IoThread& thread, Socket socket);
  void enter(IoThread& thread, Socket socket, std::string address);
  void ask_proxy(IoThread& thread, Socket socket, std::string proxy);
  void serve(IoThread& thread, Socket socket, std::string address);
  void turn_one_away();
  void pause();

  const std::vector<IoThread*> threads_;
  ConnectionGate& gate_;
  ConnectionObserver& observer_;
  const StreamMaker make_stream_;
  boost::asio::basic_socket_acceptor<boost::asio::ip::tcp, Executor> acceptor_;
  Timer pause_;
  const ListenerOptions options_;
  // Outlives the listener in the streams whose handshakes it counts.
  const std::shared_ptr<ConnectionGate> handshakes_;
  std::optional<LocalAcceptor> local_;
  std::string path_;  // of the local one
  std::size_t next_thread_ = 0;
  std::uint16_t port_ = 0;
  // Kept open for the day when no descriptor is left: closing it lets one connection in, to be
  // closed at once, so that its client is not left waiting in the backlog.
  int spare_descriptor_;
};

}  // namespace millrace::net
