#include "http/peer/peer_frames.h"

#include "base/check.h"

namespace millrace::http {
namespace {

constexpr std::size_t kNumberBytes = 8;

template <typename Number>
void put(std::string& out, Number number) {
  for (std::size_t i = 0; i < sizeof number; ++i) {
    out += static_cast<char>(static_cast<std::uint8_t>(number >> (8 * i)));
  }
}

// Requires enough bytes in `from`.
template <typename Number>
Number take(std::string_view& from) {
  Number number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) {
    number |=
        static_cast<Number>(static_cast<Number>(static_cast<std::uint8_t>(from[i])) << (8 * i));
  }
  from.remove_prefix(sizeof number);
  return number;
}

}  // namespace

FrameRead read_frame(std::string_view received, std::size_t most, Frame& frame,
                     std::size_t& frame_bytes) {
  frame_bytes = 0;
  if (received.size() < kFrameLengthBytes) return FrameRead::kNeedMore;
  std::string_view rest = received;
  const auto length = take<std::uint32_t>(rest);
  if (length < kFrameHeadBytes - kFrameLengthBytes || length > most) return FrameRead::kBad;
  frame_bytes = kFrameLengthBytes + length;
  if (received.size() < frame_bytes) return FrameRead::kNeedMore;
  frame.number = take<std::uint64_t>(rest);
  frame.kind = static_cast<FrameKind>(rest[0]);
  frame.body = received.substr(kFrameHeadBytes, frame_bytes - kFrameHeadBytes);
  return FrameRead::kFrame;
}

void append_frame(std::string& out, FrameKind kind, std::uint64_t number,
                  std::initializer_list<std::string_view> parts) {
  std::size_t length = kNumberBytes + 1;
  for (const std::string_view part : parts) length += part.size();
  MILLRACE_CHECK(length <= kMaxFrameBytes);
  put(out, static_cast<std::uint32_t>(length));
  put(out, number);
  out += static_cast<char>(kind);
  for (const std::string_view part : parts) out += part;
}

std::optional<AskBody> read_ask(std::string_view body) {
  if (body.size() < sizeof(std::uint32_t) + sizeof(std::uint16_t)) return std::nullopt;
  AskBody ask;
  ask.shard = take<std::uint32_t>(body);
  const auto size = take<std::uint16_t>(body);
  if (body.size() < size) return std::nullopt;
  ask.credentials = body.substr(0, size);
  ask.request = body.substr(size);
  return ask;
}

void append_ask_head(std::string& out, std::uint32_t shard, std::string_view credentials) {
  MILLRACE_CHECK(credentials.size() <= kMaxCredentialsBytes);
  put(out, shard);
  put(out, static_cast<std::uint16_t>(credentials.size()));
  out += credentials;
}

std::optional<GiveShardBody> read_give_shard(std::string_view body) {
  if (body.size() != sizeof(std::uint32_t) + 2 * sizeof(std::uint64_t)) return std::nullopt;
  GiveShardBody give;
  give.shard = take<std::uint32_t>(body);
  give.asker = take<std::uint64_t>(body);
  give.epoch = Epoch{take<std::uint64_t>(body)};
  return give;
}

std::string give_shard_body(const GiveShardBody& give) {
  std::string body;
  put(body, give.shard);
  put(body, give.asker);
  put(body, to_number(give.epoch));
  return body;
}

std::optional<bool> read_given(std::string_view body) {
  if (body.size() != 1 || static_cast<std::uint8_t>(body[0]) > 1) return std::nullopt;
  return body[0] == 1;
}

std::string_view given_body(bool given) {
  return given ? std::string_view("\1", 1) : std::string_view("\0", 1);
}

}  // namespace millrace::http
