// The client's calls for operators: bulk changes, workers, events, statistics.
#include <fmt/format.h>

#include "client_calls.h"
#include "json_members.h"
#include "json_reader.h"
#include "millrace/client.h"
#include "millrace/json.h"

namespace millrace::sdk {
namespace {

Request worker_command(std::string_view id, std::string_view command, Milliseconds timeout) {
  return {.method = "POST",
          .path = fmt::format("/v1/workers/{}/{}", url_encode(id), command),
          .timeout = timeout,
          .repeat = Repeat::kAlways};
}

std::string operation_path(std::string_view id, std::string_view rest = {}) {
  return fmt::format("/v1/operations/{}{}", url_encode(id), rest);
}

// These orders are idempotent.
Request operation_order(std::string_view id, std::string_view order, Milliseconds timeout) {
  return {.method = "POST",
          .path = operation_path(id, order),
          .timeout = timeout,
          .repeat = Repeat::kAlways};
}

}  // namespace

Result<Page<Operation>> Client::operations(std::string_view state, std::string_view cursor) {
  QueryString query;
  query.add("state", state);
  query.add("limit", "1000");
  query.add("cursor", cursor);
  return then(call({.path = "/v1/operations" + query.text(), .timeout = options_.timeout}),
              read_operations);
}

Result<Operation> Client::operation(std::string_view id) {
  return then(call({.path = operation_path(id), .timeout = options_.timeout}), read_operation);
}

Result<Operation> Client::pause_operation(std::string_view id) {
  return then(call(operation_order(id, "/pause", options_.timeout)), read_operation);
}

Result<Operation> Client::resume_operation(std::string_view id) {
  return then(call(operation_order(id, "/resume", options_.timeout)), read_operation);
}

Result<Operation> Client::cancel_operation(std::string_view id) {
  return then(call(operation_order(id, "/cancel", options_.timeout)), read_operation);
}

Result<Operation> Client::set_operation_rate(std::string_view id,
                                             std::optional<std::int64_t> per_s) {
  JsonWriter body;
  body.begin_object().key("rate_per_s");
  if (per_s) {
    body.integer(*per_s);
  } else {
    body.null();
  }
  body.end_object();
  return then(call({.method = "PATCH",
                    .path = operation_path(id),
                    .body = body.take(),
                    .timeout = options_.timeout,
                    .repeat = Repeat::kAlways}),
              read_operation);
}

Result<BulkAnswer> Client::bulk(const BulkByFilter& bulk, Milliseconds timeout) {
  JsonWriter body;
  body.begin_object().key("action").string(bulk.action);
  if (bulk.ids.empty()) {
    body.key("filter").begin_object();
    member(body, "q", bulk.query);
    member(body, "state", bulk.states);
    member(body, "queue", bulk.queue);
    member(body, "type", bulk.type);
    member(body, "tag", bulk.tag);
    body.end_object();
  } else {
    member(body, "ids", bulk.ids);
  }
  member(body, "priority", bulk.priority);
  body.key("dry_run").boolean(bulk.dry_run);
  if (bulk.rate_per_s) body.key("rate_per_s").integer(*bulk.rate_per_s);
  if (bulk.operation) body.key("operation").boolean(true);
  body.end_object();
  return then(call({.method = "POST",
                    .path = "/v1/jobs/bulk",
                    .body = body.take(),
                    .timeout = timeout,
                    .repeat = bulk.dry_run ? Repeat::kAlways : Repeat::kIfUnbegun}),
              read_bulk);
}

Result<void> Client::delete_queue(std::string_view name, bool force, Milliseconds timeout) {
  auto response =
      call({.method = "DELETE",
            .path = fmt::format("/v1/queues/{}{}", url_encode(name), force ? "?force=true" : ""),
            .timeout = timeout});
  if (!response) return std::unexpected(std::move(response.error()));
  return {};
}

Result<Page<SeenWorker>> Client::workers(std::string_view cursor) {
  QueryString query;
  query.add("limit", "1000");
  query.add("cursor", cursor);
  return then(call({.path = "/v1/workers" + query.text(), .timeout = options_.timeout}),
              read_workers);
}

Result<SeenWorker> Client::quiet_worker(std::string_view id) {
  return then(call(worker_command(id, "quiet", options_.timeout)), read_worker);
}

Result<SeenWorker> Client::stop_worker(std::string_view id) {
  return then(call(worker_command(id, "stop", options_.timeout)), read_worker);
}

Result<Why> Client::why(std::string_view job_id) {
  return then(call({.path = fmt::format("/v1/jobs/{}/why", url_encode(job_id)),
                    .timeout = options_.timeout}),
              read_why);
}

Result<Page<Event>> Client::events(const EventFilter& filter) {
  QueryString query;
  query.add("types", filter.types);
  query.add("queues", filter.queues);
  query.add("job", filter.job);
  query.add("limit", std::to_string(filter.limit));
  query.add("cursor", filter.cursor);
  if (filter.wait > Milliseconds{0}) query.add("wait_ms", std::to_string(filter.wait.count()));
  return then(
      call({.path = "/v1/events" + query.text(), .timeout = options_.timeout + filter.wait}),
      read_events);
}

Result<Stats> Client::stats(const StatsFilter& filter) {
  QueryString query;
  if (filter.window) query.add("window_ms", std::to_string(filter.window->count()));
  if (filter.step) query.add("step_ms", std::to_string(filter.step->count()));
  query.add("by", filter.by);
  query.add("name", filter.name);
  return then(call({.path = "/v1/stats" + query.text(), .timeout = options_.timeout}), read_stats);
}

}  // namespace millrace::sdk
