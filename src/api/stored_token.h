// A token that was made at run time, as the store keeps it: JSON, with hashes of its secrets.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"

namespace millrace::api {

struct StoredToken {
  std::string name;
  std::string description;
  std::string hash;
  std::vector<std::string> scopes;
  std::vector<std::string> queues;  // empty: all
  std::optional<Time> expires_at;
  std::string former_hash;  // empty: none; else until:
  std::optional<Time> former_until;
  std::optional<Time> created_at;
  std::string created_by;
};

std::string encode_stored(const StoredToken& token);
// What is no token's document is an error, and nobody gets in by it: also one with a member that
// this version does not know, since that may narrow what the token opens.
Result<StoredToken> decode_stored(std::string_view document);

}  // namespace millrace::api
