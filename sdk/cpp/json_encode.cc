#include "json_encode.h"

#include "base/time.h"
#include "json_members.h"
#include "millrace/json.h"
#include "shapes_json.h"

namespace millrace::sdk {
namespace {

// The idempotency key is a header for a single job, and a member in a batch.
void write_job(JsonWriter& json, const NewJob& job, bool is_batch = false) {
  if (is_batch || job.idempotency_key.empty()) return object(json, job);
  NewJob without_key = job;
  without_key.idempotency_key.clear();
  object(json, without_key);
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
  if (!ack.grow.empty()) {
    json.key("grow").begin_object();
    member(json, "members", ack.grow.members);
    member(json, "skip", ack.grow.skip);
    json.end_object();
  }
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
  object(json, schedule);
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
  object(json, preview);
  return json.take();
}

std::string encode_workflow(const NewWorkflow& workflow) {
  JsonWriter json;
  object(json, workflow);
  return json.take();
}

std::string encode_members(std::span<const NewMember> members, const AddMembers& options) {
  JsonWriter json;
  json.begin_object().key("members").begin_array();
  for (const NewMember& each : members) object(json, each);
  json.end_array();
  member(json, "by", options.by);
  if (options.close) json.key("close").boolean(true);
  json.end_object();
  return json.take();
}

std::string encode_retry(const RetryWorkflow& options) {
  JsonWriter json;
  json.begin_object();
  member(json, "refs", options.refs);
  if (!options.reset_attempts) json.key("reset_attempts").boolean(false);
  if (options.drop_limits) json.key("drop_limits").boolean(true);
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
