#include "http/peer/peer_stream.h"

#include <algorithm>
#include <limits>
#include <utility>

#include <boost/asio/buffer.hpp>
#include <boost/asio/post.hpp>

#include "base/free_memory.h"

namespace millrace::http {
namespace {

namespace asio = boost::asio;
using net::error_code;
using net::InputBuffer;

}  // namespace

PeerStream::PeerStream(Owner& owner, std::unique_ptr<net::ByteStream> bytes, const Clock& clock,
                       const PeerTiming& timing, std::size_t most_unwritten_bytes)
    : owner_(owner),
      bytes_(std::move(bytes)),
      clock_(clock),
      timing_(timing),
      most_unwritten_(most_unwritten_bytes) {}

void PeerStream::start(std::string_view received) {
  begun_at_ = heard_at_ = said_at_ = clock_.steady();
  make_room(received.size());
  while (input_.room() < received.size()) input_.grow(received.size());
  std::copy(received.begin(), received.end(), input_.tail());
  input_.commit(received.size());
  take_frames();
  read_more();
}

void PeerStream::open() {
  open_ = true;
  most_frame_ = kMaxFrameBytes;
}

std::uint64_t PeerStream::send(FrameKind kind, std::uint64_t number,
                               std::initializer_list<std::string_view> parts) {
  if (closing_) return std::numeric_limits<std::uint64_t>::max();
  const std::size_t before = gathering_.size();
  append_frame(gathering_, kind, number, parts);
  sent_ += gathering_.size() - before;
  said_at_ = clock_.steady();
  const std::uint64_t end = sent_;
  write_more();
  return end;
}

void PeerStream::check(Steady now) {
  if (closing_) return;
  if (!open_ && now - begun_at_ > timing_.handshake) {
    return close_for("the other node did not finish the handshake in time");
  }
  if (now - heard_at_ > timing_.silence) return close_for("the other node sent nothing in time");
  if (open_ && unwritten() == 0 && now - said_at_ >= timing_.ping_every) {
    send(FrameKind::kPing, 0);
  }
}

// --- The end: the connection is closed at once, and the owner is told when pending operations are
// over.

void PeerStream::close() {
  if (closing_) return;
  closing_ = true;
  bytes_->close();
  end_if_idle();
}

void PeerStream::close_for(std::string_view fault) {
  if (!closing_) fault_ = fault;
  close();
}

void PeerStream::end_if_idle() {
  if (!closing_ || ended_ || reading_ || write_under_way_) return;
  ended_ = true;
  asio::post(bytes_->executor(), [self = shared_from_this()] { self->owner_.ended(); });
}

// --- Reading.

// Makes room for many small frames in one read; a large frame gets room as it arrives.
void PeerStream::make_room(std::size_t wanted) {
  input_.compact();
  while (input_.empty() && input_.room() < InputBuffer::kKeptBytes) {
    input_.grow(InputBuffer::kKeptBytes);
  }
  if (input_.room() == 0) input_.grow(wanted);
}

void PeerStream::read_more() {
  if (closing_ || reading_ || paused()) return;
  make_room(frame_wanted_);
  reading_ = true;
  bytes_->read_some(asio::buffer(input_.tail(), input_.room()), self());
}

void PeerStream::on_read(const error_code& error, std::size_t bytes) {
  reading_ = false;
  if (closing_) return end_if_idle();
  if (error) return close();
  input_.commit(bytes);
  heard_at_ = clock_.steady();
  take_frames();
  read_more();
}

void PeerStream::take_frames() {
  while (!closing_) {
    Frame frame;
    switch (read_frame(input_.view(), most_frame_, frame, frame_wanted_)) {
      case FrameRead::kNeedMore:
        return;
      case FrameRead::kBad:
        return close_for("the other node sent bytes that are not a frame");
      case FrameRead::kFrame:
        break;
    }
    const std::size_t bytes = frame_wanted_;
    if (!owner_.received(frame))
      return close_for("the other node sent a frame that is not allowed now");
    input_.consume(bytes);
  }
}

// --- Writing: one write at a time; frames sent meanwhile are gathered for the next.

void PeerStream::write_more() {
  if (closing_ || write_under_way_) return;
  if (writing_from_ == writing_.size()) {
    writing_.clear();
    writing_from_ = 0;
    if (writing_.capacity() > InputBuffer::kKeptBytes) free_memory(writing_);
    writing_.swap(gathering_);
    if (writing_.empty()) return;
  }
  write_under_way_ = true;
  bytes_->write_some({asio::buffer(writing_) + writing_from_}, self());
}

void PeerStream::on_written(const error_code& error, std::size_t bytes) {
  write_under_way_ = false;
  // Counted even if the stream has been closed: the bytes have left.
  written_ += bytes;
  writing_from_ += bytes;
  if (closing_) return end_if_idle();
  if (error) return close();
  // While this side does not read, the peer's progress in reading counts as a sign of life.
  if (!reading_) heard_at_ = clock_.steady();
  write_more();
  read_more();
}

}  // namespace millrace::http
