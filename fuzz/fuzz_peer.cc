// Any bytes as one node's input to another on an upgraded connection. Byte 0, bit 0: use the
// handshake's limit on frames instead of the usual one. The rest is a stream of frames. Requests
// and answers in them are read or refused, and those that were read are unchanged after writing and
// reading them again. However the bytes are split, the frames are the same.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "engine/wire/request_codec.h"
#include "http/peer/peer_frames.h"

namespace {

using namespace millrace;

void encode(const engine::Request& request, std::string& out) {
  engine::encode_request(request, out);
  std::string at_first;  // the value as sent to an older node
  engine::encode_request(request, at_first, engine::PeerLevel::kFirst);
  MILLRACE_CHECK(engine::decode_request(at_first).has_value());
}
void encode(const engine::Answer& answer, std::string& out) {
  engine::encode_answer(answer, out);
  std::string at_first;
  engine::encode_answer(answer, at_first, engine::PeerLevel::kFirst);
  MILLRACE_CHECK(engine::decode_answer(at_first).has_value());
}

template <typename Value>
void check_value(const Result<Value>& read, Result<Value> (*decode)(std::string_view)) {
  if (!read) {
    MILLRACE_CHECK(!read.error().message.empty());
    return;
  }
  std::string first;
  encode(*read, first);
  const auto again = decode(first);
  MILLRACE_CHECK(again.has_value());
  std::string second;
  encode(*again, second);
  MILLRACE_CHECK(first == second);
}

void check_frame(const http::Frame& frame, std::string_view raw) {
  std::string written;
  http::append_frame(written, frame.kind, frame.number, {frame.body});
  MILLRACE_CHECK(written == raw);
  switch (frame.kind) {
    case http::FrameKind::kAsk: {
      const auto ask = http::read_ask(frame.body);
      if (!ask) return;
      std::string head;
      http::append_ask_head(head, ask->shard, ask->credentials);
      MILLRACE_CHECK(head + std::string(ask->request) == frame.body);
      check_value(engine::decode_request(ask->request), engine::decode_request);
      return;
    }
    case http::FrameKind::kAnswer:
      check_value(engine::decode_answer(frame.body), engine::decode_answer);
      return;
    case http::FrameKind::kGiveShard:
      if (const auto give = http::read_give_shard(frame.body)) {
        MILLRACE_CHECK(http::give_shard_body(*give) == frame.body);
      }
      return;
    default:
      return;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t most =
      (data[0] & 1) != 0 ? http::kMaxHandshakeFrameBytes : http::kMaxFrameBytes;
  std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  while (true) {
    http::Frame frame;
    std::size_t frame_bytes = 0;
    const http::FrameRead read = http::read_frame(rest, most, frame, frame_bytes);
    if (read != http::FrameRead::kFrame) {
      MILLRACE_CHECK(read == http::FrameRead::kBad || frame_bytes == 0 ||
                     frame_bytes > rest.size());
      break;
    }
    MILLRACE_CHECK(frame_bytes <= rest.size() && frame_bytes <= most + 4);
    // No shorter part may be a complete frame.
    http::Frame cut;
    std::size_t wanted = 0;
    const auto early = http::read_frame(rest.substr(0, frame_bytes - 1), most, cut, wanted);
    MILLRACE_CHECK(early == http::FrameRead::kNeedMore);
    check_frame(frame, rest.substr(0, frame_bytes));
    rest.remove_prefix(frame_bytes);
  }
  return 0;
}
