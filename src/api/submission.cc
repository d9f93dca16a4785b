#include "api/submission.h"

#include <algorithm>
#include <array>
#include <utility>

#include "api/decode.h"
#include "api/job_decode.h"
#include "api/limit_decode.h"
#include "api/named_decode.h"
#include "api/text.h"
#include "base/hex.h"

namespace millrace::api {
namespace {

constexpr std::array<std::string_view, 2> kOrderOnFailure = {"hold", "pass"};

constexpr Member<UniqueKey> kUniqueMembers[] = {
    {"key", [](Decode& decode, const Path& path,
               UniqueKey& unique) { read_text(decode, path, 1, kMaxUniqueKeyBytes, unique.key); }},
    {"for_ms",
     [](Decode& decode, const Path& path, UniqueKey& unique) {
       read_into(unique.hold, read_duration, decode, path, 0, kMaxDelayMs);
     }},
    {"on_conflict", [](Decode& decode, const Path& path,
                       UniqueKey& unique) { read_named(decode, path, unique.on_conflict); }},
    {"max_wait_ms",
     [](Decode& decode, const Path& path, UniqueKey& unique) {
       read_into(unique.max_wait, read_duration, decode, path, 1, kMaxDelayMs);
     }},
};

void read_unique(Decode& decode, const Path& path, JobSubmission& job) {
  UniqueKey unique;
  const std::optional<Seen> seen = read_object(decode, path, kUniqueMembers, unique);
  if (!seen) return;
  require(decode, path, "key", seen->has(bit_of(kUniqueMembers, "key")));
  if (unique.max_wait && unique.on_conflict != OnConflict::kDebounce) {
    decode.fault(Path{&path, "max_wait_ms", 0}, "applies to on_conflict debounce only");
  }
  job.unique = std::move(unique);
}

void read_new_id(Decode& decode, const Path& path, JobSubmission& job) {
  JobId id;
  if (!read_id(decode, path, id)) return;
  if (is_uuid_v7(id)) {
    job.id = id;
  } else {
    decode.fault(path, "must be a UUID of version 7");
  }
}

void read_traceparent(Decode& decode, const Path& path, JobSubmission& job) {
  if (read_string(decode, path, job.traceparent) && !is_traceparent(job.traceparent)) {
    decode.fault(path, "must be a W3C traceparent");
  }
}

void read_tracestate(Decode& decode, const Path& path, JobSubmission& job) {
  if (read_string(decode, path, job.tracestate) && !is_tracestate(job.tracestate)) {
    decode.fault(path, "must be a W3C tracestate of at most 512 characters");
  }
}

void read_key(Decode& decode, const Path& path, JobSubmission& job) {
  if (read_text(decode, path, 1, kMaxIdempotencyKeyBytes, job.idempotency_key) &&
      !is_visible(job.idempotency_key)) {
    decode.fault(path, "must be 1 to 255 visible characters");
  }
}

using Job = JobSubmission;

// Copies a member from `defaults`.
template <auto kField>
void copy(const Job& from, Job& to) {
  to.*kField = from.*kField;
}

constexpr NullMember kNoValue = NullMember::kLeftOut;

constexpr Member<Job> kMembers[] = {
    {"type", [](Decode& d, const Path& p, Job& job) { read_name(d, p, job.type); }, kNoValue,
     copy<&Job::type>},
    {"payload",
     [](Decode& d, const Path& p, Job& job) {
       read_raw(d, p, d.limits().payload_bytes, job.payload);
     },
     NullMember::kValue, copy<&Job::payload>},
    {"queue", [](Decode& d, const Path& p, Job& job) { read_name(d, p, job.queue); }, kNoValue,
     copy<&Job::queue>},
    {"id", read_new_id},
    {"priority", [](Decode& d, const Path& p, Job& job) { read_priority(d, p, job.priority); },
     kNoValue, copy<&Job::priority>},
    {"run_at", [](Decode& d, const Path& p, Job& job) { read_into(job.run_at, read_time, d, p); },
     kNoValue, copy<&Job::run_at>},
    {"delay_ms",
     [](Decode& d, const Path& p, Job& job) {
       read_into(job.delay, read_duration, d, p, 0, kMaxDelayMs);
     },
     kNoValue, copy<&Job::delay>},
    {"expires_at",
     [](Decode& d, const Path& p, Job& job) { read_into(job.expires_at, read_time, d, p); },
     kNoValue, copy<&Job::expires_at>},
    {"expires_in_ms",
     [](Decode& d, const Path& p, Job& job) {
       read_into(job.expires_in, read_duration, d, p, 0, kMaxDelayMs);
     },
     kNoValue, copy<&Job::expires_in>},
    {"max_attempts",
     [](Decode& d, const Path& p, Job& job) {
       read_into(job.max_attempts, read_max_attempts, d, p);
     },
     kNoValue, copy<&Job::max_attempts>},
    {"retry",
     [](Decode& d, const Path& p, Job& job) { read_into(job.retry, read_retry_policy, d, p); },
     kNoValue, copy<&Job::retry>},
    {"lease_ms",
     [](Decode& d, const Path& p, Job& job) {
       read_into(job.lease, read_duration, d, p, kMinLeaseMs, kMaxLeaseMs);
     },
     kNoValue, copy<&Job::lease>},
    {"timeout_ms",
     [](Decode& d, const Path& p, Job& job) {
       read_into(job.timeout, read_duration, d, p, 1, kMaxDelayMs);
     },
     kNoValue, copy<&Job::timeout>},
    {"unique", read_unique, kNoValue, copy<&Job::unique>},
    {"tags", [](Decode& d, const Path& p, Job& job) { read_names(d, p, 0, kMaxTags, job.tags); },
     kNoValue, copy<&Job::tags>},
    {"meta",
     [](Decode& d, const Path& p, Job& job) { read_string_map(d, p, kMaxMetaBytes, job.meta); },
     kNoValue, copy<&Job::meta>},
    {"traceparent", read_traceparent, kNoValue, copy<&Job::traceparent>},
    {"tracestate", read_tracestate, kNoValue, copy<&Job::tracestate>},
    {"idempotency_key", read_key},
    {"limits", [](Decode& d, const Path& p, Job& job) { read_job_limits(d, p, job.limits); },
     kNoValue, copy<&Job::limits>},
    {"fair_key",
     [](Decode& d, const Path& p, Job& job) { read_text(d, p, 1, kMaxFairKeyBytes, job.fair_key); },
     kNoValue, copy<&Job::fair_key>},
    {"order_key",
     [](Decode& d, const Path& p, Job& job) {
       read_text(d, p, 1, kMaxOrderKeyBytes, job.order_key);
     },
     kNoValue, copy<&Job::order_key>},
    {"order_on_failure",
     [](Decode& d, const Path& p, Job& job) {
       std::size_t rule = 0;
       if (read_word(d, p, kOrderOnFailure, rule)) {
         job.order_on_failure = static_cast<OrderOnFailure>(rule);
       }
     },
     kNoValue, copy<&Job::order_on_failure>},
};

// If an item has one of these, the others are not taken from the defaults.
constexpr MemberSet kTogether[] = {
    bit_of(kMembers, "run_at") | bit_of(kMembers, "delay_ms"),
    bit_of(kMembers, "expires_at") | bit_of(kMembers, "expires_in_ms"),
    bit_of(kMembers, "traceparent") | bit_of(kMembers, "tracestate"),
};

void check_pairs(Decode& decode, const Path& path, const Job& job) {
  const auto at_most_one = [&](bool both, std::string_view first, std::string_view second) {
    if (both)
      decode.fault(Path{&path, second, 0}, "must not be given together with " + std::string(first));
  };
  at_most_one(job.run_at && job.delay, "run_at", "delay_ms");
  at_most_one(job.expires_at && job.expires_in, "expires_at", "expires_in_ms");
  if (job.order_on_failure != OrderOnFailure::kHold && job.order_key.empty()) {
    decode.fault(Path{&path, "order_on_failure", 0}, "needs an order_key");
  }
}

// `defaults` may come after `jobs`, so the envelope is walked first and its parts are recorded.
struct BatchParts {
  std::optional<JsonCursor> jobs;
  std::optional<JsonCursor> defaults;
  bool atomic = false;
};
constexpr Member<BatchParts> kBatchMembers[] = {
    {"jobs",
     [](Decode& decode, const Path&, BatchParts& parts) {
       parts.jobs = decode.cursor;
       decode.cursor.skip();
     }},
    {"defaults",
     [](Decode& decode, const Path&, BatchParts& parts) {
       parts.defaults = decode.cursor;
       decode.cursor.skip();
     }},
    {"atomic", [](Decode& decode, const Path& path,
                  BatchParts& parts) { read_boolean(decode, path, parts.atomic); }},
};

void read_batch(Decode& decode, const Path& path, BatchSubmission& batch) {
  BatchParts parts;
  if (!read_object(decode, path, kBatchMembers, parts)) return;
  batch.atomic = parts.atomic;
  JobDefaults defaults;
  if (parts.defaults) {
    JsonCursor whole = *parts.defaults;
    batch.defaults = whole.skip();
    decode.cursor = *parts.defaults;
    read_defaults(decode, Path{&path, "defaults", 0}, defaults);
  }
  require(decode, path, "jobs", parts.jobs.has_value());
  if (!parts.jobs) return;
  decode.cursor = *parts.jobs;
  const Path jobs_path{&path, "jobs", 0};
  const auto read_one = [&](const Path& item, Job& job) {
    JsonCursor whole = decode.cursor;
    read_job_over(decode, item, defaults, job);
    if (!job.idempotency_key.empty()) job.as_sent = whole.skip();
  };
  if (batch.atomic) {
    read_array(decode, jobs_path, 1, kMaxBatchItems,
               [&](const Path& item) { read_one(item, batch.jobs.emplace_back().value); });
  } else {
    read_items(decode, jobs_path, 1, kMaxBatchItems, batch.jobs, read_one);
  }
}

}  // namespace

bool read_priority(Decode& decode, const Path& path, std::int16_t& out) {
  std::int64_t value = 0;
  if (!read_integer(decode, path, kMinPriority, kMaxPriority, value)) return false;
  out = static_cast<std::int16_t>(value);
  return true;
}

bool read_max_attempts(Decode& decode, const Path& path, int& out) {
  std::int64_t value = 0;
  if (!read_integer(decode, path, 1, kMaxAttempts, value)) return false;
  out = static_cast<int>(value);
  return true;
}

void read_job_over(Decode& decode, const Path& path, const JobDefaults& defaults,
                   JobSubmission& job) {
  const std::optional<Seen> seen = read_object(decode, path, kMembers, job);
  if (!seen) return;
  check_pairs(decode, path, job);
  MemberSet taken = 0;
  if (defaults.seen.valued != 0) {
    MemberSet named = seen->named;
    for (const MemberSet together : kTogether) {
      if ((named & together) != 0) named |= together;
    }
    taken = defaults.seen.valued & ~named;
    for (std::size_t i = 0; i < std::size(kMembers); ++i) {
      if (((taken >> i) & 1) != 0 && kMembers[i].copy != nullptr)
        kMembers[i].copy(defaults.job, job);
    }
  }
  require(decode, path, "type", ((seen->valued | taken) & bit_of(kMembers, "type")) != 0);
}

void read_defaults(Decode& decode, const Path& path, JobDefaults& defaults) {
  const std::optional<Seen> seen = read_object(decode, path, kMembers, defaults.job);
  if (!seen) return;
  check_pairs(decode, path, defaults.job);
  if (defaults.job.id) decode.fault(Path{&path, "id", 0}, "can't be a default");
  if (!defaults.job.idempotency_key.empty()) {
    decode.fault(Path{&path, "idempotency_key", 0}, "can't be a default");
  }
  defaults.seen = *seen;
}

void read_job(Decode& decode, const Path& path, JobSubmission& job) {
  read_job_over(decode, path, {}, job);
  if (!job.idempotency_key.empty()) {
    decode.fault(Path{&path, "idempotency_key", 0},
                 "belongs to the jobs of a batch; send the key of a single job in the header "
                 "Idempotency-Key");
  }
}

Decoded<JobSubmission> decode_job(std::string_view body, const DecodeLimits& limits) {
  return decode_body<JobSubmission>(body, limits, EmptyBody::kRefused, read_job);
}

Decoded<BatchSubmission> decode_batch(std::string_view body, const DecodeLimits& limits) {
  return decode_body<BatchSubmission>(body, limits, EmptyBody::kRefused, read_batch);
}

Decoded<std::string> decode_idempotency_key(std::string_view header) {
  if (header.empty() || header.size() > kMaxIdempotencyKeyBytes || !is_visible(header)) {
    return std::unexpected(make_fault(FieldError::Place::kHeader, "Idempotency-Key",
                                      "must be 1 to 255 visible characters"));
  }
  return std::string(header);
}

bool is_traceparent(std::string_view text) {
  constexpr std::size_t kVersion0Size = 55;  // version-trace-parent-flags: 2, 32, 16 and 2 digits
  if (text.size() < kVersion0Size || text.size() > kMaxTracestateBytes || !is_visible(text))
    return false;
  for (std::size_t i = 0; i < kVersion0Size; ++i) {
    const bool dash = i == 2 || i == 35 || i == 52;
    if (dash ? text[i] != '-' : !is_lower_hex(text[i])) return false;
  }
  if (text.starts_with("ff")) return false;
  const bool is_longer = text.size() > kVersion0Size;  // later versions may append fields
  if (is_longer && (text.starts_with("00") || text[kVersion0Size] != '-')) return false;
  const auto all_zero = [](std::string_view digits) {
    return digits.find_first_not_of('0') == std::string_view::npos;
  };
  return !all_zero(text.substr(3, 32)) && !all_zero(text.substr(36, 16));
}

bool is_tracestate(std::string_view text) {
  return text.size() <= kMaxTracestateBytes &&
         std::ranges::all_of(text, [](char c) { return (c >= ' ' && c <= '~') || c == '\t'; });
}

}  // namespace millrace::api
