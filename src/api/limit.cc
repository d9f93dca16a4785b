#include "api/limit.h"

#include <array>
#include <utility>

#include "api/change_decode.h"
#include "api/job_decode.h"
#include "api/limit_decode.h"
#include "api/parameters.h"
#include "api/text.h"

namespace millrace::api {
namespace {

constexpr NullMember kNull = NullMember::kValue;

constexpr Member<Bounds> kBoundsMembers[] = {
    {"concurrency",
     [](Decode& d, const Path& p, Bounds& out) {
       read_into(out.concurrency, read_integer, d, p, 1, kMaxConcurrency);
     }},
    {"rate", [](Decode& d, const Path& p, Bounds& out) { read_into(out.rate, read_rate, d, p); }},
};

bool read_keys(Decode& decode, const Path& path, std::vector<KeyBounds>& out) {
  return read_map(decode, path, kMaxKeyBounds, [&](std::string key, const Path& at) {
    if (key.empty() || key.size() > kMaxLimitKeyBytes) {
      refuse_value(decode, at, "is not a key: a key has 1 to 255 bytes");
      return;
    }
    KeyBounds& added = out.emplace_back();
    added.key = std::move(key);
    read_object(decode, at, kBoundsMembers, added.bounds);
  });
}

void read_concurrency(Decode& d, const Path& p, LimitChange& out) {
  read_change(out.concurrency, read_integer, d, p, 1, kMaxConcurrency);
}
void read_limit_rate(Decode& d, const Path& p, LimitChange& out) {
  read_change(out.rate, read_rate, d, p);
}

void read_limit_breaker(Decode& d, const Path& p, LimitChange& out) {
  read_change(out.breaker, read_breaker, d, p);
}
void read_retry_rate(Decode& d, const Path& p, LimitChange& out) {
  read_change(out.retry_rate, read_rate, d, p);
}

constexpr Member<LimitChange> kLimitMembers[] = {
    {"concurrency", read_concurrency, kNull},
    {"rate", read_limit_rate, kNull},
    {"per_key",
     [](Decode& d, const Path& p, LimitChange& out) {
       read_change(out.per_key, read_boolean, d, p);
     },
     kNull},
    {"keys",
     [](Decode& d, const Path& p, LimitChange& out) { read_change(out.keys, read_keys, d, p); },
     kNull},
    {"breaker", read_limit_breaker, kNull},
    {"retry_rate", read_retry_rate, kNull},
};

constexpr Member<LimitChange> kTypeMembers[] = {
    {"concurrency", read_concurrency, kNull},
    {"rate", read_limit_rate, kNull},
    {"breaker", read_limit_breaker, kNull},
    {"retry_rate", read_retry_rate, kNull},
    {"paused",
     [](Decode& d, const Path& p, LimitChange& out) {
       read_change(out.paused, read_boolean, d, p);
     },
     kNull},
    {"pause_reason",
     [](Decode& d, const Path& p, LimitChange& out) {
       read_text(d, p, 0, kMaxReasonBytes, out.pause_reason);
     }},
};

constexpr Member<LimitPause> kPauseMembers[] = {
    {"reason", [](Decode& d, const Path& p,
                  LimitPause& out) { read_text(d, p, 0, kMaxReasonBytes, out.reason); }},
    {"for_ms", [](Decode& d, const Path& p,
                  LimitPause& out) { read_into(out.length, read_duration, d, p, 1, kMaxDelayMs); }},
    {"key", [](Decode& d, const Path& p,
               LimitPause& out) { read_text(d, p, 1, kMaxLimitKeyBytes, out.key); }},
};

constexpr Member<LimitResume> kResumeMembers[] = {
    {"key", [](Decode& d, const Path& p,
               LimitResume& out) { read_text(d, p, 1, kMaxLimitKeyBytes, out.key); }},
};

void encode_bounds(JsonWriter& json, const Bounds& bounds) {
  json.member("concurrency", bounds.concurrency);
  json.key("rate");
  encode(json, bounds.rate);
}

void encode_use(JsonWriter& json, const GateUse& use) {
  json.member("in_use", use.in_use);
  json.member("waiting", use.waiting);
  json.member("next_token_at", use.next_token_at);
  json.text_or_null("breaker_state", use.breaker_state);
  json.member("open_until", use.open_until);
  json.member("blocked_until", use.blocked_until);
}

void encode_pause(JsonWriter& json, const GateUse& use) {
  json.member("paused", use.paused);
  json.text_or_null("pause_reason", use.pause_reason);
  json.member("paused_until", use.paused_until);
}

}  // namespace

Decoded<LimitChange> decode_limit(std::string_view body, const DecodeLimits& limits) {
  return decode_members<LimitChange>(body, limits, EmptyBody::kEmptyObject, kLimitMembers);
}

Decoded<LimitChange> decode_type(std::string_view body, const DecodeLimits& limits) {
  return decode_members<LimitChange>(body, limits, EmptyBody::kEmptyObject, kTypeMembers);
}

Decoded<LimitPause> decode_limit_pause(std::string_view body, const DecodeLimits& limits) {
  return decode_members<LimitPause>(body, limits, EmptyBody::kEmptyObject, kPauseMembers);
}

Decoded<LimitResume> decode_limit_resume(std::string_view body, const DecodeLimits& limits) {
  return decode_members<LimitResume>(body, limits, EmptyBody::kEmptyObject, kResumeMembers);
}

Decoded<DeleteLimitQuery> decode_delete_limit_query(std::string_view query_string) {
  static constexpr Parameter<DeleteLimitQuery> kParameters[] = {
      {"force", [](const Argument& a, DeleteLimitQuery& out) { take_boolean(a, out.force); }}};
  return decode_parameters<DeleteLimitQuery>(query_string, kParameters);
}

Decoded<LimitKeysQuery> decode_limit_keys_query(std::string_view query_string) {
  static constexpr Parameter<LimitKeysQuery> kParameters[] = {
      {"limit", [](const Argument& a,
                   LimitKeysQuery& out) { take_integer(a, 1, kMaxListLimit, out.limit); }},
      {"cursor", [](const Argument& a, LimitKeysQuery& out) { take_cursor(a, out.cursor); }},
      {"order",
       [](const Argument& a, LimitKeysQuery& out) {
         out.by_waiting = a.value == "waiting";
         if (!out.by_waiting && a.value != "key") a.fault("must be \"key\" or \"waiting\"");
       }},
  };
  return decode_parameters<LimitKeysQuery>(query_string, kParameters);
}

Decoded<LimitHoldersQuery> decode_limit_holders_query(std::string_view query_string) {
  static constexpr Parameter<LimitHoldersQuery> kParameters[] = {
      {"limit", [](const Argument& a,
                   LimitHoldersQuery& out) { take_integer(a, 1, kMaxListLimit, out.limit); }},
      {"cursor", [](const Argument& a, LimitHoldersQuery& out) { take_cursor(a, out.cursor); }},
      {"key",
       [](const Argument& a, LimitHoldersQuery& out) {
         if (a.value.empty() || a.value.size() > kMaxLimitKeyBytes) {
           return a.fault("must have 1 to 255 bytes");
         }
         out.key = a.value;
       }},
  };
  return decode_parameters<LimitHoldersQuery>(query_string, kParameters);
}

void encode(JsonWriter& json, const Limit& limit) {
  json.begin_object();
  json.member(limit.of_type ? "type" : "name", limit.name);
  encode_bounds(json, limit.bounds);
  json.key("breaker");
  encode(json, limit.breaker);
  json.key("retry_rate");
  encode(json, limit.retry_rate);
  if (!limit.of_type) {
    json.member("per_key", limit.per_key);
    json.key("keys");
    json.begin_object();
    for (const KeyBounds& key : limit.keys) {
      json.key(key.key);
      json.begin_object();
      if (key.bounds.concurrency) json.member("concurrency", *key.bounds.concurrency);
      if (key.bounds.rate) json.key("rate"), encode(json, key.bounds.rate);
      json.end_object();
    }
    json.end_object();
  }
  json.member("version", limit.version);
  encode_pause(json, limit.use);
  encode_use(json, limit.use);
  json.end_object();
}

void encode(JsonWriter& json, const LimitKey& key) {
  json.begin_object();
  json.member("key", key.key);
  encode_use(json, key.use);
  encode_pause(json, key.use);
  json.end_object();
}

void encode(JsonWriter& json, const LimitHolder& holder) {
  json.begin_object();
  json.member("id", holder.job);
  json.text_or_null("key", holder.key);
  json.member("worker", holder.worker);
  json.member("since", holder.since);
  json.end_object();
}

}  // namespace millrace::api
