// The stored form of a token made at run time: JSON, with hashes of its secrets.
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
// Fails for anything else than a token's document, so that it gives no access. This includes a
// document with an unknown member, since that may restrict the token.
Result<StoredToken> decode_stored(std::string_view document);

}  // namespace millrace::api
