// One connection between two nodes, either side of it: frames in, frames out, and whether the other
// is still there. What the frames mean is its owner's matter. Everything on the loop's thread.
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
  // Outlives the stream's work: until ended().
  class Owner {
   public:
    virtual ~Owner() = default;
    // May send and close. False: the frame has no place here, and the stream is closed.
    virtual bool received(const Frame& frame) = 0;
    // The last call; from the loop, not from within a call of the owner's. No read or write is
    // under way: what written() says is final.
    virtual void ended() = 0;
  };

  // Who has so much to send that is not yet written reads no more.
  PeerStream(Owner& owner, std::unique_ptr<net::ByteStream> bytes, const Clock& clock,
             const PeerTiming& timing, std::size_t most_unwritten_bytes);
  PeerStream(const PeerStream&) = delete;
  PeerStream& operator=(const PeerStream&) = delete;

  // `received` came before, behind what made the upgrade. At first frames have the handshake's
  // bound.
  void start(std::string_view received);
  // The handshake is over: frames of any size, pings, an end to its time.
  void open();

  // Where the frame ends among all the bytes sent. After close() it goes nowhere, and ends where
  // written() never gets.
  std::uint64_t send(FrameKind kind, std::uint64_t number,
                     std::initializer_list<std::string_view> parts = {});
  // How many of them the kernel has: a frame that ends beyond can't have been read by anybody.
  std::uint64_t written() const { return written_; }

  void close();
  bool closing() const { return closing_; }
  // Why, for the log; empty: the other side closed, or the connection broke.
  std::string_view fault() const { return fault_; }

  // To be called a few times a second: pings, and looks for the other's silence.
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
  std::size_t frame_wanted_ = 0;  // bytes of the frame that has begun to come
  bool reading_ = false;

  std::string writing_;  // handed to bytes_
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
