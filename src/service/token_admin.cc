#include "service/token_admin.h"

#include <openssl/crypto.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <thread>
#include <utility>

#include "base/hex.h"
#include "base/random.h"
#include "service/audit.h"
#include "service/convert.h"
#include "service/names_cursor.h"
#include "service/token_document.h"

namespace millrace::service {
namespace {

using api::ProblemCode;

using TokenId = std::array<std::uint8_t, 6>;

// Other nodes poll the store four times a second: after this long, each node that can has read it.
constexpr std::chrono::milliseconds kHeardEverywhere{600};

std::string_view id_of(const TokenSettings& token) {
  if (token.hash.empty()) return token.certificate;
  return std::string_view(token.hash).substr(0, 2 * sizeof(TokenId));
}

api::TokenInfo info_of(const TokenSettings& token, const TokenBook& book, bool configured) {
  api::TokenInfo info;
  info.id = id_of(token);
  info.name = token.name;
  info.description = token.description;
  info.scopes = token.scopes;
  const bool names_it = std::ranges::count(token.scopes, "payload") > 0;
  if (token.sees_payloads && !names_it) info.scopes.emplace_back("payload");
  info.queues = token.queues;
  info.configured = configured;
  info.expires_at = token.expires_at;
  info.created_at = token.created_at;
  info.created_by = token.created_by;
  info.last_used_at = book.last_used(info.id);
  if (!token.former_hash.empty()) info.former_until = token.former_until;
  return info;
}

api::Problem no_such_token() {
  return api::make_problem(ProblemCode::kNotFound, "there is no such token");
}

api::Problem tokens_unknown() {
  return api::make_problem(ProblemCode::kStorageUnavailable,
                           "the server can't look up the tokens now; try again later");
}

bool sees(const Caller& caller, const TokenSettings& token) {
  return caller.access == nullptr || caller.access->reaches(token);
}

// A token made at run time that the caller may change.
struct Changeable {
  std::shared_ptr<const TokenBook> book;
  const TokenSettings* token = nullptr;
};
Answered<Changeable> changeable(const Caller& caller, std::string_view id) {
  const auto configured = caller.services.tokens.configured();
  if (const TokenSettings* const token = configured->find(id)) {
    if (!sees(caller, *token)) return refused(no_such_token());
    return refused(ProblemCode::kInvalidState,
                   "the token stands in the configuration of the nodes; change it there, then send "
                   "each node SIGHUP, or restart it");
  }
  const MadeTokens::View view = caller.services.tokens.made();
  if (view.stale || view.book == nullptr) return refused(tokens_unknown());
  const TokenSettings* const token = view.book->find(id);
  if (token == nullptr || !sees(caller, *token)) return refused(no_such_token());
  return Changeable{view.book, token};
}

NewToken fresh_token(const TokenId& id) {
  std::array<std::uint8_t, 32> secret{};
  system_random_bytes(secret.data(), secret.size());
  NewToken made = make_token(secret, id);
  OPENSSL_cleanse(secret.data(), secret.size());
  return made;
}

// Waits so that all nodes agree when the caller is answered. It occupies a thread of the reader
// pool, since token changes are rare.
Task<void> until_heard_everywhere(Caller& caller) {
  if (caller.services.shards() == 1) co_return;
  auto wait = [](const std::stop_token&) {
    std::this_thread::sleep_for(kHeardEverywhere);
    return true;
  };
  co_await caller.read(Lane::kSearches, wait);
}

// This node has checked the request's token: the first shard's node accepts this node's own
// credentials.
Task<Answered<core::CatalogReply>> in_own_name(Caller& caller, core::Command command) {
  Ask asked(caller.port, std::move(command), Asking{engine::kNodesOwn, nullptr});
  engine::Answer answer = co_await asked;
  auto* const reply = reply_in<core::CatalogReply>(answer);
  if (reply == nullptr) co_return refused(caller.problem_of(answer));
  co_return std::move(*reply);
}

// The members of a token that the audit shows. No hash.
std::string members_of(const TokenSettings& token) {
  std::string text;
  JsonWriter json(text);
  const auto words = [&json](std::string_view name, const std::vector<std::string>& all) {
    json.key(name);
    json.begin_array();
    for (const std::string& word : all) json.string(word);
    json.end_array();
  };
  json.begin_object();
  json.member("name", token.name);
  json.text_or_null("description", token.description);
  words("scopes", token.scopes);
  words("queues", token.queues);
  json.member("expires_at", token.expires_at);
  json.member("former_secret_until", token.former_until);
  json.end_object();
  return text;
}

Task<Answered<>> put(Caller& caller, const TokenSettings& token, std::string_view action,
                     const TokenSettings* before) {
  core::PutCatalogEntry command;
  command.kind = core::CatalogKind::kToken;
  command.name = SharedBytes(id_of(token));
  command.body = SharedBytes(encode_token(token));
  command.if_version = token.version;
  core::Origin origin = about(action, "token", id_of(token));
  if (before != nullptr) origin.before = SharedBytes(members_of(*before));
  origin.after = SharedBytes(members_of(token));
  command.by = caller.origin_of(std::move(origin));
  auto reply = co_await in_own_name(caller, std::move(command));
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(to_problem(reply->refusal, "token"));
  for (const core::CatalogEntry& entry : reply->entries) caller.services.catalog.put(entry);
  co_await until_heard_everywhere(caller);
  co_return Answered<>();
}

bool name_is_taken(const Caller& caller, const std::string& name) {
  const auto has = [&name](const std::shared_ptr<const TokenBook>& book) {
    return book != nullptr &&
           std::ranges::find(book->tokens(), name, &TokenSettings::name) != book->tokens().end();
  };
  return has(caller.services.tokens.configured()) || has(caller.services.tokens.made().book);
}

// Refuses rights that the caller does not have itself.
Answered<> admits_token(const Caller& caller, const TokenSettings& token) {
  if (caller.services.tokens.empty()) {
    return refused(ProblemCode::kInvalidState,
                   "no token is configured, so that every user of this machine may do everything; "
                   "make the first one with `millrace token new --scope admin ...`, put its lines "
                   "into the configuration file, and restart the server");
  }
  if (caller.access->covers(token)) return {};
  return refused(ProblemCode::kForbidden,
                 "the token would have a scope, a queue or a life that the token of this request "
                 "lacks; ask for less, or use another token");
}

}  // namespace

Answered<TokenPage> list_tokens(const Caller& caller, const api::Page& page) {
  const auto after = parse_name_cursor(page.cursor);
  if (!after) return refused(bad_cursor());
  std::vector<api::TokenInfo> all;
  const auto gather = [&](const std::shared_ptr<const TokenBook>& book, bool configured) {
    if (book == nullptr) return;
    for (const TokenSettings& token : book->tokens()) {
      if (id_of(token) > *after && sees(caller, token)) {
        all.push_back(info_of(token, *book, configured));
      }
    }
  };
  gather(caller.services.tokens.configured(), true);
  gather(caller.services.tokens.made().book, false);
  std::ranges::sort(all, {}, &api::TokenInfo::id);
  TokenPage made;
  const auto limit = static_cast<std::size_t>(page.limit);
  if (all.size() > limit) {
    all.resize(limit);
    made.next = name_cursor(all.back().id);
  }
  made.tokens = std::move(all);
  return made;
}

Answered<api::TokenInfo> get_token(const Caller& caller, std::string_view id) {
  const auto configured = caller.services.tokens.configured();
  if (const TokenSettings* const token = configured->find(id); token && sees(caller, *token)) {
    return info_of(*token, *configured, true);
  }
  const MadeTokens::View view = caller.services.tokens.made();
  if (view.book == nullptr) return refused(no_such_token());
  const TokenSettings* const token = view.book->find(id);
  if (token == nullptr || !sees(caller, *token)) return refused(no_such_token());
  return info_of(*token, *view.book, false);
}

Task<Answered<TokenMade>> create_token(Caller& caller, const api::NewToken& wanted) {
  TokenSettings token;
  token.name = wanted.name;
  token.description = wanted.description;
  token.scopes = wanted.scopes;
  token.queues = wanted.queues;
  token.sees_payloads = false;
  token.created_at = caller.now();
  token.expires_at = wanted.expires_at;
  if (wanted.expires_in) token.expires_at = add_saturating(caller.now(), *wanted.expires_in);
  if (token.expires_at && *token.expires_at <= caller.now()) {
    co_return refused(
        api::make_fault(api::FieldError::Place::kPointer, "/expires_at", "must be in the future"));
  }
  if (caller.access != nullptr) {
    token.created_by = caller.access->settings().name;
    // Without an expiry, the token expires with its maker's.
    if (!token.expires_at) token.expires_at = caller.access->settings().expires_at;
  }
  if (auto admitted = admits_token(caller, token); !admitted) co_return refused(admitted);
  if (name_is_taken(caller, token.name)) {
    co_return refused(ProblemCode::kInvalidState,
                      "another token has this name; choose another, or revoke that one first");
  }
  TokenId id{};
  system_random_bytes(id.data(), id.size());
  NewToken made = fresh_token(id);
  token.hash = made.hash;
  auto kept = co_await put(caller, token, "token.created", nullptr);
  if (!kept) co_return refused(kept);
  co_return TokenMade{info_of(token, *TokenBook::make({}), false), std::move(made.token)};
}

Task<Answered<TokenMade>> rotate_token(Caller& caller, const std::string& id,
                                       const api::Rotation& rotation) {
  auto found = changeable(caller, id);
  if (!found) co_return refused(found);
  TokenSettings token = *found->token;
  // The caller gets the secret, so it must have all the token's rights.
  if (auto admitted = admits_token(caller, token); !admitted) co_return refused(admitted);
  const auto bytes = from_hex(id);
  TokenId raw{};
  if (!bytes || bytes->size() != raw.size()) co_return refused(no_such_token());
  std::ranges::copy(*bytes, raw.begin());
  NewToken made = fresh_token(raw);
  token.former_hash = std::exchange(token.hash, made.hash);
  token.former_until = add_saturating(caller.now(), rotation.grace);
  if (rotation.grace == Duration{0}) {
    token.former_hash.clear();
    token.former_until.reset();
  }
  auto kept = co_await put(caller, token, "token.rotated", found->token);
  if (!kept) co_return refused(kept);
  co_return TokenMade{info_of(token, *found->book, false), std::move(made.token)};
}

Task<Answered<>> revoke_token(Caller& caller, const std::string& id) {
  auto found = changeable(caller, id);
  if (!found) co_return refused(found);
  // An administrator of all queues may end any token, so that a leak can always be stopped.
  if (caller.limited() && !caller.access->has_scopes_of(*found->token)) {
    co_return refused(
        ProblemCode::kForbidden,
        "the token has a scope that the token of this request lacks, which is limited "
        "to queues; use a token that has all its scopes, or one without queues");
  }
  core::DeleteCatalogEntry command;
  command.kind = core::CatalogKind::kToken;
  command.name = SharedBytes(id);
  core::Origin origin = about("token.revoked", "token", id);
  origin.before = SharedBytes(members_of(*found->token));
  command.by = caller.origin_of(std::move(origin));
  const core::CatalogKey key{command.kind, command.name};
  auto reply = co_await in_own_name(caller, std::move(command));
  if (!reply) co_return refused(reply);
  if (reply->refusal) co_return refused(to_problem(reply->refusal, "token"));
  caller.services.catalog.remove(key);
  co_await until_heard_everywhere(caller);
  co_return Answered<>();
}

}  // namespace millrace::service
