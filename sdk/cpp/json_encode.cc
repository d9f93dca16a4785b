#include "json_encode.h"

#include "base/time.h"
#include "millrace/json.h"

namespace millrace::sdk {
namespace {

void member(JsonWriter& json, std::string_view name, std::string_view value) {
  if (!value.empty()) json.key(name).string(value);
}

void member(JsonWriter& json, std::string_view name, std::optional<int> value) {
  if (value) json.key(name).integer(*value);
}

void member(JsonWriter& json, std::string_view name, std::optional<Milliseconds> value) {
  if (value) json.key(name).integer(value->count());
}

void member(JsonWriter& json, std::string_view name, std::optional<Timestamp> value) {
  if (value) json.key(name).string(format_rfc3339(*value));
}

void member(JsonWriter& json, std::string_view name, const std::vector<std::string>& values) {
  if (values.empty()) return;
  json.key(name).begin_array();
  for (const std::string& value : values) json.string(value);
  json.end_array();
}

void write_retry(JsonWriter& json, const RetryPolicy& retry) {
  json.key("retry").begin_object();
  json.key("strategy").string(retry.strategy);
  member(json, "base_ms", retry.base);
  member(json, "max_ms", retry.max);
  if (retry.jitter) json.key("jitter").number(*retry.jitter);
  if (retry.strategy == "list") {
    json.key("delays_ms").begin_array();
    for (const Milliseconds delay : retry.delays) json.integer(delay.count());
    json.end_array();
  }
  json.end_object();
}

void write_unique(JsonWriter& json, const Unique& unique) {
  json.key("unique").begin_object();
  json.key("key").string(unique.key);
  member(json, "for_ms", unique.hold);
  member(json, "on_conflict", unique.on_conflict);
  member(json, "max_wait_ms", unique.max_wait);
  json.end_object();
}

void write_limits(JsonWriter& json, const std::vector<JobLimit>& limits) {
  json.key("limits").begin_array();
  for (const JobLimit& limit : limits) {
    json.begin_object();
    json.key("name").string(limit.name);
    member(json, "key", limit.key);
    if (limit.cost) json.key("cost").integer(*limit.cost);
    json.end_object();
  }
  json.end_array();
}

// The idempotency key is a header for a single job, and a member in a batch.
void write_job(JsonWriter& json, const NewJob& job, bool is_batch = false) {
  json.begin_object();
  json.key("type").string(job.type);
  member(json, "id", job.id);
  member(json, "queue", job.queue);
  member(json, "priority", job.priority);
  member(json, "run_at", job.run_at);
  member(json, "delay_ms", job.delay);
  member(json, "expires_at", job.expires_at);
  member(json, "expires_in_ms", job.expires_in);
  member(json, "max_attempts", job.max_attempts);
  if (job.retry) write_retry(json, *job.retry);
  member(json, "lease_ms", job.lease);
  member(json, "timeout_ms", job.timeout);
  if (job.unique) write_unique(json, *job.unique);
  member(json, "tags", job.tags);
  if (!job.meta.empty()) {
    json.key("meta").begin_object();
    for (const auto& [name, value] : job.meta) json.key(name).string(value);
    json.end_object();
  }
  if (!job.limits.empty()) write_limits(json, job.limits);
  member(json, "order_key", job.order_key);
  member(json, "order_on_failure", job.order_on_failure);
  member(json, "fair_key", job.fair_key);
  member(json, "traceparent", job.traceparent);
  member(json, "tracestate", job.tracestate);
  if (is_batch) member(json, "idempotency_key", job.idempotency_key);
  json.key("payload").raw(job.payload);
  json.end_object();
}

void write_lease(JsonWriter& json, std::string_view id, std::uint64_t token) {
  json.key("id").string(id);
  json.key("token").integer(static_cast<std::int64_t>(token));
}

void write_line(JsonWriter& json, const WorkerLogLine& line) {
  member(json, "at", line.at);
  member(json, "level", line.level);
  json.key("message").string(line.message);
}

void write_error(JsonWriter& json, const JobError& error, bool retryable) {
  json.key("error").begin_object();
  json.key("type").string(error.type.empty() ? "error" : error.type);
  json.key("message").string(error.message);
  member(json, "stack", error.stack);
  if (!retryable) json.key("retryable").boolean(false);
  json.end_object();
}

void write_wishes(JsonWriter& json, const std::vector<SlowDown>& wishes) {
  if (wishes.empty()) return;
  json.key("slow_down").begin_array();
  for (const SlowDown& wish : wishes) {
    json.begin_object();
    json.key("limit").string(wish.limit);
    member(json, "key", wish.key);
    json.key("for_ms").integer(wish.length.count());
    json.end_object();
  }
  json.end_array();
}

void write_ack(JsonWriter& json, const Ack& ack) {
  json.begin_object();
  write_lease(json, ack.id, ack.token);
  json.key("outcome").string(ack.outcome);
  if (!ack.result.empty()) json.key("result").raw(ack.result);
  if (ack.error) write_error(json, *ack.error, ack.retryable);
  member(json, "delay_ms", ack.delay);
  if (!ack.logs.empty()) {
    json.key("logs").begin_array();
    for (const WorkerLogLine& line : ack.logs) {
      json.begin_object();
      write_line(json, line);
      json.end_object();
    }
    json.end_array();
  }
  if (!ack.enqueue.empty()) {
    json.key("enqueue").begin_array();
    for (const NewJob& job : ack.enqueue) write_job(json, job);
    json.end_array();
  }
  write_wishes(json, ack.slow_down);
  json.end_object();
}

void write_heartbeat(JsonWriter& json, const Heartbeat& beat) {
  json.begin_object();
  write_lease(json, beat.id, beat.token);
  member(json, "extend_ms", beat.extend);
  write_wishes(json, beat.slow_down);
  if (beat.progress || !beat.checkpoint.empty()) {
    json.key("progress").begin_object();
    if (beat.progress && beat.progress->percent) {
      json.key("percent").number(*beat.progress->percent);
    }
    if (beat.progress) member(json, "message", beat.progress->message);
    if (!beat.checkpoint.empty()) json.key("checkpoint").raw(beat.checkpoint);
    json.end_object();
  }
  json.end_object();
}

void write_claim(JsonWriter& json, const Claim& claim, std::string_view worker_id,
                 const WorkerInfo& worker) {
  json.key("claim").begin_object();
  member(json, "queues", claim.queues);
  member(json, "types", claim.types);
  json.key("limit").integer(claim.limit);
  json.key("wait_ms").integer(claim.wait.count());
  member(json, "lease_ms", claim.lease);
  json.key("worker").begin_object();
  json.key("id").string(worker_id);
  member(json, "host", worker.host);
  if (worker.pid != 0) json.key("pid").integer(worker.pid);
  json.key("sdk").string("cpp");
  member(json, "version", worker.version);
  json.end_object();
  json.end_object();
}

}  // namespace

std::string encode_job(const NewJob& job) {
  JsonWriter json;
  write_job(json, job);
  return json.take();
}

std::string encode_batch(std::span<const NewJob> jobs, bool atomic) {
  JsonWriter json;
  json.begin_object();
  if (atomic) json.key("atomic").boolean(true);
  json.key("jobs").begin_array();
  for (const NewJob& job : jobs) write_job(json, job, true);
  json.end_array().end_object();
  return json.take();
}

std::string encode_poll(std::string_view worker_id, const PollRequest& request) {
  JsonWriter json;
  json.begin_object();
  if (!request.acks.empty()) {
    json.key("acks").begin_array();
    for (const Ack& ack : request.acks) write_ack(json, ack);
    json.end_array();
  }
  if (!request.heartbeats.empty()) {
    json.key("heartbeats").begin_array();
    for (const Heartbeat& beat : request.heartbeats) write_heartbeat(json, beat);
    json.end_array();
  }
  if (!request.logs.empty()) {
    json.key("logs").begin_array();
    for (const AttemptLogLine& log : request.logs) {
      json.begin_object();
      write_lease(json, log.id, log.token);
      write_line(json, log.line);
      json.end_object();
    }
    json.end_array();
  }
  if (request.claim) write_claim(json, *request.claim, worker_id, request.worker);
  if (request.goodbye) json.key("goodbye").boolean(true);
  json.end_object();
  return json.take();
}

std::string to_json(const NewSchedule& schedule) {
  JsonWriter json;
  json.begin_object();
  member(json, "cron", schedule.cron);
  member(json, "every_ms", schedule.every);
  member(json, "timezone", schedule.timezone);
  json.key("job");
  write_job(json, schedule.job);
  member(json, "start_at", schedule.start_at);
  member(json, "end_at", schedule.end_at);
  member(json, "jitter_ms", schedule.jitter);
  member(json, "missed_after_ms", schedule.missed_after);
  member(json, "missed", schedule.missed);
  member(json, "missed_limit", schedule.missed_limit);
  member(json, "overlap", schedule.overlap);
  member(json, "dst_gap", schedule.dst_gap);
  member(json, "dst_overlap", schedule.dst_overlap);
  if (schedule.paused) json.key("paused").boolean(*schedule.paused);
  member(json, "managed_by", schedule.managed_by);
  json.end_object();
  return json.take();
}

std::string encode_trigger(const TriggerSchedule& options) {
  JsonWriter json;
  json.begin_object();
  member(json, "scheduled_at", options.scheduled_at);
  json.end_object();
  return json.take();
}

std::string encode_backfill(const BackfillSchedule& range) {
  JsonWriter json;
  json.begin_object();
  json.key("from").string(format_rfc3339(range.from));
  json.key("to").string(format_rfc3339(range.to));
  member(json, "limit", range.limit);
  if (range.dry_run) json.key("dry_run").boolean(true);
  if (range.rerun) json.key("rerun").boolean(true);
  json.end_object();
  return json.take();
}

std::string encode_preview(const PreviewSchedule& preview) {
  JsonWriter json;
  json.begin_object();
  member(json, "cron", preview.cron);
  member(json, "every_ms", preview.every);
  member(json, "timezone", preview.timezone);
  member(json, "from", preview.from);
  member(json, "count", preview.count);
  member(json, "dst_gap", preview.dst_gap);
  member(json, "dst_overlap", preview.dst_overlap);
  json.end_object();
  return json.take();
}

std::string to_json(const ScheduleSet& set) {
  JsonWriter json;
  json.begin_object();
  json.key("managed_by").string(set.managed_by);
  json.key("schedules").begin_object();
  for (const auto& [name, specification] : set.schedules) json.key(name).raw(specification);
  json.end_object();
  if (set.prune) json.key("prune").boolean(true);
  if (set.dry_run) json.key("dry_run").boolean(true);
  if (set.force) json.key("force").boolean(true);
  json.end_object();
  return json.take();
}

}  // namespace millrace::sdk
