#include "api/queue.h"

#include <algorithm>
#include <utility>

#include "api/change_decode.h"
#include "api/job_decode.h"
#include "api/limit_decode.h"
#include "api/named_decode.h"
#include "api/parameters.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

// null is a distinct value here.
constexpr NullMember kNull = NullMember::kValue;

bool read_max_crashes(Decode& decode, const Path& path, int& out) {
  std::int64_t value = 0;
  if (!read_integer(decode, path, 1, kMaxCrashes, value)) return false;
  out = static_cast<int>(value);
  return true;
}

template <Change<Duration> RetentionChange::* kField>
void read_retention_time(Decode& decode, const Path& path, RetentionChange& out) {
  read_change(out.*kField, read_duration, decode, path, 0, kMaxDelayMs);
}

constexpr Member<RetentionChange> kRetentionMembers[] = {
    {"succeeded_ms", read_retention_time<&RetentionChange::succeeded>, kNull},
    {"dead_ms", read_retention_time<&RetentionChange::dead>, kNull},
    {"cancelled_ms", read_retention_time<&RetentionChange::cancelled>, kNull},
    {"expired_ms", read_retention_time<&RetentionChange::expired>, kNull},
};

bool read_retention(Decode& decode, const Path& path, RetentionChange& out) {
  return read_object(decode, path, kRetentionMembers, out).has_value();
}

bool read_weights(Decode& decode, const Path& path, FairSettings& out) {
  return read_map(decode, path, kMaxFairWeights, [&](std::string key, const Path& at) {
    if (key.size() > kMaxFairKeyBytes) {
      refuse_value(decode, at, "is not a fair key: it has at most 128 bytes");
      return;
    }
    std::int64_t weight = 0;
    if (read_integer(decode, at, 1, kMaxFairWeight, weight)) {
      out.weights.emplace_back(std::move(key), weight);
    }
  });
}

constexpr Member<FairSettings> kFairMembers[] = {
    {"weights", [](Decode& d, const Path& p, FairSettings& out) { read_weights(d, p, out); }},
    {"default_weight",
     [](Decode& d, const Path& p, FairSettings& out) {
       read_integer(d, p, 1, kMaxFairWeight, out.default_weight);
     }},
    {"by", [](Decode& d, const Path& p, FairSettings& out) { read_named(d, p, out.by); }},
};

bool read_fair(Decode& decode, const Path& path, FairSettings& out) {
  return read_object(decode, path, kFairMembers, out).has_value();
}

void encode_fair(JsonWriter& json, const std::optional<FairSettings>& fair) {
  json.key("fair");
  if (!fair) return json.null();
  json.begin_object();
  json.key("weights");
  json.begin_object();
  for (const auto& [key, weight] : fair->weights) json.member(key, weight);
  json.end_object();
  json.member("default_weight", fair->default_weight);
  json.member("by", name_of(fair->by));
  json.end_object();
}

constexpr Member<QueueSettingsChange> kSettingsMembers[] = {
    {"max_attempts",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.max_attempts, read_max_attempts, d, p);
     },
     kNull},
    {"max_crashes",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.max_crashes, read_max_crashes, d, p);
     },
     kNull},
    {"retry",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.retry, read_retry_policy, d, p);
     },
     kNull},
    {"lease_ms",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.lease, read_duration, d, p, kMinLeaseMs, kMaxLeaseMs);
     },
     kNull},
    {"max_ready",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.max_ready, read_integer, d, p, 0, kMaxMaxReady);
     },
     kNull},
    {"retention",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.retention, read_retention, d, p);
     },
     kNull},
    {"concurrency",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.concurrency, read_integer, d, p, 1, kMaxConcurrency);
     },
     kNull},
    {"rate",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.rate, read_rate, d, p);
     },
     kNull},
    {"breaker",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.breaker, read_breaker, d, p);
     },
     kNull},
    {"limits",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.limits, read_queue_limits, d, p);
     },
     kNull},
    {"fair",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.fair, read_fair, d, p);
     },
     kNull},
    {"max_ready_per_key",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.max_ready_per_key, read_integer, d, p, 1, kMaxMaxReady);
     },
     kNull},
    {"ageing_ms",
     [](Decode& d, const Path& p, QueueSettingsChange& out) {
       read_change(out.ageing, read_duration, d, p, kMinAgeingMs, kMaxAgeingMs);
     },
     kNull},
};

constexpr Member<Pause> kPauseMembers[] = {
    {"reason",
     [](Decode& d, const Path& p, Pause& out) { read_text(d, p, 0, kMaxReasonBytes, out.reason); }},
};

constexpr Member<Purge> kPurgeMembers[] = {
    {"states",
     [](Decode& d, const Path& p, Purge& out) {
       read_array(d, p, 1, kJobStates, [&](const Path& element) {
         JobState state{};
         if (!read_named(d, element, state)) return;
         if (state == JobState::kRunning)
           return d.fault(element, "must not be running; running jobs can't be purged");
         if (std::ranges::find(out.states, state) == out.states.end()) out.states.push_back(state);
       });
     }},
    {"operation", [](Decode& d, const Path& p, Purge& out) { read_boolean(d, p, out.operation); }},
};

void encode_rates(JsonWriter& json, const Queue::Rates& rates) {
  json.begin_object();
  json.member("submitted_per_s", rates.submitted_per_s);
  json.member("started_per_s", rates.started_per_s);
  json.member("succeeded_per_s", rates.succeeded_per_s);
  json.member("failed_per_s", rates.failed_per_s);
  json.end_object();
}

}  // namespace

Decoded<QueueSettingsChange> decode_queue_settings(std::string_view body,
                                                   const DecodeLimits& limits) {
  return decode_members<QueueSettingsChange>(body, limits, EmptyBody::kEmptyObject,
                                             kSettingsMembers);
}

Decoded<QueueQuery> decode_queue_query(std::string_view query_string) {
  static constexpr Parameter<QueueQuery> kParameters[] = {
      {"create", [](const Argument& a, QueueQuery& out) { take_boolean(a, out.create); }}};
  return decode_parameters<QueueQuery>(query_string, kParameters);
}

Decoded<DeleteQueueQuery> decode_delete_queue_query(std::string_view query_string) {
  static constexpr Parameter<DeleteQueueQuery> kParameters[] = {
      {"force", [](const Argument& a, DeleteQueueQuery& out) { take_boolean(a, out.force); }}};
  return decode_parameters<DeleteQueueQuery>(query_string, kParameters);
}

Decoded<SharesQuery> decode_shares_query(std::string_view query_string) {
  static constexpr Parameter<SharesQuery> kParameters[] = {
      {"limit",
       [](const Argument& a, SharesQuery& out) { take_integer(a, 1, kMaxListLimit, out.limit); }},
      {"cursor", [](const Argument& a, SharesQuery& out) { take_cursor(a, out.cursor); }},
      {"order",
       [](const Argument& a, SharesQuery& out) {
         out.by_waiting = a.value == "waiting";
         if (!out.by_waiting && a.value != "key") a.fault("must be \"key\" or \"waiting\"");
       }},
  };
  return decode_parameters<SharesQuery>(query_string, kParameters);
}

void encode(JsonWriter& json, const Share& share) {
  json.begin_object();
  json.member("key", share.key);
  json.member("weight", share.weight);
  json.member("running", share.running);
  json.member("waiting", share.waiting);
  json.member("share", share.share);
  json.end_object();
}

Decoded<Pause> decode_pause(std::string_view body, const DecodeLimits& limits) {
  return decode_members<Pause>(body, limits, EmptyBody::kEmptyObject, kPauseMembers);
}

Decoded<Purge> decode_purge(std::string_view body, const DecodeLimits& limits) {
  auto purge = decode_members<Purge>(body, limits, EmptyBody::kEmptyObject, kPurgeMembers);
  if (purge && purge->states.empty()) {
    purge->states = {JobState::kScheduled, JobState::kReady, JobState::kRetrying,
                     JobState::kBlocked};
  }
  return purge;
}

void encode_purged(JsonWriter& json, std::int64_t deleted) {
  json.begin_object();
  json.member("deleted", deleted);
  json.end_object();
}

void encode(JsonWriter& json, const QueueSettings& settings) {
  json.begin_object();
  json.member("max_attempts", settings.max_attempts);
  json.member("max_crashes", settings.max_crashes);
  json.key("retry");
  encode(json, settings.retry);
  json.member("lease_ms", settings.lease);
  json.member("max_ready", settings.max_ready);
  json.member("concurrency", settings.concurrency);
  json.key("rate");
  encode(json, settings.rate);
  json.key("breaker");
  encode(json, settings.breaker);
  json.key("limits");
  encode(json, settings.limits);
  encode_fair(json, settings.fair);
  json.member("ageing_ms", settings.ageing);
  json.member("max_ready_per_key", settings.max_ready_per_key);
  json.key("retention");
  json.begin_object();
  json.member("succeeded_ms", settings.retention.succeeded);
  json.member("dead_ms", settings.retention.dead);
  json.member("cancelled_ms", settings.retention.cancelled);
  json.member("expired_ms", settings.retention.expired);
  json.end_object();
  json.end_object();
}

void encode(JsonWriter& json, const Queue& queue) {
  json.begin_object();
  json.member("name", queue.name);
  json.member("paused", queue.paused);
  json.text_or_null("pause_reason", queue.pause_reason);
  json.key("counts");
  json.begin_object();
  for (std::size_t state = 0; state < kJobStates; ++state) {
    json.member(name_of(static_cast<JobState>(state)), queue.counts[state]);
  }
  json.end_object();
  json.member("oldest_ready_age_ms", queue.oldest_ready_age);
  json.key("rates");
  encode_rates(json, queue.rates);
  json.key("settings");
  encode(json, queue.settings);
  json.member("version", queue.version);
  if (queue.blocked_by) {
    json.key("blocked_by");
    json.begin_array();
    for (const Reason& reason : *queue.blocked_by) encode(json, reason);
    json.end_array();
  }
  json.end_object();
}

Decoded<ScaleQuery> decode_scale_query(std::string_view query_string) {
  static constexpr Parameter<ScaleQuery> kParameters[] = {
      {"target_wait_ms",
       [](const Argument& a, ScaleQuery& out) {
         take_duration(a, kMinTargetWaitMs, kMaxTargetWaitMs, out.target_wait);
       }},
      {"slots",
       [](const Argument& a, ScaleQuery& out) { take_integer(a, 1, kMaxSlots, out.slots); }},
  };
  return decode_parameters<ScaleQuery>(query_string, kParameters);
}

void encode(JsonWriter& json, const Scale& scale) {
  json.begin_object();
  json.member("desired_workers", scale.desired_workers);
  json.member("because", scale.because);
  json.member("desired_slots", scale.desired_slots);
  json.member("ready", scale.ready);
  json.member("held_back", scale.held_back);
  json.member("running", scale.running);
  json.member("run_ms", scale.run);
  json.end_object();
}

}  // namespace millrace::api
