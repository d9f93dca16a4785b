#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>

#include "api/bounds.h"
#include "core/bounds.h"
#include "service/convert.h"

namespace millrace::service {
namespace {

// The two rooms keep separate bounds; only this file sees both.
static_assert(api::kMaxBatchItems == core::kMaxItemsPerCommand);
static_assert(api::kMaxAttempts == core::kMaxAttempts);
static_assert(api::kMaxCrashes == core::kMaxCrashes);
static_assert(api::kMinLeaseMs == core::kMinLease.count());
static_assert(api::kMaxLeaseMs == core::kMaxLease.count());
static_assert(api::kMaxDelayMs == core::kTenYears.count());
static_assert(api::kDefaultRetryBaseMs == core::kDefaultRetryBase.count());
static_assert(api::kDefaultRetryMaxMs == core::kDefaultRetryMax.count());
static_assert(api::kMaxRetryDelays <= core::kMaxRetryDelays);
static_assert(api::kErrorMessageBytes == core::kMaxErrorMessageBytes);
static_assert(api::kErrorStackBytes == core::kMaxErrorStackBytes);
static_assert(api::kLogLineBytes == core::kMaxLogLineBytes);

std::shared_ptr<const core::RetryPolicy> policy_of(const api::RetryPolicy& policy) {
  auto made = std::make_shared<core::RetryPolicy>();
  made->strategy = policy.strategy;
  if (policy.strategy == api::RetryStrategy::kList) {
    made->delays = policy.delays;
  } else {
    made->base = policy.base;
    made->max = policy.max;
    made->jitter_ppm =
        static_cast<std::uint32_t>(std::lround(policy.jitter * api::kPartsPerMillion));
  }
  return made;
}

std::vector<core::SlowDown> wishes_of(const std::vector<api::SlowDown>& wishes) {
  std::vector<core::SlowDown> made;
  for (const api::SlowDown& wish : wishes) {
    made.push_back({SharedBytes(wish.limit), SharedBytes(wish.key), wish.length});
  }
  return made;
}

core::LogEntry entry_of(const api::ReportedLog& log) {
  return {log.at, static_cast<std::uint8_t>(log.level), SharedBytes(log.message)};
}

std::optional<std::uint32_t> to_unsigned(const std::optional<int>& number) {
  if (!number) return std::nullopt;
  return static_cast<std::uint32_t>(*number);
}

}  // namespace

void SpecMaker::set_trace(std::string_view traceparent, std::string_view tracestate) {
  traceparent_ = SharedBytes(traceparent);
  tracestate_ = SharedBytes(tracestate);
}

SharedBytes SpecMaker::shared(SharedBytes& last, std::string_view text) {
  if (last.view() != text) last = SharedBytes(text);
  return last;
}

core::JobSpec SpecMaker::make(const api::JobSubmission& job) {
  core::JobSpec spec;
  spec.id_origin = job.id ? core::IdOrigin::kClient : core::IdOrigin::kServer;
  spec.id = job.id ? *job.id : ids_.make(now_, job.queue);
  spec.queue = shared(last_queue_, job.queue);
  spec.type = shared(last_type_, job.type);
  spec.payload = SharedBytes(job.payload);
  spec.priority = job.priority;
  spec.run_at = job.run_at;
  spec.delay = job.delay.value_or(Duration{0});
  spec.expires_at = job.expires_at;
  spec.expires_in = job.expires_in;
  spec.max_attempts = to_unsigned(job.max_attempts);
  if (job.retry) spec.retry = policy_of(*job.retry);
  spec.lease = job.lease;
  spec.timeout = job.timeout;

  const bool own_trace = !job.traceparent.empty();
  if (job.unique || !job.tags.empty() || !job.limits.empty() || !job.order_key.empty() ||
      !job.fair_key.empty() || !job.meta.empty() || own_trace || !traceparent_.empty()) {
    auto extras = std::make_shared<core::JobExtras>();
    if (job.unique) {
      extras->unique = core::UniqueRule{SharedBytes(job.unique->key), job.unique->hold,
                                        job.unique->on_conflict, job.unique->max_wait};
    }
    extras->tags = to_shared(job.tags);
    for (const auto& [name, value] : job.meta) {
      extras->meta.emplace_back(SharedBytes(name), SharedBytes(value));
    }
    extras->limits = job.limits;
    extras->order_key = SharedBytes(job.order_key);
    extras->order_passes = job.order_on_failure == api::OrderOnFailure::kPass;
    extras->fair_key = SharedBytes(job.fair_key);
    extras->traceparent = own_trace ? SharedBytes(job.traceparent) : traceparent_;
    extras->tracestate = own_trace ? SharedBytes(job.tracestate) : tracestate_;
    spec.extras = std::move(extras);
  }
  return spec;
}

std::vector<SharedBytes> to_shared(const std::vector<std::string>& texts) {
  std::vector<SharedBytes> made;
  made.reserve(texts.size());
  for (const std::string& text : texts) made.emplace_back(text);
  return made;
}

core::AckItem to_core(const api::Ack& ack, SpecMaker& specs) {
  core::AckItem item;
  item.id = ack.id;
  item.token = ack.token;
  item.outcome = ack.outcome;
  item.result = SharedBytes(ack.result);
  if (ack.error) {
    item.error = std::make_shared<core::JobError>();
    item.error->type = SharedBytes(ack.error->type);
    item.error->message = SharedBytes(ack.error->message);
    item.error->stack = SharedBytes(ack.error->stack);
    item.retryable = ack.error->retryable;
  }
  item.delay = ack.delay;
  for (const api::ReportedLog& log : ack.logs) item.logs.push_back(entry_of(log));
  for (const api::JobSubmission& job : ack.enqueue) item.enqueue.push_back(specs.make(job));
  item.slow_down = wishes_of(ack.slow_down);
  return item;
}

core::HeartbeatItem to_core(const api::Heartbeat& heartbeat) {
  core::HeartbeatItem item{heartbeat.id, heartbeat.token, heartbeat.extend, nullptr};
  item.slow_down = wishes_of(heartbeat.slow_down);
  if (heartbeat.progress) {
    auto progress = std::make_shared<core::Progress>();
    progress->percent = heartbeat.progress->percent;
    progress->message = SharedBytes(heartbeat.progress->message);
    progress->checkpoint = SharedBytes(heartbeat.progress->checkpoint);
    item.progress = std::move(progress);
  }
  return item;
}

core::LogItem to_core(const api::LogItem& item) {
  return {item.id, item.token, entry_of(item.line)};
}

core::Claim to_core(const api::Claim& claim) {
  core::Claim made;
  made.queues = to_shared(claim.queues);
  if (claim.types) made.types = to_shared(*claim.types);
  made.limit = static_cast<std::uint32_t>(claim.limit);
  made.lease = claim.lease;
  made.worker = SharedBytes(claim.worker.id);
  return made;
}

engine::WorkerInfo to_engine(const api::WorkerInfo& worker) {
  engine::WorkerInfo info;
  info.id = SharedBytes(worker.id);
  info.host = worker.host;
  info.pid = worker.pid;
  info.sdk = worker.sdk;
  info.version = worker.version;
  info.labels = worker.labels;
  return info;
}

std::optional<std::uint32_t> to_core(const std::optional<std::int64_t>& bound) {
  if (!bound) return std::nullopt;
  return static_cast<std::uint32_t>(*bound);
}

core::FairSettings to_core(const api::FairSettings& fair) {
  core::FairSettings made;
  for (const auto& [key, weight] : fair.weights) {
    made.weights.push_back({SharedBytes(key), static_cast<std::uint32_t>(weight)});
  }
  std::ranges::sort(made.weights, {}, [](const core::FairWeight& own) { return own.key.view(); });
  made.default_weight = static_cast<std::uint32_t>(fair.default_weight);
  made.by = fair.by;
  return made;
}

core::QueuePatch to_core(const api::QueueSettingsChange& change,
                         const core::Retention& default_retention) {
  core::QueuePatch patch;
  // null sets the default, except for bounds that may be none.
  if (change.max_attempts.present) {
    patch.max_attempts = to_unsigned(change.max_attempts.value).value_or(core::kDefaultMaxAttempts);
  }
  if (change.max_crashes.present) patch.max_crashes = to_unsigned(change.max_crashes.value);
  if (change.retry.present) {
    patch.retry =
        change.retry.value ? policy_of(*change.retry.value) : core::default_retry_policy();
  }
  if (change.concurrency.present) patch.concurrency = to_core(change.concurrency.value);
  if (change.rate.present) patch.rate = change.rate.value;
  if (change.breaker.present) patch.breaker = change.breaker.value;
  if (change.limits.present) {
    patch.limits.emplace();
    if (change.limits.value) patch.limits->limits = *change.limits.value;
  }
  if (change.fair.present) {
    patch.fair.emplace();
    if (change.fair.value) *patch.fair = to_core(*change.fair.value);
  }
  if (change.ageing.present) patch.ageing = change.ageing.value;
  if (change.max_ready_per_key.present) {
    patch.max_ready_per_key.emplace();
    if (change.max_ready_per_key.value) {
      *patch.max_ready_per_key = static_cast<std::uint64_t>(*change.max_ready_per_key.value);
    }
  }
  if (change.lease.present) patch.lease = change.lease.value.value_or(core::kDefaultLease);
  if (change.max_ready.present) {
    patch.max_ready.emplace();
    if (change.max_ready.value) {
      *patch.max_ready = static_cast<std::uint64_t>(*change.max_ready.value);
    }
  }
  if (change.retention.present && !change.retention.value) {
    patch.succeeded = default_retention.succeeded;
    patch.dead = default_retention.dead;
    patch.cancelled = default_retention.cancelled;
    patch.expired = default_retention.expired;
  } else if (change.retention.present) {
    const api::RetentionChange& retention = *change.retention.value;
    if (retention.succeeded.present) patch.succeeded = retention.succeeded.value;
    if (retention.dead.present) patch.dead = retention.dead.value;
    if (retention.cancelled.present) patch.cancelled = retention.cancelled.value;
    if (retention.expired.present) patch.expired = retention.expired.value;
  }
  return patch;
}

}  // namespace millrace::service
