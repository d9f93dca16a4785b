#include "api/token.h"

#include <algorithm>
#include <array>

#include "api/decode.h"
#include "api/scope.h"
#include "api/text.h"

namespace millrace::api {
namespace {

constexpr std::array<std::string_view, 6> kScopes = {"submit",  "work",  "read",
                                                     "operate", "admin", "payload"};

// Text that needs no escapes in a log line or a TOML file.
bool is_plain(std::string_view text) {
  return std::ranges::all_of(text,
                             [](char c) { return c >= ' ' && c <= '~' && c != '"' && c != '\\'; });
}

void read_scopes(Decode& decode, const Path& path, std::vector<std::string>& out) {
  read_array(decode, path, 1, kScopes.size(), [&](const Path& element) {
    std::size_t index = 0;
    if (!read_word(decode, element, kScopes, index)) return;
    const std::string scope(kScopes.at(index));
    if (std::ranges::count(out, scope) > 0) return decode.fault(element, "must not be there twice");
    out.push_back(scope);
  });
  if (out.size() == 1 && out.front() == "payload") {
    decode.fault(path, "must have another scope beside payload, which opens no call by itself");
  }
}

// "mail", "mail.*", "*"
bool is_glob(std::string_view text) {
  if (text.ends_with('*')) text.remove_suffix(1);
  return text.empty() || is_name(text);
}

void read_globs(Decode& decode, const Path& path, std::vector<std::string>& out) {
  read_array(decode, path, 1, kMaxTokenQueues, [&](const Path& element) {
    std::string glob;
    if (!read_text(decode, element, 1, kMaxNameBytes, glob)) return;
    if (!is_glob(glob)) {
      return decode.fault(element, "must be a queue's name, or its beginning and '*'");
    }
    out.push_back(std::move(glob));
  });
}

constexpr Member<NewToken> kNewTokenMembers[] = {
    {"name",
     [](Decode& d, const Path& p, NewToken& out) {
       if (!read_text(d, p, 1, kMaxTokenNameBytes, out.name)) return;
       if (!is_plain(out.name)) d.fault(p, "must be plain ASCII without quotes and backslashes");
     }},
    {"description",
     [](Decode& d, const Path& p, NewToken& out) {
       read_text(d, p, 0, kMaxTokenDescriptionBytes, out.description);
     }},
    {"scopes", [](Decode& d, const Path& p, NewToken& out) { read_scopes(d, p, out.scopes); }},
    {"queues", [](Decode& d, const Path& p, NewToken& out) { read_globs(d, p, out.queues); }},
    {"expires_at",
     [](Decode& d, const Path& p, NewToken& out) { read_into(out.expires_at, read_time, d, p); }},
    {"expires_in_ms",
     [](Decode& d, const Path& p, NewToken& out) {
       read_into(out.expires_in, read_duration, d, p, kMinTokenLifeMs, kMaxDelayMs);
     }},
};

constexpr Member<Rotation> kRotationMembers[] = {
    {"grace_ms", [](Decode& d, const Path& p,
                    Rotation& out) { read_duration(d, p, 0, kMaxGraceMs, out.grace); }},
};

void words_or_null(JsonWriter& json, std::string_view name, const std::vector<std::string>& words) {
  json.key(name);
  if (words.empty()) return json.null();
  json.begin_array();
  for (const std::string& word : words) json.string(word);
  json.end_array();
}

}  // namespace

Decoded<NewToken> decode_new_token(std::string_view body, const DecodeLimits& limits) {
  return decode_body<NewToken>(
      body, limits, EmptyBody::kRefused, [](Decode& decode, const Path& path, NewToken& out) {
        const std::optional<Seen> seen = read_object(decode, path, kNewTokenMembers, out);
        if (!seen) return;
        require(decode, path, "name", seen->has(bit_of(kNewTokenMembers, "name")));
        require(decode, path, "scopes", seen->has(bit_of(kNewTokenMembers, "scopes")));
        if (out.expires_at && out.expires_in) {
          decode.fault(Path{&path, "expires_in_ms", 0}, "must not be there beside expires_at");
        }
      });
}

Decoded<Rotation> decode_rotation(std::string_view body, const DecodeLimits& limits) {
  return decode_members<Rotation>(body, limits, EmptyBody::kEmptyObject, kRotationMembers);
}

void encode(JsonWriter& json, const TokenInfo& token, std::string_view secret) {
  json.begin_object();
  json.member("id", token.id);
  json.member("name", token.name);
  json.text_or_null("description", token.description);
  words_or_null(json, "scopes", token.scopes);
  words_or_null(json, "queues", token.queues);
  json.member("source", token.configured ? "config" : "api");
  json.member("expires_at", token.expires_at);
  json.member("created_at", token.created_at);
  json.text_or_null("created_by", token.created_by);
  json.member("last_used_at", token.last_used_at);
  json.member("former_secret_until", token.former_until);
  if (!secret.empty()) json.member("token", secret);
  json.end_object();
}

}  // namespace millrace::api
