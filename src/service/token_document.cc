#include "service/token_document.h"

#include <utility>

#include "api/stored_token.h"

namespace millrace::service {

std::string encode_token(const TokenSettings& token) {
  return api::encode_stored({.name = token.name,
                             .description = token.description,
                             .hash = token.hash,
                             .scopes = token.scopes,
                             .queues = token.queues,
                             .expires_at = token.expires_at,
                             .former_hash = token.former_hash,
                             .former_until = token.former_until,
                             .created_at = token.created_at,
                             .created_by = token.created_by});
}

Result<TokenSettings> decode_token(std::string_view document) {
  auto stored = api::decode_stored(document);
  if (!stored) return std::unexpected(std::move(stored.error()));
  TokenSettings token;
  token.name = std::move(stored->name);
  token.description = std::move(stored->description);
  token.hash = std::move(stored->hash);
  token.scopes = std::move(stored->scopes);
  token.queues = std::move(stored->queues);
  token.expires_at = stored->expires_at;
  token.former_hash = std::move(stored->former_hash);
  token.former_until = stored->former_until;
  token.created_at = stored->created_at;
  token.created_by = std::move(stored->created_by);
  token.sees_payloads = false;  // a token with the scope names it
  return token;
}

TokenBook book_of(const std::vector<TokenDocument>& documents, std::vector<std::string>& faults) {
  std::vector<TokenSettings> good;
  for (const TokenDocument& document : documents) {
    const auto refuse = [&](const std::string& why) {
      faults.push_back("token " + std::string(document.id) + ": " + why);
    };
    auto token = decode_token(document.body);
    if (!token) {
      refuse(token.error().message);
      continue;
    }
    token->version = document.version;
    const auto alone = TokenBook::make({*token});
    if (!alone) {
      refuse(alone.error().message);
    } else if (alone->find(document.id) == nullptr) {
      refuse("the hash is another token's");
    } else {
      good.push_back(std::move(*token));
    }
  }
  auto book = TokenBook::make(std::move(good));
  if (book) return std::move(*book);
  faults.push_back(book.error().message);  // a duplicate id, which the store rules out
  return std::move(*TokenBook::make({}));
}

}  // namespace millrace::service
