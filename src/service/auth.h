// Tokens and the rights that they give. A token has the form mlr_ID_SECRET_CHECKSUM; only the
// SHA-256 of the secret is kept. The checksum distinguishes a mistyped token from an unknown one
// and lets scanners find leaked ones.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "api/problem.h"
#include "api/scope.h"
#include "base/result.h"
#include "base/time.h"

namespace millrace::service {

// The settings of a token.
struct TokenSettings {
  std::string name;
  std::string hash;                 // as make_token() gives it
  std::vector<std::string> scopes;  // names of api::Scope
  std::vector<std::string> queues;  // names, a trailing '*' matches any ending; empty: all
  std::optional<Time> expires_at;
  // Instead of the hash: the name in a client certificate that identifies the token.
  std::string certificate{};
  // The token has the scope `payload` even if it does not name it. Configured tokens do unless they
  // say otherwise, because they may be older than the scope.
  bool sees_payloads = true;
  // The hash of the secret that a rotation replaced, and how long that secret stays valid.
  std::string former_hash{};
  std::optional<Time> former_until{};
  // For a token made at run time:
  std::string description{};
  std::optional<Time> created_at{};
  std::string created_by{};   // the name of the token that asked for it
  std::uint64_t version = 0;  // of its entry in the store
};

struct NewToken {
  std::string token;  // shown once
  std::string hash;   // kept: "ID:sha256:DIGEST"
};
// The secret is made from 32 random bytes, the id from 6.
NewToken make_token(const std::array<std::uint8_t, 32>& secret,
                    const std::array<std::uint8_t, 6>& id);

// The scope with that name; kNone has none.
std::optional<api::Scope> scope_named(std::string_view name);
// Whether `glob` is a name, possibly with a trailing '*', which matches any ending.
bool is_queue_glob(std::string_view glob);
// The token's public part in an Authorization header; none: it is not a token.
std::optional<std::string_view> token_id_in(std::string_view credentials);

// The rights of a caller. Lives as long as the TokenBook.
class Access {
 public:
  bool allows(api::Scope scope) const;
  bool allows_queue(std::string_view queue) const;
  bool limited() const { return !settings_->queues.empty(); }
  // Whether this one allows every queue that `other` allows.
  bool reaches(const TokenSettings& other) const;
  // Whether this one has every scope of `other`.
  bool has_scopes_of(const TokenSettings& other) const;
  // Whether this one has every right of `other`, and lives as long.
  bool covers(const TokenSettings& other) const;
  // The token's public part, or the name in its certificate.
  std::string_view id() const;
  const TokenSettings& settings() const { return *settings_; }
  bool live(Time now) const { return !settings_->expires_at || *settings_->expires_at > now; }

  // Records the use with a resolution of a minute. Any thread.
  void note_use(Time now) const;

 private:
  friend class TokenBook;
  // In minutes; 0: unused since this node started.
  using Used = std::atomic<std::int64_t>;

  const TokenSettings* settings_ = nullptr;
  std::uint32_t scopes_ = 0;  // a bit per api::Scope
  std::shared_ptr<Used> used_ = std::make_shared<Used>(0);
};

// The problem for a caller whose token lacks the scope.
api::Problem lacks_scope(api::Scope scope);

// The configured tokens. Immutable: any thread.
class TokenBook {
 public:
  // An error names the token.
  static Result<TokenBook> make(std::vector<TokenSettings> tokens);
  TokenBook(TokenBook&&) = default;
  TokenBook& operator=(TokenBook&&) = default;

  // No token at all: everything is open (and the server serves loopback only).
  bool empty() const { return tokens_.empty(); }

  // The holder of `credentials`, the value of the header Authorization; null: not a live token.
  // Does the same work for an unknown id as for a wrong secret, and compares in constant time.
  const Access* authenticate(std::string_view credentials, Time now) const;

  // The token for a client certificate with this name, signed by an authority that the server
  // trusts; null: not a live token.
  const Access* authenticate_certified(std::string_view name, Time now) const;

  const std::vector<TokenSettings>& tokens() const { return tokens_; }
  // The settings of the token with this public part, live or not; null: there is none.
  const TokenSettings* find(std::string_view id) const;
  const Access* access_of(std::string_view id) const;
  // On this node, to the minute; none: not since it started.
  std::optional<Time> last_used(std::string_view id) const;
  // This book replaces `former`: takes over its recorded uses.
  void take_uses_of(const TokenBook& former);

 private:
  TokenBook() = default;

  struct Entry {
    std::array<std::uint8_t, 32> digest{};
    std::optional<std::array<std::uint8_t, 32>> former;
    Access access;
  };
  std::vector<TokenSettings> tokens_;
  std::unordered_map<std::string, Entry> by_id_;
};

}  // namespace millrace::service
