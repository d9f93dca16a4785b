// Commands that make calls of the client.
#include "answers.h"
#include "program.h"

namespace millrace::conformance {
namespace {

using sdk::JsonView;
using sdk::JsonWriter;

sdk::Result<std::string> json_of(const sdk::Result<sdk::Submitted>& submitted) {
  if (!submitted) return std::unexpected(submitted.error());
  JsonWriter json;
  json.begin_object().key("job").raw(submitted->job.json);
  json.key("is_new").boolean(submitted->is_new).end_object();
  return json.take();
}

sdk::Result<std::string> json_of(const sdk::Result<sdk::Batch>& batch) {
  if (!batch) return std::unexpected(batch.error());
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (const sdk::BatchItem& item : batch->items) {
    json.begin_object().key("status").integer(item.status);
    json.key("id").string(item.id).key("state").string(item.state).key("error");
    if (item.error) {
      write_error(json, *item.error);
    } else {
      json.null();
    }
    json.end_object();
  }
  return json.end_array().end_object().take();
}

sdk::Result<std::string> json_of(const sdk::Result<std::vector<sdk::LogLine>>& lines) {
  if (!lines) return std::unexpected(lines.error());
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (const sdk::LogLine& line : *lines) {
    json.begin_object().key("seq").integer(line.seq).key("attempt").integer(line.attempt);
    json.key("level").string(line.level).key("message").string(line.message).end_object();
  }
  return json.end_array().end_object().take();
}

sdk::JobFilter filter_of(JsonView command) {
  const JsonView filter = command["filter"];
  return {.states = texts_of(filter["state"]),
          .queue = text_of(filter["queue"]),
          .type = text_of(filter["type"]),
          .tag = text_of(filter["tag"]),
          .query = text_of(filter["q"]),
          .fresh = filter["fresh"].boolean().value_or(false),
          .limit = static_cast<int>(command["limit"].integer().value_or(50)),
          .cursor = text_of(command["cursor"])};
}

sdk::Result<std::string> submit_batch(sdk::Client& client, JsonView command) {
  std::vector<sdk::NewJob> jobs;
  for (const JsonView job : command["jobs"].elements()) jobs.push_back(sdk::read_new_job(job));
  return json_of(client.submit_batch(jobs, command["atomic"].boolean().value_or(false)));
}

sdk::Result<std::string> list_all(sdk::Client& client, JsonView command) {
  JsonWriter json;
  json.begin_object().key("ids").begin_array();
  for (const auto& job : client.list_all(filter_of(command))) {
    if (!job) return std::unexpected(job.error());
    json.string(job->id);
  }
  return json.end_array().end_object().take();
}

template <typename Value>
std::optional<Value> integer_of(JsonView value) {
  if (const auto read = value.integer()) return Value(*read);
  return std::nullopt;
}

// The calls on queues; none: `call` is not one of them.
std::optional<sdk::Result<std::string>> call_on_queues(sdk::Client& client, std::string_view call,
                                                       JsonView command) {
  const std::string name = text_of(command["name"]);
  const std::string_view settings = command["settings"] ? command["settings"].text() : "{}";
  const auto version = integer_of<std::int64_t>(command["if_match"]);
  if (call == "queues") return json_of(client.queues());
  if (call == "queue") return json_of(client.queue(name));
  if (call == "put_queue") return json_of(client.put_queue(name, settings, version));
  if (call == "patch_queue") {
    return json_of(client.patch_queue(name, settings, sdk::IfMissing::kFail, version));
  }
  if (call == "pause_queue") return json_of(client.pause_queue(name, text_of(command["reason"])));
  if (call == "resume_queue") return json_of(client.resume_queue(name));
  if (call != "delete_queue") return std::nullopt;
  const bool force = command["force"].boolean().value_or(false);
  return json_of(client.delete_queue(name, force, sdk::Milliseconds{30'000}));
}

// The calls on limits; none: `call` is not one of them.
std::optional<sdk::Result<std::string>> call_on_limits(sdk::Client& client, std::string_view call,
                                                       JsonView command) {
  const std::string name = text_of(command["name"]);
  const std::string_view settings = command["settings"] ? command["settings"].text() : "{}";
  const auto version = integer_of<std::int64_t>(command["if_match"]);
  if (call == "limits") return json_of(client.limits());
  if (call == "limit") return json_of(client.limit(name));
  if (call == "put_limit") return json_of(client.put_limit(name, settings, version));
  if (call == "patch_limit") return json_of(client.patch_limit(name, settings, version));
  if (call == "pause_limit") return json_of(client.pause_limit(name, text_of(command["reason"])));
  if (call == "resume_limit") return json_of(client.resume_limit(name));
  if (call != "delete_limit") return std::nullopt;
  return json_of(client.delete_limit(name, command["force"].boolean().value_or(false)));
}

sdk::BulkByFilter bulk_of(JsonView request) {
  const JsonView filter = request["filter"];
  return {.action = text_of(request["action"]),
          .query = text_of(filter["q"]),
          .states = texts_of(filter["state"]),
          .dry_run = request["dry_run"].boolean().value_or(false),
          .rate_per_s = integer_of<std::int64_t>(request["rate_per_s"]),
          .operation = request["operation"].boolean().value_or(false),
          .queue = text_of(filter["queue"]),
          .type = text_of(filter["type"]),
          .tag = text_of(filter["tag"]),
          .ids = texts_of(request["ids"])};
}

sdk::Result<std::string> any_call(sdk::Client& client, JsonView command) {
  sdk::Request request{.method = text_of(command["method"]), .path = text_of(command["path"])};
  for (const auto& [name, value] : command["query"].members()) {
    const std::string text = value.string().value_or(std::string(value.text()));
    request.path += request.path.contains('?') ? '&' : '?';
    request.path += sdk::url_encode(name) + "=" + sdk::url_encode(text);
  }
  if (command["body"]) request.body = command["body"].text();
  request.repeat = sdk::Repeat::kIfUnbegun;
  const auto response = client.call(std::move(request));
  if (!response) return std::unexpected(response.error());
  return response->body.empty() ? "{}" : response->body;
}

// The calls of operators; none: `call` is not one of them.
std::optional<sdk::Result<std::string>> call_of_operators(sdk::Client& client,
                                                          std::string_view call, JsonView command) {
  const std::string operation = text_of(command["operation"]);
  if (call == "bulk") {
    return json_of(client.bulk(bulk_of(command["request"]), sdk::Milliseconds{30'000}));
  }
  if (call == "operations") return json_of(client.operations(text_of(command["state"])));
  if (call == "operation") return json_of(client.operation(operation));
  if (call == "pause_operation") return json_of(client.pause_operation(operation));
  if (call == "resume_operation") return json_of(client.resume_operation(operation));
  if (call == "cancel_operation") return json_of(client.cancel_operation(operation));
  if (call == "workers") return json_of(client.workers());
  if (call == "why") return json_of(client.why(text_of(command["job"])));
  if (call == "events") {
    return json_of(client.events({.types = texts_of(command["types"]),
                                  .queues = texts_of(command["queues"]),
                                  .job = text_of(command["job"]),
                                  .cursor = text_of(command["cursor"]),
                                  .limit = integer_of<int>(command["limit"]).value_or(50),
                                  .wait = ms_of(command["wait_ms"], 0)}));
  }
  if (call == "stats") {
    return json_of(client.stats({.window = integer_of<sdk::Milliseconds>(command["window_ms"]),
                                 .step = integer_of<sdk::Milliseconds>(command["step_ms"]),
                                 .by = text_of(command["by"]),
                                 .name = text_of(command["name"])}));
  }
  if (call == "call") return any_call(client, command);
  return std::nullopt;
}

sdk::BackfillSchedule range_of(JsonView spec) {
  sdk::BackfillSchedule range{.limit = integer_of<int>(spec["limit"]),
                              .dry_run = spec["dry_run"].boolean().value_or(false),
                              .rerun = spec["rerun"].boolean().value_or(false)};
  range.from = sdk::read_time(text_of(spec["from"])).value_or(sdk::Timestamp{});
  range.to = sdk::read_time(text_of(spec["to"])).value_or(sdk::Timestamp{});
  return range;
}

sdk::PreviewSchedule preview_of(JsonView spec) {
  return {.cron = text_of(spec["cron"]),
          .every = integer_of<sdk::Milliseconds>(spec["every_ms"]),
          .timezone = text_of(spec["timezone"]),
          .from = sdk::read_time(text_of(spec["from"])),
          .count = integer_of<int>(spec["count"]),
          .dst_gap = text_of(spec["dst_gap"]),
          .dst_overlap = text_of(spec["dst_overlap"])};
}

sdk::ScheduleSet set_of(JsonView spec) {
  sdk::ScheduleSet set{.managed_by = text_of(spec["managed_by"]),
                       .prune = spec["prune"].boolean().value_or(false),
                       .dry_run = spec["dry_run"].boolean().value_or(false),
                       .force = spec["force"].boolean().value_or(false)};
  for (const auto& [name, schedule] : spec["schedules"].members()) {
    set.schedules.emplace_back(name, schedule.text());
  }
  return set;
}

std::optional<sdk::Result<std::string>> call_on_schedules(sdk::Client& client,
                                                          std::string_view call, JsonView command) {
  const std::string name = text_of(command["name"]);
  const JsonView spec = command["spec"];
  const std::string reason = text_of(command["reason"]);
  const auto version = integer_of<std::int64_t>(command["if_match"]);
  if (call == "schedules") {
    return json_of(client.schedules({.managed_by = text_of(command["managed_by"])}));
  }
  if (call == "schedule") return json_of(client.schedule(name));
  if (call == "put_schedule") return json_of(client.put_schedule(name, spec.text(), version));
  if (call == "delete_schedule") return json_of(client.delete_schedule(name, version));
  if (call == "pause_schedule") return json_of(client.pause_schedule(name, reason));
  if (call == "resume_schedule") return json_of(client.resume_schedule(name));
  if (call == "trigger_schedule") {
    const auto job = client.trigger_schedule(
        name, {.scheduled_at = sdk::read_time(text_of(spec["scheduled_at"]))});
    if (!job) return std::unexpected(job.error());
    return job->job.json;
  }
  if (call == "backfill_schedule") return json_of(client.backfill_schedule(name, range_of(spec)));
  if (call == "schedule_runs") return json_of(client.schedule_runs(name));
  if (call == "preview_schedule") return json_of(client.preview_schedule(preview_of(spec)));
  if (call == "apply_schedules") return json_of(client.apply_schedules(set_of(spec)));
  return std::nullopt;
}

sdk::Result<std::string> make_id(JsonView command) {
  JsonWriter json;
  json.begin_object().key("id").string(sdk::make_id(text_of(command["queue"]))).end_object();
  return json.take();
}

}  // namespace

sdk::Result<std::string> call(sdk::Client& client, std::string_view name, JsonView command) {
  const std::string job = text_of(command["job"]);
  if (name == "make_id") return make_id(command);
  if (name == "submit") return json_of(client.submit(sdk::read_new_job(command["job"])));
  if (name == "submit_batch") return submit_batch(client, command);
  if (name == "get") return json_of(client.get(job, {.include = texts_of(command["include"])}));
  if (name == "wait") return json_of(client.wait(job, ms_of(command["timeout_ms"], 30'000)));
  if (name == "list") return json_of(client.list(filter_of(command)));
  if (name == "list_all") return list_all(client, command);
  if (name == "logs") return json_of(client.logs(job));
  if (name == "cancel") return json_of(client.cancel(job, text_of(command["reason"])));
  if (name == "retry") return json_of(client.retry(job));
  if (name == "delete") return json_of(client.remove(job));
  if (auto done = call_on_queues(client, name, command)) return *std::move(done);
  if (auto done = call_on_schedules(client, name, command)) return *std::move(done);
  if (auto done = call_on_limits(client, name, command)) return *std::move(done);
  if (auto done = call_on_workflows(client, name, command)) return *std::move(done);
  if (auto done = call_of_operators(client, name, command)) return *std::move(done);
  sdk::Error unknown;
  unknown.kind = sdk::ErrorKind::kBadArgument;
  unknown.code = "bad_argument";
  unknown.message = "unknown command " + std::string(name);
  return std::unexpected(unknown);
}

}  // namespace millrace::conformance
