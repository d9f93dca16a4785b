// Tokens: what is asked for a new one, and what is shown of each. Views and faults as in
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
  std::string name;  // plain characters: it stands in the log
  std::string description;
  std::vector<std::string> scopes;  // names of Scope, each once
  std::vector<std::string> queues;  // globs; empty: all
  std::optional<Time> expires_at;   // at most one of the two
  std::optional<Duration> expires_in;
};
Decoded<NewToken> decode_new_token(std::string_view body, const DecodeLimits& limits);

// POST /v1/tokens/{id}/rotate
struct Rotation {
  Duration grace{kDefaultGraceMs};  // for which the former secret is good still
};
Decoded<Rotation> decode_rotation(std::string_view body, const DecodeLimits& limits);

// Without its secret and hash.
struct TokenInfo {
  std::string id;
  std::string name;
  std::string description;  // empty: null
  std::vector<std::string> scopes;
  std::vector<std::string> queues;  // globs; empty: null, all
  bool configured = false;          // it stands in the configuration of the nodes
  std::optional<Time> expires_at;
  std::optional<Time> created_at;    // of a configured one: none
  std::string created_by;            // the name of a token; empty: null
  std::optional<Time> last_used_at;  // on this node, by the minute
  std::optional<Time> former_until;  // the former secret is good until then
};
// `secret`: the token itself, for the one time that it is shown; empty: absent.
void encode(JsonWriter& json, const TokenInfo& token, std::string_view secret);
inline void encode(JsonWriter& json, const TokenInfo& token) { encode(json, token, {}); }

}  // namespace millrace::api
