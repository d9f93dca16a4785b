// Tokens made, listed, rotated and revoked while the server runs. They lie in the store, so that
// all nodes have them.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "api/list.h"
#include "api/token.h"
#include "service/caller.h"

namespace millrace::service {

struct TokenPage {
  std::vector<api::TokenInfo> tokens;
  std::string next;  // the cursor; empty: there are no more
};
// Those that open nothing that the caller's own does not, by their ids.
Answered<TokenPage> list_tokens(const Caller& caller, const api::Page& page);
Answered<api::TokenInfo> get_token(const Caller& caller, std::string_view id);

struct TokenMade {
  api::TokenInfo info;
  std::string token;  // with its secret, which nobody can show again
};
// Nobody makes a token that may do more than its own, or lives longer. When it answers, all nodes
// know the token.
Task<Answered<TokenMade>> create_token(Caller& caller, const api::NewToken& wanted);
// A new secret; the former is good for the grace still.
Task<Answered<TokenMade>> rotate_token(Caller& caller, const std::string& id,
                                       const api::Rotation& rotation);
// When it answers, no node that hears of the store takes the token any more.
Task<Answered<>> revoke_token(Caller& caller, const std::string& id);

}  // namespace millrace::service
