#include "server/token.h"

#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/sha.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "api/routes.h"
#include "base/random.h"

namespace millrace::server {
namespace {

constexpr std::string_view kAlphabet =
    "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
constexpr std::string_view kHashPrefix = "sha256:";
constexpr std::size_t kIdSymbols = 12;
constexpr std::size_t kSecretSymbols = 43;  // 62^43 > 2^256
constexpr std::size_t kCheckSymbols = 6;

std::array<std::uint8_t, SHA256_DIGEST_LENGTH> sha256(std::string_view text) {
  std::array<std::uint8_t, SHA256_DIGEST_LENGTH> digest{};
  SHA256(reinterpret_cast<const unsigned char*>(text.data()), text.size(), digest.data());
  return digest;
}

// Uniform: bytes that would favour the alphabet's beginning are thrown away.
std::string random_symbols(std::size_t count) {
  constexpr std::uint8_t kFair = 256 / 62 * 62;
  std::string symbols;
  while (symbols.size() < count) {
    std::array<std::uint8_t, 64> bytes;
    system_random_bytes(bytes.data(), bytes.size());
    for (const std::uint8_t byte : bytes) {
      if (byte < kFair && symbols.size() < count) symbols += kAlphabet[byte % 62];
    }
    OPENSSL_cleanse(bytes.data(), bytes.size());
  }
  return symbols;
}

std::string check_symbols(std::string_view text) {
  const auto digest = sha256(text);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < sizeof number; ++i) number = number << 8 | digest[i];
  std::string symbols;
  for (std::size_t i = 0; i < kCheckSymbols; ++i, number /= 62) symbols += kAlphabet[number % 62];
  return symbols;
}

std::string toml_array(const std::vector<std::string>& texts) {
  return fmt::format("[\"{}\"]", fmt::join(texts, "\", \""));
}

// What stands in a TOML string and in a log line without escapes.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

bool is_glob(std::string_view text) {
  const auto is_name_character = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:/-*").find(c) != std::string_view::npos;
  };
  return !text.empty() && text.size() <= 128 && std::ranges::all_of(text, is_name_character);
}

bool is_scope(std::string_view text) {
  using api::Scope;
  return std::ranges::any_of(
      std::array{Scope::kSubmit, Scope::kWork, Scope::kRead, Scope::kOperate, Scope::kAdmin},
      [&](Scope scope) { return text == api::name_of(scope); });
}

bool is_hash(std::string_view text) {
  if (!text.starts_with(kHashPrefix)) return false;
  text.remove_prefix(kHashPrefix.size());
  return text.size() == 64 && std::ranges::all_of(text, [](char c) {
           return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f');
         });
}

}  // namespace

NewToken make_token(TokenEntry entry) {
  std::string text =
      fmt::format("mlr_{}_{}", random_symbols(kIdSymbols), random_symbols(kSecretSymbols));
  text += '_' + check_symbols(text);
  entry.hash = token_hash(text);
  return {std::move(text), std::move(entry)};
}

std::string token_hash(std::string_view text) {
  return fmt::format("{}{:02x}", kHashPrefix, fmt::join(sha256(text), ""));
}

std::string token_toml(const TokenEntry& entry) {
  std::string lines = fmt::format("[[tokens]]\nname = \"{}\"\nhash = \"{}\"\nscopes = {}\n",
                                  entry.name, entry.hash, toml_array(entry.scopes));
  if (!entry.queues.empty()) lines += fmt::format("queues = {}\n", toml_array(entry.queues));
  if (entry.expires_at) {
    lines += fmt::format("expires_at = \"{}\"\n", format_rfc3339(*entry.expires_at));
  }
  return lines;
}

std::vector<std::string> token_faults(const TokenEntry& entry) {
  std::vector<std::string> faults;
  if (entry.name.empty() || entry.name.size() > 64 || !is_plain(entry.name)) {
    faults.emplace_back("a token's name must be 1 to 64 plain characters");
  }
  if (!is_hash(entry.hash)) {
    faults.emplace_back("a token's hash must be as `millrace token new` prints it: sha256:...");
  }
  if (entry.scopes.empty()) faults.emplace_back("a token needs at least one scope");
  for (const std::string& scope : entry.scopes) {
    if (!is_scope(scope)) {
      faults.push_back(
          fmt::format("a scope is submit, work, read, operate or admin, not \"{}\"", scope));
    }
  }
  for (const std::string& queue : entry.queues) {
    if (!is_glob(queue)) faults.push_back(fmt::format("\"{}\" can match no queue's name", queue));
  }
  return faults;
}

}  // namespace millrace::server
