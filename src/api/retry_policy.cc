#include "api/decode.h"
#include "api/job.h"
#include "api/named_decode.h"
#include "api/text.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

struct Parts {
  std::optional<RetryStrategy> strategy;
  RetryPolicy policy;
};

constexpr Member<Parts> kMembers[] = {
    {"strategy",
     [](Decode& decode, const Path& path, Parts& parts) {
       read_into(parts.strategy, read_named<RetryStrategy>, decode, path);
     }},
    {"base_ms",
     [](Decode& decode, const Path& path, Parts& parts) {
       read_duration(decode, path, 0, kMaxDelayMs, parts.policy.base);
     }},
    {"max_ms", [](Decode& decode, const Path& path,
                  Parts& parts) { read_duration(decode, path, 0, kMaxDelayMs, parts.policy.max); }},
    {"jitter", [](Decode& decode, const Path& path,
                  Parts& parts) { read_real(decode, path, 0, 1, parts.policy.jitter); }},
    {"delays_ms",
     [](Decode& decode, const Path& path, Parts& parts) {
       read_array(decode, path, 1, kMaxRetryDelays, [&](const Path& element) {
         Duration delay{};
         if (read_duration(decode, element, 0, kMaxDelayMs, delay))
           parts.policy.delays.push_back(delay);
       });
     }},
};

}  // namespace

bool read_retry_policy(Decode& decode, const Path& path, RetryPolicy& out) {
  Parts parts;
  const std::optional<Seen> seen = read_object(decode, path, kMembers, parts);
  if (!seen) return false;
  require(decode, path, "strategy", seen->has(bit_of(kMembers, "strategy")));
  if (!parts.strategy) return false;
  const auto refuse_if_seen = [&](std::string_view name, MemberSet bit) {
    if (seen->has(bit)) decode.fault(Path{&path, name, 0}, "does not apply to this strategy");
  };
  if (*parts.strategy == RetryStrategy::kList) {
    require(decode, path, "delays_ms", seen->has(bit_of(kMembers, "delays_ms")));
    refuse_if_seen("base_ms", bit_of(kMembers, "base_ms"));
    refuse_if_seen("max_ms", bit_of(kMembers, "max_ms"));
    refuse_if_seen("jitter", bit_of(kMembers, "jitter"));
  } else {
    refuse_if_seen("delays_ms", bit_of(kMembers, "delays_ms"));
  }
  parts.policy.strategy = *parts.strategy;
  out = std::move(parts.policy);
  return true;
}

void encode(JsonWriter& json, const RetryPolicy& policy) {
  json.begin_object();
  json.member("strategy", name_of(policy.strategy));
  if (policy.strategy == RetryStrategy::kList) {
    json.key("delays_ms");
    json.begin_array();
    for (const Duration delay : policy.delays) json.duration(delay);
    json.end_array();
  } else {
    json.member("base_ms", policy.base);
    json.member("max_ms", policy.max);
    json.member("jitter", policy.jitter);
  }
  json.end_object();
}

}  // namespace millrace::api
