// What nodes say to each other on a connection after its upgrade (GET /internal/v1/peer, Upgrade:
// millrace-peer/1): frames, many requests at a time. Numbers are little-endian.
//
//   length  4 bytes, of all that follows
//   number  8 bytes: the request's, as its asker counts them from 1; 0: of none
//   kind    1 byte
//   body
//
// The node that connected asks, the other answers. First each proves that it knows the secret of
// their database (peer_proof.h), and nothing else is read before that:
//
//   kChallenge  answerer's nonce            ->  asker
//   kProof      asker's nonce, asker's mac  ->  answerer
//   kProven     answerer's mac              ->  asker
//
// From then on: the asker sends kAsk and kGiveShard, each with a new number, and kCancel; each kAsk
// gets one kAnswer, cancelled or not, each kGiveShard one kGiven, in any order. Both send kPing
// every second in which they send nothing else; who hears nothing for three takes the connection
// for dead. kGoodbye: the answerer is stopping; it answers what it was asked, and what still comes
// with Unavailable::kNoLeader; the asker asks no more, and closes when it has its answers.
//
// The two may be of different versions. Each tells its newest level (engine/wire/peer_level.h) in
// the upgrade, as Millrace-Peer-Level; who tells none is of the first. They speak the older of the
// two. What one of them does not understand even so is no reason to end the connection: a request
// gets Unavailable::kUpgrading, for itself alone, an answer becomes Unavailable::kUnknown, and a
// frame of an unknown kind is answered as a request where it has a number, and else left alone.
//
// Whatever else does not fit this ends the connection.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace millrace::http {

// A frame may have a kind of a newer version, which is none of these.
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
// By their length: the number, the kind and the body. A request has at most what a body of HTTP
// may have; a claim's answer is cut to kMaxClaimBytes.
constexpr std::size_t kMaxFrameBytes = std::size_t{128} * 1024 * 1024;
constexpr std::size_t kMaxHandshakeFrameBytes = 8 + 1 + 64;
constexpr std::size_t kMaxClaimBytes = std::size_t{64} * 1024 * 1024;
static_assert(2 * kMaxClaimBytes <= kMaxFrameBytes);

enum class FrameRead : std::uint8_t { kNeedMore, kFrame, kBad };

// The frame that `received` begins with. `frame_bytes`: kFrame: its size with the length before it;
// kNeedMore: what it will be, 0: not known yet. Judged by its head as soon as that is there.
FrameRead read_frame(std::string_view received, std::size_t most, Frame& frame,
                     std::size_t& frame_bytes);

// The body is the parts, one after the other.
void append_frame(std::string& out, FrameKind kind, std::uint64_t number,
                  std::initializer_list<std::string_view> parts = {});

// --- Bodies. None: not one.

// kAsk: the shard, the client's credentials, the request.
struct AskBody {
  std::uint32_t shard = 0;
  std::string_view credentials;
  std::string_view request;
};
constexpr std::size_t kMaxCredentialsBytes = 0xffff;
std::optional<AskBody> read_ask(std::string_view body);
// What stands before the request.
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
