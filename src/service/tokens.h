// All tokens that this node accepts: configured ones, and those made at run time. The former change
// when the configuration is read again; the latter may change at any time, on any node.
#pragma once

#include <memory>
#include <optional>
#include <string_view>

#include "base/clock.h"
#include "base/mutex.h"
#include "service/auth.h"

namespace millrace::service {

// This node's view of the tokens made at run time. Any thread.
class MadeTokens {
 public:
  virtual ~MadeTokens() = default;
  struct View {
    std::shared_ptr<const TokenBook> book;  // null: none has been read yet
    // The store has been silent for so long that a token may have been revoked since.
    bool stale = true;
  };
  virtual View view() const = 0;
};

// Keeps the book that the access belongs to.
using SharedAccess = std::shared_ptr<const Access>;

// Any thread.
class Tokens {
 public:
  // `made`: outlives this object; null: there are none.
  explicit Tokens(TokenBook configured, const MadeTokens* made = nullptr);
  Tokens(const Tokens&) = delete;
  Tokens& operator=(const Tokens&) = delete;

  // No token is configured: everything is open, and the server serves loopback only. Tokens made at
  // run time do not change this, so that revoking the last one does not open a server.
  bool empty() const { return configured()->empty(); }

  struct Found {
    SharedAccess access;  // null: the credentials belong to no live token
    // The token may have been made at run time and cannot be checked now.
    bool unsure = false;
    // A token with that id exists, whether or not the secret matches.
    bool known = false;
  };
  Found authenticate(std::string_view credentials, Time now) const;
  SharedAccess authenticate_certified(std::string_view name, Time now) const;
  // Whether the token is still live and still allows everything that it allowed.
  bool holds(const SharedAccess& access, Time now) const;
  // The token with this public part, live or not; null: there is none.
  SharedAccess find(std::string_view id) const;

  std::shared_ptr<const TokenBook> configured() const;
  MadeTokens::View made() const;
  // Replaces the configured tokens.
  void configure(TokenBook tokens);

 private:
  const MadeTokens* const made_;
  mutable Mutex mutex_;
  std::shared_ptr<const TokenBook> configured_ MILLRACE_GUARDED_BY(mutex_);
};

}  // namespace millrace::service
