// Creates, lists, rotates and revokes tokens at run time. The store keeps these tokens, so that all
// nodes have them.
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
// The tokens that allow nothing beyond the caller's own token, ordered by id.
Answered<TokenPage> list_tokens(const Caller& caller, const api::Page& page);
Answered<api::TokenInfo> get_token(const Caller& caller, std::string_view id);

struct TokenMade {
  api::TokenInfo info;
  std::string token;  // with its secret, which cannot be shown again
};
// Refused if the token would allow more than the caller's own, or live longer. When the call
// returns, all nodes know the token.
Task<Answered<TokenMade>> create_token(Caller& caller, const api::NewToken& wanted);
// Makes a new secret. The former one stays valid for the grace time.
Task<Answered<TokenMade>> rotate_token(Caller& caller, const std::string& id,
                                       const api::Rotation& rotation);
// When the call returns, no node in touch with the store accepts the token any more.
Task<Answered<>> revoke_token(Caller& caller, const std::string& id);

}  // namespace millrace::service
