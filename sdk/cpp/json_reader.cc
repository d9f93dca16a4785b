#include "json_reader.h"

#include <fmt/format.h>

#include "json_fields.h"
#include "json_pages.h"
#include "millrace/json.h"
#include "shapes_json.h"

namespace millrace::sdk {
namespace {

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

void read_parents(JsonValue value, ClaimedJob& job) {
  each_member(value, [&job](std::string_view ref, JsonValue content) {
    Parent parent;
    if (read_members(content, parent)) job.parents.emplace_back(ref, std::move(parent));
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
    if (name == "workflow") read(content, job.workflow);
    if (name == "parents") read_parents(content, job);
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
  each_element(value, [&out](JsonValue element) { read_members(element, out.emplace_back()); });
}

}  // namespace

bool Job::is_final() const {
  return state == "succeeded" || state == "dead" || state == "cancelled" || state == "expired" ||
         state == "pruned";
}

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
