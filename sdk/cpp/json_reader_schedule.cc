// Reads schedules, their runs, and the results of calls on them.
#include "json_fields.h"
#include "json_pages.h"
#include "json_reader.h"
#include "shapes_json.h"

namespace millrace::sdk {
namespace {

// A schedule with the members of its job that programs ask for.
bool read_whole(JsonValue value, Schedule& schedule) {
  if (!read_members(value, schedule)) return false;
  with_document(schedule.job, [&schedule](JsonValue job) {
    return each_member(job, [&schedule](std::string_view name, JsonValue content) {
      if (name == "queue") read(content, schedule.queue);
      if (name == "type") read(content, schedule.type);
      if (name == "payload") schedule.payload = raw_text(content);
    });
  });
  return true;
}

// An answer that has at least the member `needed`.
template <typename Answer>
Result<Answer> read_answer(std::string_view json, std::string_view needed, std::string_view what) {
  Answer answer;
  answer.json = json;
  bool is_whole = false;
  with_document(json, [&](JsonValue root) {
    each_member(root,
                [&](std::string_view name, JsonValue) { is_whole = is_whole || name == needed; });
    return read_members(root, answer);
  });
  if (!is_whole) return std::unexpected(bad_answer(what));
  return answer;
}

}  // namespace

Result<Schedule> read_schedule(std::string_view json) {
  Schedule schedule;
  schedule.json = json;
  const bool is_object =
      with_document(json, [&schedule](JsonValue root) { return read_whole(root, schedule); });
  if (!is_object || schedule.name.empty()) return std::unexpected(bad_answer("a schedule"));
  return schedule;
}

Result<Page<Schedule>> read_schedules(std::string_view json) {
  return read_page<Schedule>(json, "a list of schedules", [](JsonValue root, Schedule& schedule) {
    return read_whole(root, schedule);
  });
}

Result<BackfillAnswer> read_backfill(std::string_view json) {
  return read_answer<BackfillAnswer>(json, "submitted", "a reply to a backfill");
}

Result<ScheduleRuns> read_schedule_runs(std::string_view json) {
  ScheduleRuns runs;
  runs.json = json;
  bool has_items = false;
  const bool is_object = with_document(json, [&](JsonValue root) {
    return each_member(root, [&](std::string_view name, JsonValue content) {
      if (name != "items") return;
      has_items = each_element(content, [&runs](JsonValue element) {
        read_members(element, runs.items.emplace_back());
      });
    });
  });
  if (!is_object || !has_items) return std::unexpected(bad_answer("a list of a schedule's runs"));
  return runs;
}

Result<SchedulePreview> read_preview(std::string_view json) {
  return read_answer<SchedulePreview>(json, "next", "a preview of a schedule");
}

Result<ScheduleChanges> read_schedule_changes(std::string_view json) {
  return read_answer<ScheduleChanges>(json, "created", "an outcome of a set of schedules");
}

}  // namespace millrace::sdk
