// The commands that are calls of the client.
#include "program.h"

namespace millrace::conformance {
namespace {

using sdk::JsonView;
using sdk::JsonWriter;

// The text that the server sent.
template <typename Value>
sdk::Result<std::string> json_of(const sdk::Result<Value>& value) {
  if (!value) return std::unexpected(value.error());
  return value->json;
}

sdk::Result<std::string> json_of(const sdk::Result<void>& value) {
  if (!value) return std::unexpected(value.error());
  return "{}";
}

sdk::Result<std::string> json_of(const sdk::Result<sdk::Submitted>& submitted) {
  if (!submitted) return std::unexpected(submitted.error());
  JsonWriter json;
  json.begin_object().key("job").raw(submitted->job.json);
  json.key("is_new").boolean(submitted->is_new).end_object();
  return json.take();
}

template <typename Item>
sdk::Result<std::string> json_of(const sdk::Result<sdk::Page<Item>>& page) {
  if (!page) return std::unexpected(page.error());
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (const Item& item : page->items) json.raw(item.json);
  json.end_array().key("next_cursor");
  if (page->next_cursor.empty()) {
    json.null();
  } else {
    json.string(page->next_cursor);
  }
  return json.end_object().take();
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
  for (const JsonView job : command["jobs"].elements()) jobs.push_back(job_of(job));
  return json_of(client.submit_batch(jobs, command["atomic"].boolean().value_or(false)));
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
  if (name == "submit") return json_of(client.submit(job_of(command["job"])));
  if (name == "submit_batch") return submit_batch(client, command);
  if (name == "get") return json_of(client.job(job, {.include = texts_of(command["include"])}));
  if (name == "wait") return json_of(client.wait(job, ms_of(command["timeout_ms"], 30'000)));
  if (name == "list") return json_of(client.jobs(filter_of(command)));
  if (name == "logs") return json_of(client.logs(job));
  if (name == "cancel") return json_of(client.cancel(job, text_of(command["reason"])));
  if (name == "retry") return json_of(client.retry(job));
  if (name == "delete") return json_of(client.remove(job));
  sdk::Error unknown;
  unknown.kind = sdk::ErrorKind::kBadArgument;
  unknown.code = "bad_argument";
  unknown.message = "unknown command " + std::string(name);
  return std::unexpected(unknown);
}

}  // namespace millrace::conformance
