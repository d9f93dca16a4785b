#include "api/browser_session.h"

#include "api/decode.h"

namespace millrace::api {
namespace {

constexpr Member<SignIn> kMembers[] = {
    {"token",
     [](Decode& d, const Path& p, SignIn& out) { read_text(d, p, 1, kMaxTokenBytes, out.token); }},
};

void words(JsonWriter& json, const std::vector<std::string>& list) {
  json.begin_array();
  for (const std::string& word : list) json.string(word);
  json.end_array();
}

}  // namespace

Decoded<SignIn> decode_sign_in(std::string_view body, const DecodeLimits& limits) {
  return decode_body<SignIn>(
      body, limits, EmptyBody::kRefused, [](Decode& decode, const Path& path, SignIn& out) {
        const std::optional<Seen> seen = read_object(decode, path, kMembers, out);
        if (seen) require(decode, path, "token", seen->has(bit_of(kMembers, "token")));
      });
}

void encode(JsonWriter& json, const BrowserSession& session) {
  json.begin_object();
  json.member("required", session.required);
  json.member("signed_in", session.signed_in);
  json.text_or_null("name", session.name);
  json.key("scopes");
  words(json, session.scopes);
  json.key("queues");
  session.queues.empty() ? json.null() : words(json, session.queues);
  json.member("expires_at", session.expires_at);
  json.text_or_null("guard", session.guard);
  json.end_object();
}

}  // namespace millrace::api
