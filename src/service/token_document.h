// The stored form of a token made at run time: JSON, with hashes of its secrets.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "service/auth.h"

namespace millrace::service {

std::string encode_token(const TokenSettings& token);
// Errors as in api::decode_stored().
Result<TokenSettings> decode_token(std::string_view document);

struct TokenDocument {
  std::string_view id;
  std::string_view body;
  std::uint64_t version = 0;
};
// The tokens of the documents. Skips a document that is not a token, and reports it in `faults`.
TokenBook book_of(const std::vector<TokenDocument>& documents, std::vector<std::string>& faults);

}  // namespace millrace::service
