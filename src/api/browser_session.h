// The session of a browser: the sign-in and its rights. Views as in job.h.
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

constexpr std::size_t kMaxTokenBytes = 512;

// POST /v1/session
struct SignIn {
  std::string token;
};
Decoded<SignIn> decode_sign_in(std::string_view body, const DecodeLimits& limits);

struct BrowserSession {
  bool required = false;   // the server has tokens, so a call needs one
  bool signed_in = false;  // this call presented a valid one
  std::string_view name;   // of the token; empty: null
  std::vector<std::string> scopes;
  std::vector<std::string> queues;  // globs; empty: null, all
  std::optional<Time> expires_at;   // of the token
  std::string guard;                // empty: null
};
void encode(JsonWriter& json, const BrowserSession& session);

}  // namespace millrace::api
