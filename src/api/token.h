// Tokens: the request for a new one, and the public form of each. Views and faults as in
// submission.h.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "api/bounds.h"
#include "api/problem.h"
#include "base/json_writer.h"
#include "base/time.h"

namespace millrace::api {

constexpr std::size_t kMaxTokenNameBytes = 64;
constexpr std::size_t kMaxTokenDescriptionBytes = 512;
constexpr std::size_t kMaxTokenQueues = 64;
constexpr std::int64_t kMinTokenLifeMs = 1'000;
constexpr std::int64_t kDefaultGraceMs = 3'600'000;
constexpr std::int64_t kMaxGraceMs = 7LL * 86'400'000;

// POST /v1/tokens
struct NewToken {
  std::string name;  // plain characters, since it appears in the log
  std::string description;
  std::vector<std::string> scopes;  // names of Scope, each once
  std::vector<std::string> queues;  // globs; empty: all
  std::optional<Time> expires_at;   // at most one of the two
  std::optional<Duration> expires_in;
};
Decoded<NewToken> decode_new_token(std::string_view body, const DecodeLimits& limits);

// POST /v1/tokens/{id}/rotate
struct Rotation {
  Duration grace{kDefaultGraceMs};  // how long the former secret stays valid
};
Decoded<Rotation> decode_rotation(std::string_view body, const DecodeLimits& limits);

// Without its secret and hash.
struct TokenInfo {
  std::string id;
  std::string name;
  std::string description;  // empty: null
  std::vector<std::string> scopes;
  std::vector<std::string> queues;  // globs; empty: null, all
  bool configured = false;          // it is in the configuration of the nodes
  std::optional<Time> expires_at;
  std::optional<Time> created_at;    // of a configured one: none
  std::string created_by;            // the name of a token; empty: null
  std::optional<Time> last_used_at;  // on this node, to the minute
  std::optional<Time> former_until;  // the former secret is valid until then
};
// `secret`: the token itself, shown only once; empty: absent.
void encode(JsonWriter& json, const TokenInfo& token, std::string_view secret);
inline void encode(JsonWriter& json, const TokenInfo& token) { encode(json, token, {}); }

}  // namespace millrace::api
