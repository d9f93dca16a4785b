// An I/O thread of a door: one event loop and the connections that it serves, whatever they speak.
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

// What becomes of connections. Any I/O thread; must be quick.
class ConnectionObserver {
 public:
  virtual ~ConnectionObserver() = default;
  // One was taken, or turned away because there are too many; and ended.
  enum class Connection : std::uint8_t { kOpened, kRefused, kClosed };
  virtual void connection(Connection what) = 0;
};

// A connection that is served. Everything on its loop's thread.
class Connection {
 public:
  virtual ~Connection() = default;
  virtual void start() = 0;
  // Nothing new is begun; what is under way gets its answer.
  virtual void drain() = 0;
  // A few times a second: to look at deadlines.
  virtual void check(Steady now) = 0;
  virtual const std::string& peer() const = 0;  // the other side's address
};

class IoThread {
 public:
  // What is spoken on the connections that come in.
  class Protocol {
   public:
    // On the loop's thread.
    virtual std::shared_ptr<Connection> serve(std::unique_ptr<ByteStream> stream,
                                              std::string peer) = 0;

   protected:
    ~Protocol() = default;
  };

  // All of it outlives the thread.
  IoThread(Protocol& protocol, const Clock& clock, ConnectionGate& gate,
           ConnectionObserver& observer);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // --- Any thread.
  void start(const char* name) { loop_.start(name); }
  // A new connection that the gate has let in. The stream was made for context().
  void adopt(std::unique_ptr<ByteStream> stream, std::string peer);
  void drain();
  // Ends the loop and the thread; connections are cut.
  void stop() { loop_.stop(); }
  boost::asio::io_context& context() { return loop_.context(); }

  // --- The loop's thread, for connections.
  // It has come to its end, and is destroyed once nothing of it runs any more.
  void retire(std::shared_ptr<Connection> connection);
  // `next` speaks on the connection's stream from here on; it has been started.
  void replace(std::shared_ptr<Connection> connection, std::shared_ptr<Connection> next);

 private:
  void sweep();
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
