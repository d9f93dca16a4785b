#include "service/auth.h"

#include <fmt/format.h>
#include <openssl/crypto.h>

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/check.h"
#include "base/hex.h"
#include "digest/sha256.h"

namespace millrace::service {
namespace {

constexpr std::string_view kPrefix = "mlr_";
constexpr std::string_view kAlgorithm = ":sha256:";
constexpr std::size_t kIdDigits = 12;
constexpr std::size_t kSecretDigits = 64;
constexpr std::size_t kChecksumDigits = 8;
constexpr std::int64_t kMinuteMs = 60'000;
constexpr std::size_t kTokenBytes =
    kPrefix.size() + kIdDigits + 1 + kSecretDigits + 1 + kChecksumDigits;

bool is_hex(std::string_view text) { return std::ranges::all_of(text, is_lower_hex); }

std::string checksum_of(std::string_view token_without_checksum) {
  return to_hex(sha256(token_without_checksum)).substr(0, kChecksumDigits);
}

struct TokenParts {
  std::string_view id;
  std::string_view secret;
};

std::optional<TokenParts> take_apart(std::string_view token) {
  if (token.size() != kTokenBytes || !token.starts_with(kPrefix)) return std::nullopt;
  const std::string_view id = token.substr(kPrefix.size(), kIdDigits);
  const std::size_t secret_start = kPrefix.size() + kIdDigits + 1;
  const std::string_view secret = token.substr(secret_start, kSecretDigits);
  const std::size_t secret_end = secret_start + kSecretDigits;
  if (token[secret_start - 1] != '_' || token[secret_end] != '_') return std::nullopt;
  if (!is_hex(id) || !is_hex(secret)) return std::nullopt;
  if (checksum_of(token.substr(0, secret_end)) != token.substr(secret_end + 1)) return std::nullopt;
  return TokenParts{id, secret};
}

struct HashParts {
  std::string_view id;
  Sha256 digest{};
};

std::optional<HashParts> take_apart_hash(std::string_view hash) {
  if (hash.size() != kIdDigits + kAlgorithm.size() + 2 * sizeof(Sha256)) return std::nullopt;
  HashParts parts{hash.substr(0, kIdDigits), {}};
  const std::string_view digits = hash.substr(kIdDigits + kAlgorithm.size());
  if (hash.substr(kIdDigits, kAlgorithm.size()) != kAlgorithm) return std::nullopt;
  if (!is_hex(parts.id) || !is_hex(digits)) return std::nullopt;
  std::ranges::copy(*from_hex(digits), parts.digest.begin());
  return parts;
}

std::uint32_t bit_of(api::Scope scope) { return 1u << static_cast<unsigned>(scope); }

// The header's text after its scheme; empty: it has another scheme.
std::string_view bearer_in(std::string_view credentials) {
  constexpr std::string_view kScheme = "bearer ";
  if (!equals_ignoring_case(credentials.substr(0, kScheme.size()), kScheme)) return {};
  std::string_view token = credentials.substr(kScheme.size());
  token.remove_prefix(std::min(token.find_first_not_of(' '), token.size()));
  return token;
}

bool glob_matches(std::string_view glob, std::string_view queue) {
  if (!glob.ends_with('*')) return glob == queue;
  return queue.starts_with(glob.substr(0, glob.size() - 1));
}

}  // namespace

std::optional<api::Scope> scope_named(std::string_view name) {
  for (const api::Scope scope : {api::Scope::kSubmit, api::Scope::kWork, api::Scope::kRead,
                                 api::Scope::kOperate, api::Scope::kAdmin, api::Scope::kPayload}) {
    if (name == api::name_of(scope)) return scope;
  }
  return std::nullopt;
}

bool is_queue_glob(std::string_view glob) {
  return !glob.empty() && glob.find('*') >= glob.size() - 1;
}

std::optional<std::string_view> token_id_in(std::string_view credentials) {
  const auto parts = take_apart(bearer_in(credentials));
  if (!parts) return std::nullopt;
  return parts->id;
}

NewToken make_token(const std::array<std::uint8_t, 32>& secret,
                    const std::array<std::uint8_t, 6>& id) {
  const std::string id_text = to_hex(id);
  const std::string secret_text = to_hex(secret);
  NewToken made;
  made.token = std::string(kPrefix) + id_text + "_" + secret_text;
  made.token += "_" + checksum_of(made.token);
  made.hash = id_text + std::string(kAlgorithm) + to_hex(sha256(secret_text));
  return made;
}

api::Problem lacks_scope(api::Scope scope) {
  return api::make_problem(api::ProblemCode::kForbidden,
                           "the token lacks the scope " + std::string(api::name_of(scope)));
}

bool Access::allows(api::Scope scope) const {
  return scope == api::Scope::kNone || (scopes_ & bit_of(scope)) != 0;
}

bool Access::allows_queue(std::string_view queue) const {
  const auto& globs = settings_->queues;
  return globs.empty() || std::ranges::any_of(globs, [queue](const std::string& glob) {
           return glob_matches(glob, queue);
         });
}

bool Access::reaches(const TokenSettings& other) const {
  if (!limited()) return true;
  // A glob with a '*' is covered if all its endings are.
  return !other.queues.empty() &&
         std::ranges::all_of(other.queues, [this](const std::string& glob) {
           return std::ranges::any_of(settings_->queues, [&glob](const std::string& own) {
             return glob == own || (own.ends_with('*') && glob_matches(own, glob));
           });
         });
}

bool Access::has_scopes_of(const TokenSettings& other) const {
  if (other.sees_payloads && !allows(api::Scope::kPayload)) return false;
  return std::ranges::all_of(other.scopes, [this](const std::string& name) {
    const auto scope = scope_named(name);
    return scope && allows(*scope);
  });
}

bool Access::covers(const TokenSettings& other) const {
  if (!reaches(other) || !has_scopes_of(other)) return false;
  const auto& end = settings_->expires_at;
  return !end || (other.expires_at && *other.expires_at <= *end);
}

void Access::note_use(Time now) const {
  const std::int64_t minute = to_ms(now) / kMinuteMs;
  if (used_->load(std::memory_order_relaxed) != minute) {
    used_->store(minute, std::memory_order_relaxed);
  }
}

std::string_view Access::id() const {
  if (settings_->hash.empty()) return settings_->certificate;
  return std::string_view(settings_->hash).substr(0, kIdDigits);
}

const TokenSettings* TokenBook::find(std::string_view id) const {
  const Access* const access = access_of(id);
  return access == nullptr ? nullptr : &access->settings();
}

const Access* TokenBook::access_of(std::string_view id) const {
  const auto found = by_id_.find(std::string(id));
  return found == by_id_.end() ? nullptr : &found->second.access;
}

std::optional<Time> TokenBook::last_used(std::string_view id) const {
  const Access* const access = access_of(id);
  const std::int64_t minute = access == nullptr ? 0 : access->used_->load();
  if (minute == 0) return std::nullopt;
  return time_from_ms(minute * kMinuteMs);
}

void TokenBook::take_uses_of(const TokenBook& former) {
  for (auto& [id, entry] : by_id_) {
    const Access* const before = former.access_of(id);
    if (before != nullptr) entry.access.used_ = before->used_;
  }
}

Result<TokenBook> TokenBook::make(std::vector<TokenSettings> tokens) {
  TokenBook book;
  book.tokens_ = std::move(tokens);
  for (const TokenSettings& token : book.tokens_) {
    const auto refused = [&token](std::string_view why) {
      return failure(fmt::format("token \"{}\": {}", token.name, why));
    };
    Entry entry;
    entry.access.settings_ = &token;
    if (token.hash.empty() == token.certificate.empty()) {
      return refused("the token needs either a hash or the name in a certificate");
    }
    std::string id = token.certificate;
    if (token.certificate.empty()) {
      const auto hash = take_apart_hash(token.hash);
      if (!hash)
        return refused("the hash is not valid; copy it from the output of `millrace token new`");
      entry.digest = hash->digest;
      id = hash->id;
      if (!token.former_hash.empty()) {
        const auto former = take_apart_hash(token.former_hash);
        if (!former || former->id != hash->id) return refused("the former hash is not valid");
        entry.former = former->digest;
      }
    }
    if (token.scopes.empty()) return refused("the token has no scopes; give it at least one");
    for (const std::string& scope : token.scopes) {
      const auto named = scope_named(scope);
      if (!named) {
        return refused(fmt::format(
            "unknown scope \"{}\"; the scopes are submit, work, read, operate, admin, payload",
            scope));
      }
      entry.access.scopes_ |= bit_of(*named);
    }
    if (entry.access.scopes_ == bit_of(api::Scope::kPayload)) {
      return refused("the scope payload opens no call by itself; add read, or another scope");
    }
    if (token.sees_payloads) entry.access.scopes_ |= bit_of(api::Scope::kPayload);
    for (const std::string& glob : token.queues) {
      if (!is_queue_glob(glob)) {
        return refused(
            fmt::format("'*' must be the last character of the queue pattern \"{}\"", glob));
      }
    }
    if (!book.by_id_.emplace(std::move(id), entry).second) {
      return refused("another token has the same hash or certificate");
    }
  }
  return book;
}

const Access* TokenBook::authenticate(std::string_view credentials, Time now) const {
  const auto parts = take_apart(bearer_in(credentials));
  if (!parts) return nullptr;

  const auto found = by_id_.find(std::string(parts->id));
  const Sha256 digest = sha256(parts->secret);
  static constexpr Sha256 kNobodys{};
  const bool known = found != by_id_.end();
  const Sha256& expected = known ? found->second.digest : kNobodys;
  const bool rotated = known && found->second.former.has_value();
  const Sha256& former = rotated ? *found->second.former : kNobodys;
  // Compares both in every case, so that the time reveals nothing.
  const bool equal = CRYPTO_memcmp(digest.data(), expected.data(), digest.size()) == 0;
  const bool was = CRYPTO_memcmp(digest.data(), former.data(), digest.size()) == 0;
  if (!known || (!equal && !was)) return nullptr;
  const Access& access = found->second.access;
  if (access.settings_->hash.empty()) return nullptr;  // the token's secret is a private key
  if (!equal && (!rotated || access.settings_->former_until.value_or(now) <= now)) return nullptr;
  return access.live(now) ? &access : nullptr;
}

const Access* TokenBook::authenticate_certified(std::string_view name, Time now) const {
  const auto found = by_id_.find(std::string(name));
  if (found == by_id_.end()) return nullptr;
  const Access& access = found->second.access;
  return !access.settings_->certificate.empty() && access.live(now) ? &access : nullptr;
}

}  // namespace millrace::service
