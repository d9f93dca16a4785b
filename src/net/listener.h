// Accepts TCP or Unix-socket connections and distributes them over the I/O threads in turn.
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

// Checks whether a listener could bind there now. The error is bind()'s.
Status can_listen(const std::string& host, std::uint16_t port);

struct ListenerOptions {
  AddressSet proxies;  // their PROXY headers are trusted
  // The most TLS handshakes at a time; one address that is not a proxy may have an eighth of them.
  std::size_t max_handshakes = 1'024;
};

class Listener {
 public:
  // All of the arguments must outlive the listener.
  Listener(std::vector<IoThread*> threads, ConnectionGate& gate, ConnectionObserver& observer,
           StreamMaker make_stream, ListenerOptions options = {});
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  // Binds and listens. The error names the address and says how to fix it.
  Status bind(const std::string& host, std::uint16_t port);
  std::uint16_t port() const { return port_; }
  // Does the same at a file system path.
  Status bind(const std::string& path, unsigned mode);

  // Starts to accept, on the first thread.
  void start();
  // Thread-safe. Takes effect on the first thread: no connection is accepted afterwards, and those
  // in the kernel's queue are refused.
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
  // Streams whose handshakes it counts keep it alive beyond the listener.
  const std::shared_ptr<ConnectionGate> handshakes_;
  std::optional<LocalAcceptor> local_;
  std::string path_;  // of local_
  std::size_t next_thread_ = 0;
  std::uint16_t port_ = 0;
  // Kept open for the case that no descriptor is left. Closing it lets one connection be accepted
  // and closed at once, so that its client is not left waiting in the backlog.
  int spare_descriptor_;
};

}  // namespace millrace::net
