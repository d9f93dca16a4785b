// The bytes of one connection, as whoever speaks over it sees them: a session, a link between
// nodes. TcpStream carries them as they are; what encrypts them is one class more.
//
// On the thread of the loop that the stream was made for. At most one read, one write and one watch
// are under way at a time.
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
  // What is to be written: the one, then the other. Either may be empty.
  using Pieces = std::array<boost::asio::const_buffer, 2>;

  // Who speaks. What is under way keeps it alive, and calls it once, from the loop and never from
  // within a call of the stream: also when it was cancelled, or the stream closed or destroyed.
  class User {
   public:
    // So many bytes are in the buffer. The error is also the other side's regular end.
    virtual void on_read(const error_code& error, std::size_t bytes) = 0;
    // So many bytes have been taken, also where an error came with them.
    virtual void on_written(const error_code& error, std::size_t bytes) = 0;
    virtual void on_readable(const error_code& /*error*/) {}

   protected:
    ~User() = default;
  };

  virtual ~ByteStream() = default;

  virtual Executor executor() = 0;

  // Reads what has come, or waits until something does. `room` stays until on_read().
  virtual void read_some(boost::asio::mutable_buffer room, std::shared_ptr<User> user) = 0;
  // Leaves what has come where it is, and tells on_readable() that there is something, or the end.
  virtual void watch(std::shared_ptr<User> user) = 0;
  // Nothing more can be read: the other side has ended its, or the connection is broken. False
  // where nobody knows yet, and where unread bytes stand before the end. Does not wait.
  virtual bool ended() = 0;

  // Writes as much as goes without waiting and says how much that was; 0 without an error: nothing
  // now, so write_some() is called for.
  virtual std::size_t write_now(const Pieces& pieces, error_code& error) = 0;
  // Writes at least a byte, once that can be done. What the pieces name stays until on_written().
  virtual void write_some(const Pieces& pieces, std::shared_ptr<User> user) = 0;

  // The name in the certificate that the other side has shown, once something has been read: its
  // first DNS name, URI or address of e-mail, else its common name. Empty: it has shown none that
  // an authority of ours has signed.
  virtual std::string certified_name() const { return {}; }

  // Kept until the handshake is over, where there is one.
  virtual void keep_through_handshake(std::shared_ptr<void> /*kept*/) {}

  // What is under way ends now; the stream can be used further.
  virtual void cancel() = 0;
  // The other side reads an end, and can still send.
  virtual void end_output() = 0;
  // Both ways, at once; nothing is begun after it.
  virtual void close() = 0;
};

}  // namespace millrace::net
