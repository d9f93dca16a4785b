// The byte stream of one connection, used by a session or a link between nodes. TcpStream carries
// the bytes unchanged; TlsStream encrypts them.
//
// Used only on the thread of the loop that the stream was made for. At most one read, one write and
// one watch may be pending at a time.
#pragma once

#include <array>
#include <cstddef>
#include <memory>
#include <string>

#include <boost/asio/buffer.hpp>

#include "net/loop.h"

namespace millrace::net {

class ByteStream {
 public:
  // The data to write: the first piece, then the second. Either may be empty.
  using Pieces = std::array<boost::asio::const_buffer, 2>;

  // The stream's user. A pending operation keeps its user alive and calls it exactly once, from the
  // loop and never from inside a call to the stream. It does so even if the operation was cancelled
  // or the stream was closed or destroyed.
  class User {
   public:
    // `bytes` bytes are in the buffer. `error` also reports the peer's orderly shutdown.
    virtual void on_read(const error_code& error, std::size_t bytes) = 0;
    // `bytes` bytes have been written, even if `error` is set.
    virtual void on_written(const error_code& error, std::size_t bytes) = 0;
    virtual void on_readable(const error_code& /*error*/) {}

   protected:
    ~User() = default;
  };

  virtual ~ByteStream() = default;

  virtual Executor executor() = 0;

  // Reads available bytes, or waits until some arrive. `room` must stay valid until on_read().
  virtual void read_some(boost::asio::mutable_buffer room, std::shared_ptr<User> user) = 0;
  // Calls on_readable() once there are bytes to read or the end is reached. Consumes nothing.
  virtual void watch(std::shared_ptr<User> user) = 0;
  // True: nothing more can be read, because the peer has ended its output or the connection is
  // broken. False if that is not known yet, or if unread bytes precede the end. Does not block.
  virtual bool ended() = 0;

  // Writes as much as possible without blocking and returns that size. 0 without an error means
  // that nothing can be written now, and the caller must use write_some().
  virtual std::size_t write_now(const Pieces& pieces, error_code& error) = 0;
  // Writes at least one byte once that is possible. `pieces` must stay valid until on_written().
  virtual void write_some(const Pieces& pieces, std::shared_ptr<User> user) = 0;

  // The name in the peer's certificate, known once something has been read: its first DNS name, URI
  // or email address, else its common name. Empty if the peer has shown no certificate signed by
  // one of the configured authorities.
  virtual std::string certified_name() const { return {}; }

  // Holds `kept` until the handshake is over, if the stream has one.
  virtual void keep_through_handshake(std::shared_ptr<void> /*kept*/) {}

  // Ends pending operations now; the stream stays usable.
  virtual void cancel() = 0;
  // The peer reads the end of our output, and can still send.
  virtual void end_output() = 0;
  // Closes both directions at once. No operation may be started afterwards.
  virtual void close() = 0;
};

}  // namespace millrace::net
