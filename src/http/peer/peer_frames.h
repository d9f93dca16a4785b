// The protocol between nodes on an upgraded connection (GET /internal/v1/peer, Upgrade:
// millrace-peer/1). It consists of frames and allows many requests at a time. Numbers are
// little-endian.
//
//   length  4 bytes: the size of the rest of the frame
//   number  8 bytes: the request's, counted by its asker from 1; 0: no request
//   kind    1 byte
//   body
//
// The node that connected is the asker, the other one the answerer. First, each proves that it
// knows the secret of their database (peer_proof.h). Until then, neither reads any other frame:
//
//   kChallenge  answerer's nonce            ->  asker
//   kProof      asker's nonce, asker's mac  ->  answerer
//   kProven     answerer's mac              ->  asker
//
// Then the asker sends kAsk and kGiveShard, each with a new number, and kCancel. Each kAsk gets one
// kAnswer, cancelled or not, and each kGiveShard one kGiven, in any order. Each side sends kPing in
// every second in which it sends nothing else; a side that hears nothing for three seconds takes
// the connection for dead. kGoodbye: the answerer is stopping. It still answers the requests that
// it has, and answers later ones with Unavailable::kNoLeader. The asker sends no more requests, and
// closes when it has its answers.
//
// The two nodes may have different versions. Each states its newest level
// (engine/wire/peer_level.h) in the upgrade, as Millrace-Peer-Level; a node without that header has
// the first level. They use the older of the two levels. If a node still does not understand a
// frame, the connection continues: a request gets Unavailable::kUpgrading, an answer becomes
// Unavailable::kUnknown, and a frame of an unknown kind is answered like a request if it has a
// number, and ignored if it has none.
//
// Any other violation ends the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace millrace::http {

// A node of a newer version may send other kinds.
enum class FrameKind : std::uint8_t {
  kChallenge = 1,
  kProof,
  kProven,
  kPing,
  kGoodbye,
  kAsk,
  kCancel,
  kAnswer,
  kGiveShard,
  kGiven,
};

struct Frame {
  FrameKind kind{};
  std::uint64_t number = 0;
  std::string_view body;
};

constexpr std::size_t kFrameLengthBytes = 4;
constexpr std::size_t kFrameHeadBytes = kFrameLengthBytes + 8 + 1;
// The limit on a frame's length field, which counts the number, the kind and the body. A request is
// limited by the size of an HTTP body; a claim's answer is cut to kMaxClaimBytes.
constexpr std::size_t kMaxFrameBytes = std::size_t{128} * 1024 * 1024;
constexpr std::size_t kMaxHandshakeFrameBytes = 8 + 1 + 64;
constexpr std::size_t kMaxClaimBytes = std::size_t{64} * 1024 * 1024;
static_assert(2 * kMaxClaimBytes <= kMaxFrameBytes);

enum class FrameRead : std::uint8_t { kNeedMore, kFrame, kBad };

// Reads the frame at the beginning of `received`. `frame_bytes`: the size of the frame with its
// length field; on kNeedMore the size that it will have, or 0 if that is not known yet. A bad frame
// is refused as soon as its head has arrived.
FrameRead read_frame(std::string_view received, std::size_t most, Frame& frame,
                     std::size_t& frame_bytes);

// The body is the concatenation of `parts`.
void append_frame(std::string& out, FrameKind kind, std::uint64_t number,
                  std::initializer_list<std::string_view> parts = {});

// --- Bodies. The readers return nullopt if the body is malformed.

// kAsk: the shard, the client's credentials, the request.
struct AskBody {
  std::uint32_t shard = 0;
  std::string_view credentials;
  std::string_view request;
};
constexpr std::size_t kMaxCredentialsBytes = 0xffff;
std::optional<AskBody> read_ask(std::string_view body);
// The part of the body before the request.
void append_ask_head(std::string& out, std::uint32_t shard, std::string_view credentials);

struct GiveShardBody {
  std::uint32_t shard = 0;
  std::uint64_t asker = 0;
  Epoch epoch{};
};
std::optional<GiveShardBody> read_give_shard(std::string_view body);
std::string give_shard_body(const GiveShardBody& give);

// kGiven: one byte.
std::optional<bool> read_given(std::string_view body);
std::string_view given_body(bool given);

}  // namespace millrace::http
