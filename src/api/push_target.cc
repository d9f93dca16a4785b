#include "api/push_target.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/decode.h"
#include "api/text.h"
#include "base/ascii.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

// The headers that the server sets itself, and those that determine framing or the destination.
constexpr std::array<std::string_view, 15> kReservedHeaders = {"host",
                                                               "content-length",
                                                               "transfer-encoding",
                                                               "connection",
                                                               "keep-alive",
                                                               "expect",
                                                               "te",
                                                               "trailer",
                                                               "upgrade",
                                                               "proxy-authorization",
                                                               "proxy-connection",
                                                               "content-type",
                                                               "content-encoding",
                                                               "user-agent",
                                                               "accept-encoding"};
constexpr std::array<std::string_view, 3> kReservedPrefixes = {"ce-", "webhook-", "millrace-"};

bool is_header_name(std::string_view name) {
  return !name.empty() && name.size() <= kMaxNameBytes && std::ranges::all_of(name, [](char c) {
    return is_alphanumeric(c) ||
           std::string_view("!#$%&'*+-.^_`|~").find(c) != std::string_view::npos;
  });
}

void read_headers(Decode& decode, const Path& path, PutPushTarget& out) {
  out.has_headers = true;
  if (decode.cursor.type() == JsonType::kNull) return void(decode.cursor.skip());
  StringMap headers;
  if (!read_string_map(decode, path, kMaxPushHeaderBytes, headers)) return;
  if (headers.size() > kMaxPushHeaders) {
    return decode.fault(path, "must have at most " + std::to_string(kMaxPushHeaders) + " members");
  }
  for (auto& [name, value] : headers) {
    const Path at{&path, name, 0};
    std::string lower = lowered(name);
    const std::string fault = fault_of_push_header(lower, value);
    if (!fault.empty()) {
      decode.fault(at, fault);
    } else if (std::ranges::find(out.target.headers, lower, [](const auto& header) {
                 return header.first;
               }) != out.target.headers.end()) {
      decode.fault(at, "stands twice; case makes no difference");
    } else {
      out.target.headers.emplace_back(std::move(lower), value);
    }
  }
}

void read_secrets(Decode& decode, const Path& path, PutPushTarget& out) {
  out.has_secrets = true;
  const auto read_one = [&](const Path& at) {
    std::string secret;
    if (read_text(decode, at, 1, 256, secret)) out.target.secrets.push_back(std::move(secret));
  };
  switch (decode.cursor.type()) {
    case JsonType::kNull:
      decode.cursor.skip();
      break;
    case JsonType::kString:
      read_one(path);
      break;
    case JsonType::kArray:
      read_array(decode, path, 1, kMaxPushSecrets, read_one);
      break;
    default:
      refuse_value(decode, path, "must be a string, or an array of the new and the old one");
  }
}

constexpr NullMember kNull = NullMember::kValue;

constexpr Member<PutPushTarget> kMembers[] = {
    {"url", [](Decode& d, const Path& p,
               PutPushTarget& out) { read_text(d, p, 1, kMaxPushUrlBytes, out.target.url); }},
    {"headers", read_headers, kNull},
    {"secret", read_secrets, kNull},
    {"concurrency",
     [](Decode& d, const Path& p, PutPushTarget& out) {
       read_integer(d, p, 1, kMaxPushConcurrency, out.target.concurrency);
     }},
    {"timeout_ms",
     [](Decode& d, const Path& p, PutPushTarget& out) {
       read_duration(d, p, kMinPushTimeoutMs, kMaxPushTimeoutMs, out.target.timeout);
     }},
    {"queues", [](Decode& d, const Path& p,
                  PutPushTarget& out) { read_names(d, p, 1, kMaxClaimQueues, out.target.queues); }},
    {"types", [](Decode& d, const Path& p,
                 PutPushTarget& out) { read_names(d, p, 0, kMaxClaimTypes, out.target.types); }},
    {"paused", [](Decode& d, const Path& p,
                  PutPushTarget& out) { out.has_paused = read_boolean(d, p, out.target.paused); }},
    {"pause_reason",
     [](Decode& d, const Path& p, PutPushTarget& out) {
       read_text(d, p, 0, kMaxReasonBytes, out.target.pause_reason);
     }},
};

void refuse_repeated_names(Decode& decode, const Path& path,
                           const std::vector<std::string>& names) {
  for (std::size_t i = 1; i < names.size(); ++i) {
    const auto end = names.begin() + static_cast<std::ptrdiff_t>(i);
    if (std::find(names.begin(), end, names[i]) != end) {
      decode.fault(Path{&path, {}, i}, "stands twice");
    }
  }
}

void write_names(JsonWriter& json, std::string_view key, const std::vector<std::string>& names) {
  json.key(key);
  json.begin_array();
  for (const std::string& name : names) json.string(name);
  json.end_array();
}

void encode_last(JsonWriter& json, const PushOutcome& outcome) {
  json.begin_object();
  json.member("at", outcome.at);
  json.member("job", outcome.job);
  json.member("outcome", outcome.outcome);
  json.key("status");
  outcome.status == 0 ? json.null() : json.number(outcome.status);
  json.member("took_ms", outcome.took);
  json.text_or_null("error", outcome.error);
  json.end_object();
}

void encode_health(JsonWriter& json, const PushHealth& health) {
  json.begin_object();
  json.member("breaker", health.breaker);
  json.member("failures_in_a_row", health.failures_in_a_row);
  json.member("calls_again_in_ms", health.calls_again_in);
  json.member("running", health.running);
  json.member("held_elsewhere", health.held_elsewhere);
  json.key("totals");
  json.begin_object();
  json.member("succeeded", health.succeeded);
  json.member("accepted", health.accepted);
  json.member("dead", health.dead);
  json.member("snoozed", health.snoozed);
  json.member("failed", health.failed);
  json.member("cancelled", health.cancelled);
  json.end_object();
  json.key("latency");
  json.begin_object();
  json.member("p50_ms", health.p50_ms);
  json.member("p95_ms", health.p95_ms);
  json.member("p99_ms", health.p99_ms);
  json.end_object();
  json.key("last");
  json.begin_array();
  for (const PushOutcome& outcome : health.last) encode_last(json, outcome);
  json.end_array();
  json.end_object();
}

}  // namespace

std::string fault_of_push_header(std::string_view lower_name, std::string_view value) {
  if (!is_header_name(lower_name)) return "is no name of a header";
  const bool is_reserved =
      std::ranges::find(kReservedHeaders, lower_name) != kReservedHeaders.end() ||
      std::ranges::any_of(kReservedPrefixes,
                          [&](std::string_view prefix) { return lower_name.starts_with(prefix); });
  if (is_reserved) return "is a header that the server sets itself";
  const bool is_clean = std::ranges::all_of(value, [](char c) { return c >= ' ' && c <= '~'; }) &&
                        !value.starts_with(' ') && !value.ends_with(' ') && !value.empty();
  return is_clean ? "" : "must be visible ASCII characters, with spaces only between them";
}

Decoded<PutPushTarget> decode_push_target(std::string_view body, const DecodeLimits& limits) {
  const auto read = [](Decode& decode, const Path& path, PutPushTarget& out) {
    const auto seen = read_object(decode, path, kMembers, out);
    if (!seen) return;
    require(decode, path, "url", seen->has(bit_of(kMembers, "url")));
    require(decode, path, "queues", seen->has(bit_of(kMembers, "queues")));
    refuse_repeated_names(decode, Path{&path, "queues", 0}, out.target.queues);
    refuse_repeated_names(decode, Path{&path, "types", 0}, out.target.types);
  };
  return decode_body<PutPushTarget>(body, limits, EmptyBody::kRefused, read);
}

std::string stored_push_target(const PushTarget& target) {
  std::string out;
  JsonWriter json(out);
  json.begin_object();
  json.member("url", target.url);
  json.key("headers");
  json.begin_object();
  for (const auto& [name, value] : target.headers) {
    json.text_key(name);
    json.string(value);
  }
  json.end_object();
  if (!target.secrets.empty()) write_names(json, "secret", target.secrets);
  json.member("concurrency", target.concurrency);
  json.member("timeout_ms", target.timeout);
  write_names(json, "queues", target.queues);
  write_names(json, "types", target.types);
  json.member("paused", target.paused);
  json.member("pause_reason", target.pause_reason);
  json.end_object();
  return out;
}

std::optional<PushTarget> read_stored_push_target(std::string_view stored) {
  auto read = decode_push_target(stored, DecodeLimits{});
  if (!read) return std::nullopt;
  return std::move(read->target);
}

namespace {

void encode_members(JsonWriter& json, const PushTarget& target) {
  json.member("url", target.url);
  write_names(json, "queues", target.queues);
  write_names(json, "types", target.types);
  json.key("header_names");
  json.begin_array();
  for (const auto& [name, value] : target.headers) json.string(name);
  json.end_array();
  json.member("secret", !target.secrets.empty());
  json.member("previous_secret", target.secrets.size() > 1);
  json.member("concurrency", target.concurrency);
  json.member("timeout_ms", target.timeout);
  json.member("paused", target.paused);
  json.text_or_null("pause_reason", target.pause_reason);
}

}  // namespace

void encode_settings(JsonWriter& json, const PushTarget& target) {
  json.begin_object();
  encode_members(json, target);
  json.end_object();
}

void encode(JsonWriter& json, const PushTargetView& view) {
  const PushTarget& target = *view.target;
  json.begin_object();
  json.member("name", view.name);
  encode_members(json, target);
  json.member("version", view.version);
  json.member("created_at", view.created_at);
  json.member("updated_at", view.updated_at);
  json.text_or_null("served_by", view.served_by);
  json.key("health");
  view.health == nullptr ? json.null() : encode_health(json, *view.health);
  json.end_object();
}

void encode(JsonWriter& json, const PushTestResult& result) {
  json.begin_object();
  json.member("ok", result.error.empty());
  json.key("status");
  result.status == 0 ? json.null() : json.number(result.status);
  json.member("took_ms", result.took);
  json.text_or_null("error", result.error);
  json.end_object();
}

}  // namespace millrace::api
