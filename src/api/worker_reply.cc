#include "api/worker_reply.h"

#include "base/json_writer.h"

namespace millrace::api {
namespace {

void member_names(JsonWriter& json, std::string_view name,
                  const std::vector<std::string_view>& names) {
  json.key(name);
  json.begin_array();
  for (const std::string_view each : names) json.string(each);
  json.end_array();
}

void encode_running(JsonWriter& json, const Worker::Running& running) {
  json.begin_object();
  json.member("id", running.id);
  json.member("queue", running.queue);
  json.member("type", running.type);
  json.member("attempt", running.attempt);
  json.member("started_at", running.started_at);
  json.member("lease_expires_at", running.lease_expires_at);
  json.end_object();
}

}  // namespace

void encode(JsonWriter& json, const ClaimedJob& job) {
  json.begin_object();
  json.member("id", job.id);
  json.member("queue", job.queue);
  json.member("type", job.type);
  json.raw_member("payload", job.payload);
  json.member("priority", job.priority);
  json.member("attempt", job.attempt);
  json.member("max_attempts", job.max_attempts);
  json.key("lease");
  json.begin_object();
  json.member("token", job.token);
  json.member("expires_at", job.lease_expires_at);
  json.member("lease_ms", job.lease.count());
  json.end_object();
  json.member("created_at", job.created_at);
  if (job.deadline) json.member("deadline", *job.deadline);
  if (job.timeout) json.member("timeout_ms", job.timeout->count());
  member_names(json, "tags", job.tags);
  json.key("meta");
  encode(json, job.meta);
  if (!job.traceparent.empty()) json.member("traceparent", job.traceparent);
  if (!job.tracestate.empty()) json.member("tracestate", job.tracestate);
  encode_schedule_member(json, job.schedule, job.scheduled_at);
  if (job.workflow) encode_workflow_of_claim(json, *job.workflow);
  if (!job.parents.empty()) encode_parents(json, job.parents);
  if (job.progress) {
    json.key("progress");
    encode(json, *job.progress);
  }
  json.end_object();
}

void encode_heartbeat_result(JsonWriter& json, const JobId& id, Time expires_at,
                             bool cancel_requested) {
  json.begin_object();
  json.member("status", 200);
  json.member("id", id);
  json.member("expires_at", expires_at);
  json.member("cancel_requested", cancel_requested);
  json.end_object();
}

void encode(JsonWriter& json, const WorkerCommand& command) {
  json.begin_object();
  json.member("type", name_of(command.kind));
  if (command.kind == WorkerCommand::Kind::kCancel) {
    json.member("job_id", command.job_id);
    json.member("token", command.token);
  }
  json.end_object();
}

void encode(JsonWriter& json, const Worker& worker) {
  json.begin_object();
  json.member("id", worker.id);
  json.text_or_null("host", worker.host);
  json.member("pid", worker.pid);
  json.text_or_null("sdk", worker.sdk);
  json.text_or_null("version", worker.version);
  json.key("labels");
  encode(json, worker.labels);
  member_names(json, "queues", worker.queues);
  if (worker.types.empty()) {
    json.key("types");
    json.null();
  } else {
    member_names(json, "types", worker.types);
  }
  json.member("state", name_of(worker.state));
  json.member("first_seen_at", worker.first_seen_at);
  json.member("last_seen_at", worker.last_seen_at);
  json.key("running");
  json.begin_array();
  for (const Worker::Running& running : worker.running) encode_running(json, running);
  json.end_array();
  json.end_object();
}

}  // namespace millrace::api
