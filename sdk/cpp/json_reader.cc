#include "json_reader.h"

#include <fmt/format.h>

#include "json_fields.h"
#include "json_pages.h"
#include "millrace/json.h"

namespace millrace::sdk {
namespace {

void read_progress(JsonValue value, std::optional<Progress>& out) {
  Progress progress;
  const bool is_there = each_member(value, [&](std::string_view name, JsonValue content) {
    if (name == "percent") read(content, progress.percent);
    if (name == "message") read(content, progress.message);
  });
  if (is_there) out = std::move(progress);
}

void read_error(JsonValue value, std::optional<JobError>& out) {
  JobError error;
  const bool is_there = each_member(value, [&](std::string_view name, JsonValue content) {
    if (name == "type") read(content, error.type);
    if (name == "message") read(content, error.message);
    if (name == "stack") read(content, error.stack);
    if (name == "attempt") read(content, error.attempt);
    if (name == "at") read(content, error.at);
  });
  if (is_there) out = std::move(error);
}

void read_attempts(JsonValue value, std::vector<Attempt>& out) {
  each_element(value, [&out](JsonValue element) {
    Attempt attempt;
    each_member(element, [&attempt](std::string_view name, JsonValue content) {
      if (name == "n") read(content, attempt.n);
      if (name == "attempt") read(content, attempt.attempt);
      if (name == "worker") read(content, attempt.worker);
      if (name == "started_at") read(content, attempt.started_at);
      if (name == "finished_at") read(content, attempt.finished_at);
      if (name == "outcome") read(content, attempt.outcome);
      if (name == "error") read_error(content, attempt.error);
    });
    out.push_back(std::move(attempt));
  });
}

void read_job_time(std::string_view name, JsonValue value, Job& job) {
  if (name == "created_at") read(value, job.created_at);
  if (name == "run_at") read(value, job.run_at);
  if (name == "expires_at") read(value, job.expires_at);
  if (name == "started_at") read(value, job.started_at);
  if (name == "finished_at") read(value, job.finished_at);
  if (name == "lease_expires_at") read(value, job.lease_expires_at);
}

void read_job_member(std::string_view name, JsonValue value, Job& job) {
  if (name.ends_with("_at")) return read_job_time(name, value, job);
  if (name == "id") read(value, job.id);
  if (name == "queue") read(value, job.queue);
  if (name == "type") read(value, job.type);
  if (name == "state") read(value, job.state);
  if (name == "priority") read(value, job.priority);
  if (name == "attempt") read(value, job.attempt);
  if (name == "max_attempts") read(value, job.max_attempts);
  if (name == "crashes") read(value, job.crashes);
  if (name == "generation") read(value, job.generation);
  if (name == "version") read(value, job.version);
  if (name == "worker") read(value, job.worker);
  if (name == "cancel_requested") read(value, job.cancel_requested);
  if (name == "progress") read_progress(value, job.progress);
  if (name == "last_error") read_error(value, job.last_error);
  if (name == "tags") read(value, job.tags);
  if (name == "meta") read(value, job.meta);
  if (name == "payload") job.payload = raw_text(value);
  if (name == "result") job.result = raw_text(value);
  if (name == "attempts") read_attempts(value, job.attempts);
  if (name == "schedule") read(value, job.schedule);
}

bool read_members(JsonValue value, Job& job) {
  return each_member(value, [&job](std::string_view name, JsonValue content) {
    read_job_member(name, content, job);
  });
}

void read_counts(JsonValue value, QueueCounts& counts) {
  each_member(value, [&counts](std::string_view name, JsonValue content) {
    if (name == "scheduled") read(content, counts.scheduled);
    if (name == "ready") read(content, counts.ready);
    if (name == "running") read(content, counts.running);
    if (name == "retrying") read(content, counts.retrying);
    if (name == "blocked") read(content, counts.blocked);
    if (name == "succeeded") read(content, counts.succeeded);
    if (name == "dead") read(content, counts.dead);
    if (name == "cancelled") read(content, counts.cancelled);
    if (name == "expired") read(content, counts.expired);
  });
}

void read_rates(JsonValue value, QueueRates& rates) {
  each_member(value, [&rates](std::string_view name, JsonValue content) {
    if (name == "submitted_per_s") read(content, rates.submitted_per_s);
    if (name == "started_per_s") read(content, rates.started_per_s);
    if (name == "succeeded_per_s") read(content, rates.succeeded_per_s);
    if (name == "failed_per_s") read(content, rates.failed_per_s);
  });
}

bool read_members(JsonValue value, Queue& queue) {
  return each_member(value, [&queue](std::string_view name, JsonValue content) {
    if (name == "name") read(content, queue.name);
    if (name == "paused") read(content, queue.paused);
    if (name == "pause_reason") read(content, queue.pause_reason);
    if (name == "counts") read_counts(content, queue.counts);
    if (name == "oldest_ready_age_ms") read(content, queue.oldest_ready_age);
    if (name == "rates") read_rates(content, queue.rates);
    if (name == "settings") queue.settings = raw_text(content);
    if (name == "version") read(content, queue.version);
  });
}

bool read_members(JsonValue value, LogLine& line) {
  return each_member(value, [&line](std::string_view name, JsonValue content) {
    if (name == "seq") read(content, line.seq);
    if (name == "attempt") read(content, line.attempt);
    if (name == "at") read(content, line.at);
    if (name == "level") read(content, line.level);
    if (name == "message") read(content, line.message);
  });
}

template <typename Item>
Result<Page<Item>> read_list(std::string_view json, std::string_view what) {
  return read_page<Item>(json, what,
                         [](JsonValue value, Item& item) { return read_members(value, item); });
}

void read_field_errors(JsonValue value, std::vector<FieldError>& out) {
  each_element(value, [&out](JsonValue element) {
    FieldError fault;
    each_member(element, [&fault](std::string_view name, JsonValue content) {
      if (name == "pointer" || name == "parameter" || name == "header") read(content, fault.where);
      if (name == "detail") read(content, fault.detail);
    });
    out.push_back(std::move(fault));
  });
}

// `message` is the detail, or the title if there is no detail.
bool read_members(JsonValue value, Error& error) {
  std::string title;
  const bool is_object = each_member(value, [&](std::string_view name, JsonValue content) {
    if (name == "status") read(content, error.status);
    if (name == "code") read(content, error.code);
    if (name == "title") read(content, title);
    if (name == "detail") read(content, error.message);
    if (name == "errors") read_field_errors(content, error.errors);
    if (name == "request_id") read(content, error.request_id);
  });
  if (error.message.empty()) error.message = title;
  return is_object;
}

// The error of a batch's item.
void read_item_error(JsonValue value, std::optional<Error>& out) {
  Error error;
  error.kind = ErrorKind::kRefused;
  if (read_members(value, error)) out = std::move(error);
}

void read_lease(JsonValue value, ClaimedJob& job) {
  each_member(value, [&job](std::string_view name, JsonValue content) {
    if (name == "token") read(content, job.token);
    if (name == "expires_at") read(content, job.lease_expires_at);
    if (name == "lease_ms") read(content, job.lease);
  });
}

void read_checkpoint(JsonValue value, ClaimedJob& job) {
  each_member(value, [&job](std::string_view name, JsonValue content) {
    if (name == "checkpoint") job.checkpoint = raw_text(content);
  });
}

bool read_members(JsonValue value, ClaimedJob& job) {
  return each_member(value, [&job](std::string_view name, JsonValue content) {
    if (name == "id") read(content, job.id);
    if (name == "queue") read(content, job.queue);
    if (name == "type") read(content, job.type);
    if (name == "payload") job.payload = raw_text(content);
    if (name == "attempt") read(content, job.attempt);
    if (name == "max_attempts") read(content, job.max_attempts);
    if (name == "lease") read_lease(content, job);
    if (name == "deadline") read(content, job.deadline);
    if (name == "timeout_ms") read(content, job.timeout);
    if (name == "meta") read(content, job.meta);
    if (name == "tags") read(content, job.tags);
    if (name == "traceparent") read(content, job.traceparent);
    if (name == "tracestate") read(content, job.tracestate);
    if (name == "schedule") read(content, job.schedule);
    if (name == "progress") read_checkpoint(content, job);
  });
}

bool read_members(JsonValue value, PollItem& item) {
  return each_member(value, [&item](std::string_view name, JsonValue content) {
    if (name == "status") read(content, item.status);
    if (name == "id") read(content, item.id);
    if (name == "cancel_requested") read(content, item.cancel_requested);
    if (name == "expires_at") read(content, item.expires_at);
    if (name == "error") read_item_error(content, item.error);
  });
}

bool read_members(JsonValue value, Readiness::Check& check) {
  return each_member(value, [&check](std::string_view name, JsonValue content) {
    if (name == "name") read(content, check.name);
    if (name == "ok") read(content, check.is_ok);
    if (name == "detail") read(content, check.detail);
  });
}

bool read_members(JsonValue value, Node& node) {
  return each_member(value, [&node](std::string_view name, JsonValue content) {
    if (name == "id") read(content, node.id);
    if (name == "name") read(content, node.name);
    if (name == "url") read(content, node.url);
    if (name == "version") read(content, node.version);
    if (name == "started_at") read(content, node.started_at);
    if (name == "live") read(content, node.live);
    if (name == "draining") read(content, node.draining);
    if (name == "self") read(content, node.self);
  });
}

bool read_members(JsonValue value, Shard& shard) {
  return each_member(value, [&shard](std::string_view name, JsonValue content) {
    if (name == "shard") read(content, shard.shard);
    if (name == "leader") read(content, shard.leader);
    if (name == "epoch") read(content, shard.epoch);
    if (name == "projected_seq") read(content, shard.projected_seq);
    if (name == "seq") read(content, shard.seq);
    if (name == "projection_lag_ms") read(content, shard.projection_lag_ms);
  });
}

bool read_members(JsonValue value, WorkerCommand& command) {
  return each_member(value, [&command](std::string_view name, JsonValue content) {
    if (name == "type") read(content, command.type);
    if (name == "job_id") read(content, command.job_id);
    if (name == "token") read(content, command.token);
  });
}

bool read_members(JsonValue value, BatchItem& item) {
  return each_member(value, [&item](std::string_view name, JsonValue content) {
    if (name == "status") read(content, item.status);
    if (name == "id") read(content, item.id);
    if (name == "state") read(content, item.state);
    if (name == "error") read_item_error(content, item.error);
  });
}

template <typename Item>
void read_all(JsonValue value, std::vector<Item>& out) {
  each_element(value, [&out](JsonValue element) {
    Item item;
    read_members(element, item);
    out.push_back(std::move(item));
  });
}

}  // namespace

Result<Job> read_job(std::string_view json) {
  Job job;
  job.json = json;
  const bool is_object =
      with_document(json, [&job](JsonValue root) { return read_members(root, job); });
  if (!is_object || job.id.empty()) return std::unexpected(bad_answer("a job"));
  return job;
}

Result<Page<Job>> read_jobs(std::string_view json) {
  return read_list<Job>(json, "a list of jobs");
}

Result<Page<LogLine>> read_logs(std::string_view json) {
  return read_list<LogLine>(json, "a list of log lines");
}

Result<Batch> read_batch(std::string_view json) {
  Batch batch;
  batch.json = json;
  const bool is_object = with_document(json, [&batch](JsonValue root) {
    return each_member(root, [&batch](std::string_view name, JsonValue content) {
      if (name == "results") read_all(content, batch.items);
    });
  });
  if (!is_object) return std::unexpected(bad_answer("a list of results of a batch"));
  return batch;
}

Result<Queue> read_queue(std::string_view json) {
  Queue queue;
  queue.json = json;
  const bool is_object =
      with_document(json, [&queue](JsonValue root) { return read_members(root, queue); });
  if (!is_object || queue.name.empty()) return std::unexpected(bad_answer("a queue"));
  return queue;
}

Result<Page<Queue>> read_queues(std::string_view json) {
  return read_list<Queue>(json, "a list of queues");
}

Result<ServerInfo> read_server_info(std::string_view json) {
  ServerInfo info;
  info.json = json;
  const bool is_object = with_document(json, [&info](JsonValue root) {
    return each_member(root, [&info](std::string_view name, JsonValue content) {
      if (name == "version") read(content, info.version);
      if (name == "commit") read(content, info.commit);
      if (name == "store") read(content, info.store);
      if (name == "node") read(content, info.node);
      if (name == "started_at") read(content, info.started_at);
      if (name == "server_time") read(content, info.server_time);
    });
  });
  if (!is_object || info.version.empty()) {
    return std::unexpected(bad_answer("a description of a server"));
  }
  return info;
}

Result<Cluster> read_cluster(std::string_view json) {
  Cluster cluster;
  cluster.json = json;
  const bool is_object = with_document(json, [&cluster](JsonValue root) {
    return each_member(root, [&cluster](std::string_view name, JsonValue content) {
      if (name == "nodes") read_all(content, cluster.nodes);
      if (name == "shards") read_all(content, cluster.shards);
    });
  });
  if (!is_object || cluster.nodes.empty()) return std::unexpected(bad_answer("a list of nodes"));
  return cluster;
}

Result<Readiness> read_readiness(std::string_view json) {
  Readiness readiness;
  readiness.json = json;
  const bool is_object = with_document(json, [&readiness](JsonValue root) {
    return each_member(root, [&readiness](std::string_view name, JsonValue content) {
      if (name == "status") read(content, readiness.status);
      if (name == "checks") read_all(content, readiness.checks);
    });
  });
  if (!is_object || readiness.status.empty())
    return std::unexpected(bad_answer("a report of the server's readiness"));
  readiness.is_ready = readiness.status == "ready";
  return readiness;
}

Result<PollAnswer> read_poll_answer(std::string_view json) {
  PollAnswer answer;
  const bool is_object = with_document(json, [&answer](JsonValue root) {
    return each_member(root, [&answer](std::string_view name, JsonValue content) {
      if (name == "acks") read_all(content, answer.acks);
      if (name == "heartbeats") read_all(content, answer.heartbeats);
      if (name == "jobs") read_all(content, answer.jobs);
      if (name == "commands") read_all(content, answer.commands);
    });
  });
  if (!is_object) return std::unexpected(bad_answer("a reply to a poll"));
  return answer;
}

std::optional<std::int64_t> read_integer(std::string_view json, std::string_view wanted) {
  std::optional<std::int64_t> found;
  with_document(json, [&](JsonValue root) {
    return each_member(root, [&](std::string_view name, JsonValue content) {
      if (name == wanted) read(content, found);
    });
  });
  return found;
}

Error read_problem(int status, std::string_view body) {
  Error error;
  error.kind = ErrorKind::kRefused;
  error.json = body;
  with_document(body, [&error](JsonValue root) { return read_members(root, error); });
  error.status = status;
  if (error.code.empty()) error.code = "bad_answer";  // a proxy's own error
  if (error.message.empty()) {
    error.message = fmt::format("the server answered with HTTP status {}", status);
  }
  return error;
}

}  // namespace millrace::sdk
