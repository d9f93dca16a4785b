// Reads data for operators: workers, events, statistics.
#include "json_fields.h"
#include "json_pages.h"
#include "json_reader.h"
#include "shapes_json.h"

namespace millrace::sdk {
namespace {

bool read_members(JsonValue value, Operation& operation) {
  return each_member(value, [&operation](std::string_view name, JsonValue content) {
    if (name == "id") read(content, operation.id);
    if (name == "kind") read(content, operation.kind);
    if (name == "action") read(content, operation.action);
    if (name == "query") read(content, operation.query);
    if (name == "state") read(content, operation.state);
    if (name == "matched") read(content, operation.matched);
    if (name == "done") read(content, operation.done);
    if (name == "changed") read(content, operation.changed);
    if (name == "failed") read(content, operation.failed);
    if (name == "rate_per_s") read(content, operation.rate_per_s);
    if (name == "reason") read(content, operation.reason);
  });
}

// A null keeps its position, since the columns of a group correspond.
template <typename T>
void read_column(JsonValue value, std::vector<T>& out) {
  each_element(value, [&out](JsonValue element) {
    T number{};
    read(element, number);
    out.push_back(number);
  });
}

void read_percentiles(JsonValue value, StatsPercentiles& out) {
  each_member(value, [&out](std::string_view name, JsonValue content) {
    if (name == "p50") read_column(content, out.p50);
    if (name == "p95") read_column(content, out.p95);
    if (name == "p99") read_column(content, out.p99);
  });
}

void read_groups(JsonValue value, std::vector<StatsGroup>& out) {
  each_element(value, [&out](JsonValue element) {
    StatsGroup group;
    each_member(element, [&group](std::string_view name, JsonValue content) {
      if (name == "queue" || name == "type" || name == "fair_key" || name == "tag") {
        read(content, group.name);
      }
      if (name == "submitted") read_column(content, group.submitted);
      if (name == "started") read_column(content, group.started);
      if (name == "succeeded") read_column(content, group.succeeded);
      if (name == "failed") read_column(content, group.failed);
      if (name == "dead") read_column(content, group.dead);
      if (name == "wait_ms") read_percentiles(content, group.wait);
      if (name == "run_ms") read_percentiles(content, group.run);
    });
    out.push_back(std::move(group));
  });
}

}  // namespace

Result<SeenWorker> read_worker(std::string_view json) {
  SeenWorker worker;
  worker.json = json;
  const bool is_object =
      with_document(json, [&worker](JsonValue root) { return read_members(root, worker); });
  if (!is_object || worker.id.empty()) return std::unexpected(bad_answer("a worker"));
  return worker;
}

Result<Limit> read_limit(std::string_view json) {
  Limit limit;
  limit.json = json;
  const bool is_object =
      with_document(json, [&limit](JsonValue root) { return read_members(root, limit); });
  if (!is_object || limit.name.empty()) return std::unexpected(bad_answer("a limit"));
  return limit;
}

Result<Page<Limit>> read_limits(std::string_view json) {
  return read_page<Limit>(json, "a list of limits",
                          [](JsonValue root, Limit& limit) { return read_members(root, limit); });
}

Result<Why> read_why(std::string_view json) {
  Why why;
  why.json = json;
  const bool is_object =
      with_document(json, [&why](JsonValue root) { return read_members(root, why); });
  if (!is_object || why.id.empty()) return std::unexpected(bad_answer("why a job waits"));
  return why;
}

Result<Page<SeenWorker>> read_workers(std::string_view json) {
  return read_page<SeenWorker>(json, "a list of workers", [](JsonValue root, SeenWorker& worker) {
    return read_members(root, worker);
  });
}

Result<Page<Event>> read_events(std::string_view json) {
  return read_page<Event>(json, "a page of events",
                          [](JsonValue root, Event& event) { return read_members(root, event); });
}

Result<Stats> read_stats(std::string_view json) {
  Stats stats;
  stats.json = json;
  bool has_groups = false;
  const bool is_object = with_document(json, [&](JsonValue root) {
    return each_member(root, [&](std::string_view name, JsonValue content) {
      if (name == "from") read(content, stats.from);
      if (name == "step_ms") {
        std::int64_t step = 0;
        read(content, step);
        stats.step = Milliseconds{step};
      }
      if (name != "groups") return;
      has_groups = true;
      read_groups(content, stats.groups);
    });
  });
  if (!is_object || !has_groups) return std::unexpected(bad_answer("statistics"));
  return stats;
}

Result<Operation> read_operation(std::string_view json) {
  Operation operation;
  operation.json = json;
  const bool is_object =
      with_document(json, [&operation](JsonValue root) { return read_members(root, operation); });
  if (!is_object || operation.id.empty() || operation.state.empty()) {
    return std::unexpected(bad_answer("an operation"));
  }
  return operation;
}

Result<Page<Operation>> read_operations(std::string_view json) {
  return read_page<Operation>(
      json, "a list of operations",
      [](JsonValue root, Operation& operation) { return read_members(root, operation); });
}

Result<BulkAnswer> read_bulk(std::string_view json) {
  BulkAnswer answer;
  answer.json = json;
  bool has_matched = false;
  bool is_operation = false;
  const bool is_object = with_document(json, [&](JsonValue root) {
    return each_member(root, [&](std::string_view name, JsonValue content) {
      if (name == "matched") {
        has_matched = true;
        read(content, answer.matched);
      }
      if (name == "changed") read(content, answer.changed);
      if (name == "failed") read(content, answer.failed);
      if (name == "more") read(content, answer.more);
      if (name == "state") is_operation = true;
    });
  });
  if (!is_object || !has_matched) return std::unexpected(bad_answer("an outcome of a bulk call"));
  if (is_operation) {
    auto begun = read_operation(json);
    if (!begun) return std::unexpected(std::move(begun.error()));
    answer.operation = std::move(*begun);
  }
  return answer;
}

}  // namespace millrace::sdk
