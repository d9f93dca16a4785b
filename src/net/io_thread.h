// An I/O thread of a door: one event loop and the connections that it serves, of any protocol.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/clock.h"
#include "net/byte_stream.h"
#include "net/connection_gate.h"
#include "net/loop.h"

namespace millrace::net {

// Observes connections. Called on any I/O thread; must return quickly.
class ConnectionObserver {
 public:
  virtual ~ConnectionObserver() = default;
  // A connection was accepted, refused because there are too many, or closed.
  enum class Connection : std::uint8_t { kOpened, kRefused, kClosed };
  virtual void connection(Connection what) = 0;
};

// A connection that is served. Used only on its loop's thread.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  // Starts nothing new; pending requests still get their answers.
  virtual void drain() = 0;
  // Checks deadlines; called a few times a second. May end the connection, at once or later.
  virtual void check(Steady now) = 0;
  virtual const std::string& peer() const = 0;  // the peer's address
};

class IoThread {
 public:
  // The protocol of incoming connections.
  class Protocol {
   public:
    // Called on the loop's thread.
    virtual std::shared_ptr<Connection> serve(std::unique_ptr<ByteStream> stream,
                                              std::string peer) = 0;

   protected:
    ~Protocol() = default;
  };

  // All of the arguments must outlive the thread.
  IoThread(Protocol& protocol, const Clock& clock, ConnectionGate& gate,
           ConnectionObserver& observer);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // --- Thread-safe.
  void start(const char* name) { loop_.start(name); }
  // Takes a new connection that the gate has let in. The stream was made for context().
  void adopt(std::unique_ptr<ByteStream> stream, std::string peer);
  void drain();
  // Ends the loop and the thread; connections are cut.
  void stop() { loop_.stop(); }
  boost::asio::io_context& context() { return loop_.context(); }

  // --- For connections, on the loop's thread.
  // The connection has ended. It is destroyed once none of its code is running.
  void retire(std::shared_ptr<Connection> connection);
  // `next` takes over the connection's stream; it has already been started.
  void replace(std::shared_ptr<Connection> connection, std::shared_ptr<Connection> next);

 private:
  void sweep();
  // Calls `each` for every connection; connections may end and come meanwhile.
  template <typename Each>
  void for_all(const Each& each);
  void let_go(std::shared_ptr<Connection> connection);

  Protocol& protocol_;
  const Clock& clock_;
  ConnectionGate& gate_;
  ConnectionObserver& observer_;
  Loop loop_;
  Timer sweeper_;
  bool sweeping_ = false;
  std::unordered_set<std::shared_ptr<Connection>> connections_;
};

}  // namespace millrace::net
