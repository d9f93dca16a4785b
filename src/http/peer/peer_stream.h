// One side of a connection between two nodes: reads and writes frames, and detects that the peer is
// gone. Its owner interprets the frames. Runs on the loop's thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>

#include "base/clock.h"
#include "http/peer/peer_access.h"
#include "http/peer/peer_frames.h"
#include "net/byte_stream.h"
#include "net/input_buffer.h"

namespace millrace::http {

class PeerStream final : public std::enable_shared_from_this<PeerStream>, net::ByteStream::User {
 public:
  // Must outlive the stream's work, which ends with ended().
  class Owner {
   public:
    virtual ~Owner() = default;
    // May call send() and close(). False: the frame is not allowed here, and the stream closes.
    virtual bool received(const Frame& frame) = 0;
    // The last call, made from the loop and never from inside a call by the owner. No read or write
    // is pending, so written() is final.
    virtual void ended() = 0;
  };

  // The stream stops reading while more than `most_unwritten_bytes` wait to be written.
  PeerStream(Owner& owner, std::unique_ptr<net::ByteStream> bytes, const Clock& clock,
             const PeerTiming& timing, std::size_t most_unwritten_bytes);
  PeerStream(const PeerStream&) = delete;
  PeerStream& operator=(const PeerStream&) = delete;

  // `received`: the bytes that came after the upgrade. Until open(), frames have the handshake's
  // size limit.
  void start(std::string_view received);
  // The handshake is over: allows frames of any size, begins to send pings, and lifts the
  // handshake's deadline.
  void open();

  // Sends a frame, and returns the position of its end among all bytes sent. After close() it sends
  // nothing, and returns a position that written() never reaches.
  std::uint64_t send(FrameKind kind, std::uint64_t number,
                     std::initializer_list<std::string_view> parts = {});
  // The number of bytes that the kernel has accepted. The peer can't have received a frame that
  // ends after it.
  std::uint64_t written() const { return written_; }

  void close();
  bool closing() const { return closing_; }
  // The reason for closing, for the log; empty: the peer closed, or the connection broke.
  std::string_view fault() const { return fault_; }

  // Sends pings, and closes if the peer is silent. Must be called a few times a second.
  void check(Steady now);

 private:
  void read_more();
  void on_read(const net::error_code& error, std::size_t bytes) override;
  void take_frames();
  void make_room(std::size_t wanted);
  void write_more();
  void on_written(const net::error_code& error, std::size_t bytes) override;
  void close_for(std::string_view fault);
  void end_if_idle();
  std::uint64_t unwritten() const { return sent_ - written_; }
  bool paused() const { return unwritten() > most_unwritten_; }
  std::shared_ptr<net::ByteStream::User> self() { return {shared_from_this(), this}; }

  Owner& owner_;
  const std::unique_ptr<net::ByteStream> bytes_;
  const Clock& clock_;
  const PeerTiming timing_;
  const std::uint64_t most_unwritten_;

  net::InputBuffer input_;
  std::size_t most_frame_ = kMaxHandshakeFrameBytes;
  std::size_t frame_wanted_ = 0;  // the size of the frame being received
  bool reading_ = false;

  std::string writing_;  // passed to bytes_
  std::size_t writing_from_ = 0;
  std::string gathering_;
  bool write_under_way_ = false;
  std::uint64_t sent_ = 0;
  std::uint64_t written_ = 0;

  bool open_ = false;
  bool closing_ = false;
  bool ended_ = false;
  std::string_view fault_;
  Steady begun_at_{};
  Steady heard_at_{};
  Steady said_at_{};
};

}  // namespace millrace::http
