// Made by tools/types from docs/reference/openapi.yaml; do not edit.
#include "shapes_json.h"

#include "json_members.h"

namespace millrace::sdk {

bool read_members(JsonValue value, RetryPolicy& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "strategy") read(content, out.strategy);
    if (name == "base_ms") read(content, out.base);
    if (name == "max_ms") read(content, out.max);
    if (name == "jitter") read(content, out.jitter);
    if (name == "delays_ms") read(content, out.delays);
  });
}

bool read_members(JsonValue value, Unique& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "key") read(content, out.key);
    if (name == "for_ms") read(content, out.hold);
    if (name == "on_conflict") read(content, out.on_conflict);
    if (name == "max_wait_ms") read(content, out.max_wait);
  });
}

bool read_members(JsonValue value, JobLimit& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "name") read(content, out.name);
    if (name == "key") read(content, out.key);
    if (name == "cost") read(content, out.cost);
  });
}

bool read_members(JsonValue value, NewJob& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "type") read(content, out.type);
    if (name == "payload") out.payload = raw_text(content);
    if (name == "queue") read(content, out.queue);
    if (name == "priority") read(content, out.priority);
    if (name == "run_at") read(content, out.run_at);
    if (name == "delay_ms") read(content, out.delay);
    if (name == "expires_at") read(content, out.expires_at);
    if (name == "expires_in_ms") read(content, out.expires_in);
    if (name == "max_attempts") read(content, out.max_attempts);
    if (name == "retry") read(content, out.retry);
    if (name == "lease_ms") read(content, out.lease);
    if (name == "timeout_ms") read(content, out.timeout);
    if (name == "unique") read(content, out.unique);
    if (name == "tags") read(content, out.tags);
    if (name == "meta") read(content, out.meta);
    if (name == "limits") read(content, out.limits);
    if (name == "order_key") read(content, out.order_key);
    if (name == "order_on_failure") read(content, out.order_on_failure);
    if (name == "fair_key") read(content, out.fair_key);
    if (name == "id") read(content, out.id);
    if (name == "idempotency_key") read(content, out.idempotency_key);
    if (name == "traceparent") read(content, out.traceparent);
    if (name == "tracestate") read(content, out.tracestate);
  });
}

bool read_members(JsonValue value, JobError& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "type") read(content, out.type);
    if (name == "message") read(content, out.message);
    if (name == "stack") read(content, out.stack);
    if (name == "fingerprint") read(content, out.fingerprint);
    if (name == "attempt") read(content, out.attempt);
    if (name == "at") read(content, out.at);
    if (name == "redacted") read(content, out.redacted);
  });
}

bool read_members(JsonValue value, Progress& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "percent") read(content, out.percent);
    if (name == "message") read(content, out.message);
    if (name == "checkpoint") out.checkpoint = raw_text(content);
  });
}

bool read_members(JsonValue value, LogLine& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "seq") read(content, out.seq);
    if (name == "attempt") read(content, out.attempt);
    if (name == "at") read(content, out.at);
    if (name == "level") read(content, out.level);
    if (name == "message") read(content, out.message);
    if (name == "redacted") read(content, out.redacted);
  });
}

bool read_members(JsonValue value, Attempt& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "n") read(content, out.n);
    if (name == "attempt") read(content, out.attempt);
    if (name == "worker") read(content, out.worker);
    if (name == "started_at") read(content, out.started_at);
    if (name == "finished_at") read(content, out.finished_at);
    if (name == "outcome") read(content, out.outcome);
    if (name == "error") read(content, out.error);
  });
}

bool read_members(JsonValue value, JobSchedule& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "name") read(content, out.name);
    if (name == "scheduled_at") read(content, out.scheduled_at);
  });
}

bool read_members(JsonValue value, JobWorkflow& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "id") read(content, out.id);
    if (name == "name") read(content, out.name);
    if (name == "ref") read(content, out.ref);
    if (name == "number") read(content, out.number);
    if (name == "role") read(content, out.role);
  });
}

bool read_members(JsonValue value, MemberCounts& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "blocked") read(content, out.blocked);
    if (name == "active") read(content, out.active);
    if (name == "succeeded") read(content, out.succeeded);
    if (name == "failed") read(content, out.failed);
    if (name == "skipped") read(content, out.skipped);
  });
}

bool read_members(JsonValue value, ClaimedWorkflow& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "generation") read(content, out.generation);
    if (name == "state") read(content, out.state);
    if (name == "counts") read(content, out.counts);
    if (name == "failed") read(content, out.failed);
    if (name == "id") read(content, out.id);
    if (name == "name") read(content, out.name);
    if (name == "ref") read(content, out.ref);
    if (name == "number") read(content, out.number);
    if (name == "role") read(content, out.role);
  });
}

bool read_members(JsonValue value, Parent& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "id") read(content, out.id);
    if (name == "state") read(content, out.state);
    if (name == "reason") read(content, out.reason);
    if (name == "result") out.result = raw_text(content);
    if (name == "omitted") read(content, out.omitted);
  });
}

bool read_members(JsonValue value, Event& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "id") read(content, out.id);
    if (name == "at") read(content, out.at);
    if (name == "type") read(content, out.type);
    if (name == "queue") read(content, out.queue);
    if (name == "job_id") read(content, out.job_id);
    if (name == "job_type") read(content, out.job_type);
    if (name == "attempt") read(content, out.attempt);
    if (name == "worker") read(content, out.worker);
    if (name == "data") out.data = raw_text(content);
  });
}

bool read_members(JsonValue value, Job& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "id") read(content, out.id);
    if (name == "queue") read(content, out.queue);
    if (name == "type") read(content, out.type);
    if (name == "state") read(content, out.state);
    if (name == "priority") read(content, out.priority);
    if (name == "redacted") read(content, out.redacted);
    if (name == "attempt") read(content, out.attempt);
    if (name == "max_attempts") read(content, out.max_attempts);
    if (name == "crashes") read(content, out.crashes);
    if (name == "generation") read(content, out.generation);
    if (name == "version") read(content, out.version);
    if (name == "created_at") read(content, out.created_at);
    if (name == "run_at") read(content, out.run_at);
    if (name == "expires_at") read(content, out.expires_at);
    if (name == "started_at") read(content, out.started_at);
    if (name == "finished_at") read(content, out.finished_at);
    if (name == "lease_expires_at") read(content, out.lease_expires_at);
    if (name == "worker") read(content, out.worker);
    if (name == "cancel_requested") read(content, out.cancel_requested);
    if (name == "progress") read(content, out.progress);
    if (name == "last_error") read(content, out.last_error);
    if (name == "retry") read(content, out.retry);
    if (name == "lease_ms") read(content, out.lease);
    if (name == "timeout_ms") read(content, out.timeout);
    if (name == "unique") read(content, out.unique);
    if (name == "tags") read(content, out.tags);
    if (name == "meta") read(content, out.meta);
    if (name == "traceparent") read(content, out.traceparent);
    if (name == "schedule") read(content, out.schedule);
    if (name == "workflow") read(content, out.workflow);
    if (name == "payload") out.payload = raw_text(content);
    if (name == "result") out.result = raw_text(content);
    if (name == "attempts") read(content, out.attempts);
    if (name == "logs") read(content, out.logs);
    if (name == "events") read(content, out.events);
    if (name == "limits") read(content, out.limits);
    if (name == "order_key") read(content, out.order_key);
    if (name == "order_on_failure") read(content, out.order_on_failure);
    if (name == "fair_key") read(content, out.fair_key);
  });
}

bool read_members(JsonValue value, QueueCounts& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "scheduled") read(content, out.scheduled);
    if (name == "ready") read(content, out.ready);
    if (name == "running") read(content, out.running);
    if (name == "retrying") read(content, out.retrying);
    if (name == "blocked") read(content, out.blocked);
    if (name == "succeeded") read(content, out.succeeded);
    if (name == "dead") read(content, out.dead);
    if (name == "cancelled") read(content, out.cancelled);
    if (name == "expired") read(content, out.expired);
  });
}

bool read_members(JsonValue value, QueueRates& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "submitted_per_s") read(content, out.submitted_per_s);
    if (name == "started_per_s") read(content, out.started_per_s);
    if (name == "succeeded_per_s") read(content, out.succeeded_per_s);
    if (name == "failed_per_s") read(content, out.failed_per_s);
  });
}

bool read_members(JsonValue value, Queue& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "name") read(content, out.name);
    if (name == "paused") read(content, out.paused);
    if (name == "pause_reason") read(content, out.pause_reason);
    if (name == "counts") read(content, out.counts);
    if (name == "oldest_ready_age_ms") read(content, out.oldest_ready_age);
    if (name == "rates") read(content, out.rates);
    if (name == "settings") out.settings = raw_text(content);
    if (name == "version") read(content, out.version);
  });
}

bool read_members(JsonValue value, Schedule& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "name") read(content, out.name);
    if (name == "job") out.job = raw_text(content);
    if (name == "workflow") out.workflow = raw_text(content);
    if (name == "start_at") read(content, out.start_at);
    if (name == "end_at") read(content, out.end_at);
    if (name == "paused") read(content, out.paused);
    if (name == "managed_by") read(content, out.managed_by);
    if (name == "version") read(content, out.version);
    if (name == "state") read(content, out.state);
    if (name == "reason") read(content, out.reason);
    if (name == "error") read(content, out.error);
    if (name == "created_at") read(content, out.created_at);
    if (name == "updated_at") read(content, out.updated_at);
    if (name == "last_scheduled_at") read(content, out.last_scheduled_at);
    if (name == "last_job_id") read(content, out.last_job_id);
    if (name == "last_workflow_id") read(content, out.last_workflow_id);
    if (name == "next") read(content, out.next);
    if (name == "description") read(content, out.description);
    if (name == "warnings") read(content, out.warnings);
    if (name == "cron") read(content, out.cron);
    if (name == "every_ms") read(content, out.every);
    if (name == "timezone") read(content, out.timezone);
    if (name == "jitter_ms") read(content, out.jitter);
    if (name == "missed_after_ms") read(content, out.missed_after);
    if (name == "missed") read(content, out.missed);
    if (name == "missed_limit") read(content, out.missed_limit);
    if (name == "overlap") read(content, out.overlap);
    if (name == "dst_gap") read(content, out.dst_gap);
    if (name == "dst_overlap") read(content, out.dst_overlap);
  });
}

bool read_members(JsonValue value, ScheduleRun& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "scheduled_at") read(content, out.scheduled_at);
    if (name == "at") read(content, out.at);
    if (name == "job_id") read(content, out.job_id);
    if (name == "workflow_id") read(content, out.workflow_id);
    if (name == "outcome") read(content, out.outcome);
    if (name == "count") read(content, out.count);
    if (name == "error") read(content, out.error);
  });
}

bool read_members(JsonValue value, SchedulePreview& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "description") read(content, out.description);
    if (name == "next") read(content, out.next);
    if (name == "warnings") read(content, out.warnings);
  });
}

bool read_members(JsonValue value, BackfillAnswer& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "submitted") read(content, out.submitted);
    if (name == "existing") read(content, out.existing);
    if (name == "more") read(content, out.more);
  });
}

bool read_members(JsonValue value, ScheduleChanges& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "created") read(content, out.created);
    if (name == "updated") read(content, out.updated);
    if (name == "unchanged") read(content, out.unchanged);
    if (name == "deleted") read(content, out.deleted);
  });
}

bool read_members(JsonValue value, RunningJob& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "id") read(content, out.id);
    if (name == "queue") read(content, out.queue);
    if (name == "type") read(content, out.type);
    if (name == "attempt") read(content, out.attempt);
    if (name == "started_at") read(content, out.started_at);
    if (name == "lease_expires_at") read(content, out.lease_expires_at);
  });
}

bool read_members(JsonValue value, Rate& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "limit") read(content, out.limit);
    if (name == "per_ms") read(content, out.per);
    if (name == "burst") read(content, out.burst);
  });
}

bool read_members(JsonValue value, Breaker& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "failure_rate") read(content, out.failure_rate);
    if (name == "min_attempts") read(content, out.min_attempts);
    if (name == "window_ms") read(content, out.window);
    if (name == "open_ms") read(content, out.open);
    if (name == "probes") read(content, out.probes);
  });
}

bool read_members(JsonValue value, Limit& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "name") read(content, out.name);
    if (name == "per_key") read(content, out.per_key);
    if (name == "keys") out.keys = raw_text(content);
    if (name == "version") read(content, out.version);
    if (name == "concurrency") read(content, out.concurrency);
    if (name == "rate") read(content, out.rate);
    if (name == "breaker") read(content, out.breaker);
    if (name == "retry_rate") read(content, out.retry_rate);
    if (name == "paused") read(content, out.paused);
    if (name == "pause_reason") read(content, out.pause_reason);
    if (name == "paused_until") read(content, out.paused_until);
    if (name == "in_use") read(content, out.in_use);
    if (name == "waiting") read(content, out.waiting);
    if (name == "next_token_at") read(content, out.next_token_at);
    if (name == "breaker_state") read(content, out.breaker_state);
    if (name == "open_until") read(content, out.open_until);
    if (name == "blocked_until") read(content, out.blocked_until);
  });
}

bool read_members(JsonValue value, Why& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "id") read(content, out.id);
    if (name == "state") read(content, out.state);
    if (name == "at") read(content, out.at);
    if (name == "summary") read(content, out.summary);
    if (name == "blocking") out.blocking = raw_text(content);
    if (name == "notes") out.notes = raw_text(content);
  });
}

bool read_members(JsonValue value, SeenWorker& out) {
  return each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "id") read(content, out.id);
    if (name == "queues") read(content, out.queues);
    if (name == "types") read(content, out.types);
    if (name == "state") read(content, out.state);
    if (name == "first_seen_at") read(content, out.first_seen_at);
    if (name == "last_seen_at") read(content, out.last_seen_at);
    if (name == "running") read(content, out.running);
    if (name == "host") read(content, out.host);
    if (name == "pid") read(content, out.pid);
    if (name == "sdk") read(content, out.sdk);
    if (name == "version") read(content, out.version);
    if (name == "labels") read(content, out.labels);
  });
}

void write_members(JsonWriter& json, const RetryPolicy& from) {
  json.key("strategy").string(from.strategy);
  member(json, "base_ms", from.base);
  member(json, "max_ms", from.max);
  member(json, "jitter", from.jitter);
  member(json, "delays_ms", from.delays);
}

void write_members(JsonWriter& json, const Unique& from) {
  json.key("key").string(from.key);
  member(json, "for_ms", from.hold);
  member(json, "on_conflict", from.on_conflict);
  member(json, "max_wait_ms", from.max_wait);
}

void write_members(JsonWriter& json, const JobLimit& from) {
  json.key("name").string(from.name);
  member(json, "key", from.key);
  member(json, "cost", from.cost);
}

void write_members(JsonWriter& json, const NewJob& from) {
  member(json, "type", from.type);
  member(json, "id", from.id);
  member(json, "queue", from.queue);
  member(json, "priority", from.priority);
  member(json, "run_at", from.run_at);
  member(json, "delay_ms", from.delay);
  member(json, "expires_at", from.expires_at);
  member(json, "expires_in_ms", from.expires_in);
  member(json, "max_attempts", from.max_attempts);
  member(json, "retry", from.retry);
  member(json, "lease_ms", from.lease);
  member(json, "timeout_ms", from.timeout);
  member(json, "unique", from.unique);
  member(json, "tags", from.tags);
  member(json, "meta", from.meta);
  member(json, "limits", from.limits);
  member(json, "order_key", from.order_key);
  member(json, "order_on_failure", from.order_on_failure);
  member(json, "fair_key", from.fair_key);
  member(json, "idempotency_key", from.idempotency_key);
  member(json, "traceparent", from.traceparent);
  member(json, "tracestate", from.tracestate);
  if (!from.payload.empty()) json.key("payload").raw(from.payload);
}

void write_members(JsonWriter& json, const NewSchedule& from) {
  member(json, "cron", from.cron);
  member(json, "every_ms", from.every);
  member(json, "timezone", from.timezone);
  object(json.key("job"), from.job);
  member(json, "start_at", from.start_at);
  member(json, "end_at", from.end_at);
  member(json, "jitter_ms", from.jitter);
  member(json, "missed_after_ms", from.missed_after);
  member(json, "missed", from.missed);
  member(json, "missed_limit", from.missed_limit);
  member(json, "overlap", from.overlap);
  member(json, "dst_gap", from.dst_gap);
  member(json, "dst_overlap", from.dst_overlap);
  member(json, "paused", from.paused);
  member(json, "managed_by", from.managed_by);
}

void write_members(JsonWriter& json, const PreviewSchedule& from) {
  member(json, "cron", from.cron);
  member(json, "every_ms", from.every);
  member(json, "timezone", from.timezone);
  member(json, "from", from.from);
  member(json, "count", from.count);
  member(json, "dst_gap", from.dst_gap);
  member(json, "dst_overlap", from.dst_overlap);
}

void write_members(JsonWriter& json, const Rate& from) {
  json.key("limit").integer(from.limit);
  member(json, "per_ms", from.per);
  member(json, "burst", from.burst);
}

void write_members(JsonWriter& json, const Breaker& from) {
  json.key("failure_rate").number(from.failure_rate);
  json.key("min_attempts").integer(from.min_attempts);
  member(json, "window_ms", from.window);
  member(json, "open_ms", from.open);
  json.key("probes").integer(from.probes);
}

void write_members(JsonWriter& json, const LimitSettings& from) {
  member(json, "per_key", from.per_key);
  member(json, "concurrency", from.concurrency);
  member(json, "rate", from.rate);
  member(json, "breaker", from.breaker);
  member(json, "retry_rate", from.retry_rate);
  if (!from.keys.empty()) json.key("keys").raw(from.keys);
}

}  // namespace millrace::sdk
