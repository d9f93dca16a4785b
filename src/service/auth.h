// Tokens: who may call what. A token reads mlr_ID_SECRET_CHECKSUM; of the secret only its SHA-256
// is kept. The checksum tells a mistyped token from an unknown one and lets scanners find leaked
// ones.
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

// A token as it is configured.
struct TokenSettings {
  std::string name;
  std::string hash;                 // as make_token() gives it
  std::vector<std::string> scopes;  // names of api::Scope
  std::vector<std::string> queues;  // names, a '*' at the end stands for any ending; empty: all
  std::optional<Time> expires_at;
  // In place of the hash: the name in the client's certificate that stands for the token.
  std::string certificate{};
  // It has the scope `payload` without naming it: so do those of the configuration, which are older
  // than the scope, unless they say otherwise.
  bool sees_payloads = true;
  // Of the secret that a rotation has replaced, and how long it is still good for.
  std::string former_hash{};
  std::optional<Time> former_until{};
  // Of one that was made at run time.
  std::string description{};
  std::optional<Time> created_at{};
  std::string created_by{};   // the name of the token that asked for it
  std::uint64_t version = 0;  // of its entry in the store
};

struct NewToken {
  std::string token;  // shown once
  std::string hash;   // kept: "ID:sha256:DIGEST"
};
// From 32 random bytes for the secret, and 6 for the id.
NewToken make_token(const std::array<std::uint8_t, 32>& secret,
                    const std::array<std::uint8_t, 6>& id);

// The scope with that name; kNone has none.
std::optional<api::Scope> scope_named(std::string_view name);
// A name, or with a '*' at its end any ending.
bool is_queue_glob(std::string_view glob);
// The public part of what the header Authorization says; none: it is no token.
std::optional<std::string_view> token_id_in(std::string_view credentials);

// What a caller may do. Lives as long as the TokenBook.
class Access {
 public:
  bool allows(api::Scope scope) const;
  bool allows_queue(std::string_view queue) const;
  bool limited() const { return !settings_->queues.empty(); }
  // All queues that `other` opens, this one does too.
  bool reaches(const TokenSettings& other) const;
  // Nor has `other` a scope that this one lacks, or a longer life.
  bool covers(const TokenSettings& other) const;
  // The token's public part, or the name in its certificate.
  std::string_view id() const;
  const TokenSettings& settings() const { return *settings_; }
  bool live(Time now) const { return !settings_->expires_at || *settings_->expires_at > now; }

  // By the minute. Any thread.
  void note_use(Time now) const;

 private:
  friend class TokenBook;
  // In minutes; 0: not since this node began.
  using Used = std::atomic<std::int64_t>;

  const TokenSettings* settings_ = nullptr;
  std::uint32_t scopes_ = 0;  // a bit per api::Scope
  std::shared_ptr<Used> used_ = std::make_shared<Used>(0);
};

// What a caller is told whose token lacks it.
api::Problem lacks_scope(api::Scope scope);

// The configured tokens. Immutable: any thread.
class TokenBook {
 public:
  // Faults name the token they are about.
  static Result<TokenBook> make(std::vector<TokenSettings> tokens);
  TokenBook(TokenBook&&) = default;
  TokenBook& operator=(TokenBook&&) = default;

  // No token at all: everything is open (and the server serves loopback only).
  bool empty() const { return tokens_.empty(); }

  // The holder of `credentials`, the value of the header Authorization; null: not a live token.
  // Does the same work for an unknown id as for a wrong secret, and compares in constant time.
  const Access* authenticate(std::string_view credentials, Time now) const;

  // Who shows a certificate with this name, which an authority of the server's has signed; null:
  // not a live token's.
  const Access* authenticate_certified(std::string_view name, Time now) const;

  const std::vector<TokenSettings>& tokens() const { return tokens_; }
  // Of the token with that public part, live or not; null: there is none.
  const TokenSettings* find(std::string_view id) const;
  const Access* access_of(std::string_view id) const;
  // On this node, by the minute; none: not since it began.
  std::optional<Time> last_used(std::string_view id) const;
  // It takes the place of `former`: what was noted there goes on.
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
