// Reads schedules, their runs, and the results of calls on them.
#include "json_fields.h"
#include "json_pages.h"
#include "json_reader.h"

namespace millrace::sdk {
namespace {

void read_job(JsonValue value, Schedule& schedule) {
  schedule.job = raw_text(value);
  each_member(value, [&schedule](std::string_view name, JsonValue content) {
    if (name == "queue") read(content, schedule.queue);
    if (name == "type") read(content, schedule.type);
    if (name == "payload") schedule.payload = raw_text(content);
  });
}

// Reads a member of the owner's specification.
void read_specification(std::string_view name, JsonValue value, Schedule& schedule) {
  if (name == "cron") read(value, schedule.cron);
  if (name == "every_ms") read(value, schedule.every);
  if (name == "timezone") read(value, schedule.timezone);
  if (name == "job") read_job(value, schedule);
  if (name == "start_at") read(value, schedule.start_at);
  if (name == "end_at") read(value, schedule.end_at);
  if (name == "jitter_ms") read(value, schedule.jitter);
  if (name == "missed_after_ms") read(value, schedule.missed_after);
  if (name == "missed") read(value, schedule.missed);
  if (name == "missed_limit") read(value, schedule.missed_limit);
  if (name == "overlap") read(value, schedule.overlap);
  if (name == "dst_gap") read(value, schedule.dst_gap);
  if (name == "dst_overlap") read(value, schedule.dst_overlap);
  if (name == "paused") read(value, schedule.paused);
  if (name == "managed_by") read(value, schedule.managed_by);
}

bool read_members(JsonValue value, Schedule& schedule) {
  return each_member(value, [&schedule](std::string_view name, JsonValue content) {
    read_specification(name, content, schedule);
    if (name == "name") read(content, schedule.name);
    if (name == "version") read(content, schedule.version);
    if (name == "state") read(content, schedule.state);
    if (name == "error") read(content, schedule.error);
    if (name == "reason") read(content, schedule.reason);
    if (name == "created_at") read(content, schedule.created_at);
    if (name == "updated_at") read(content, schedule.updated_at);
    if (name == "last_scheduled_at") read(content, schedule.last_scheduled_at);
    if (name == "last_job_id") read(content, schedule.last_job_id);
    if (name == "next") read(content, schedule.next);
    if (name == "description") read(content, schedule.description);
    if (name == "warnings") read(content, schedule.warnings);
  });
}

ScheduleRun read_run(JsonValue value) {
  ScheduleRun run;
  each_member(value, [&run](std::string_view name, JsonValue content) {
    if (name == "scheduled_at") read(content, run.scheduled_at);
    if (name == "at") read(content, run.at);
    if (name == "job_id") read(content, run.job_id);
    if (name == "outcome") read(content, run.outcome);
    if (name == "count") read(content, run.count);
    if (name == "error") read(content, run.error);
  });
  return run;
}

}  // namespace

Result<Schedule> read_schedule(std::string_view json) {
  Schedule schedule;
  schedule.json = json;
  const bool is_object =
      with_document(json, [&schedule](JsonValue root) { return read_members(root, schedule); });
  if (!is_object || schedule.name.empty()) return std::unexpected(bad_answer("a schedule"));
  return schedule;
}

Result<Page<Schedule>> read_schedules(std::string_view json) {
  return read_page<Schedule>(json, "a list of schedules", [](JsonValue root, Schedule& schedule) {
    return read_members(root, schedule);
  });
}

Result<BackfillAnswer> read_backfill(std::string_view json) {
  BackfillAnswer answer;
  answer.json = json;
  bool has_submitted = false;
  const bool is_object = with_document(json, [&](JsonValue root) {
    return each_member(root, [&](std::string_view name, JsonValue content) {
      if (name == "submitted") {
        has_submitted = true;
        read(content, answer.submitted);
      }
      if (name == "existing") read(content, answer.existing);
      if (name == "more") read(content, answer.more);
    });
  });
  if (!is_object || !has_submitted) return std::unexpected(bad_answer("a reply to a backfill"));
  return answer;
}

Result<ScheduleRuns> read_schedule_runs(std::string_view json) {
  ScheduleRuns runs;
  runs.json = json;
  bool has_items = false;
  const bool is_object = with_document(json, [&](JsonValue root) {
    return each_member(root, [&](std::string_view name, JsonValue content) {
      if (name != "items") return;
      has_items = each_element(
          content, [&runs](JsonValue element) { runs.items.push_back(read_run(element)); });
    });
  });
  if (!is_object || !has_items) return std::unexpected(bad_answer("a list of a schedule's runs"));
  return runs;
}

Result<SchedulePreview> read_preview(std::string_view json) {
  SchedulePreview preview;
  preview.json = json;
  bool has_next = false;
  const bool is_object = with_document(json, [&](JsonValue root) {
    return each_member(root, [&](std::string_view name, JsonValue content) {
      if (name == "description") read(content, preview.description);
      if (name == "warnings") read(content, preview.warnings);
      if (name != "next") return;
      has_next = true;
      read(content, preview.next);
    });
  });
  if (!is_object || !has_next) return std::unexpected(bad_answer("a preview of a schedule"));
  return preview;
}

Result<ScheduleChanges> read_schedule_changes(std::string_view json) {
  ScheduleChanges changes;
  changes.json = json;
  bool has_created = false;
  const bool is_object = with_document(json, [&](JsonValue root) {
    return each_member(root, [&](std::string_view name, JsonValue content) {
      if (name == "created") {
        has_created = true;
        read(content, changes.created);
      }
      if (name == "updated") read(content, changes.updated);
      if (name == "unchanged") read(content, changes.unchanged);
      if (name == "deleted") read(content, changes.deleted);
    });
  });
  if (!is_object || !has_created) {
    return std::unexpected(bad_answer("an outcome of a set of schedules"));
  }
  return changes;
}

}  // namespace millrace::sdk
