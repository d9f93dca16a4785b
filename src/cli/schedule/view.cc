#include "cli/schedule/view.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/time.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/schedule/json_members.h"
#include "cli/schedule/zone_view.h"

namespace millrace::cli {
namespace {

std::string queue_of(const sdk::Schedule& schedule) {
  return schedule.queue.empty() ? "default" : printable(schedule.queue);
}

// The workflow's name, and how many members it has; empty: the schedule submits jobs.
std::string workflow_of(const sdk::Schedule& schedule) {
  if (schedule.workflow.empty()) return {};
  std::string name;
  std::size_t count = 0;
  for_each_member(JsonCursor(schedule.workflow), [&](const std::string& member, JsonCursor value) {
    if (member == "name" && value.type() == JsonType::kString) name = text_at(value) + ", ";
    if (member != "members" || value.type() != JsonType::kArray) return;
    for (value.enter(); value.next_element(); value.skip()) ++count;
  });
  return printable(fmt::format("{}{} member{}", name, count, count == 1 ? "" : "s"));
}

std::string type_of(const sdk::Schedule& schedule) {
  const std::string workflow = workflow_of(schedule);
  return workflow.empty() ? printable(schedule.type) : "workflow";
}

// "0 9 * * MON-FRI Europe/Zurich", "every 10m"
std::string rule_of(const sdk::Schedule& schedule) {
  if (schedule.every) return "every " + format_duration(*schedule.every);
  std::string text = schedule.cron;
  if (!schedule.timezone.empty() && schedule.timezone != "UTC") text += " " + schedule.timezone;
  return printable(text);
}

std::string missed_text(const sdk::Schedule& schedule) {
  std::string text = printable(schedule.missed);
  if (schedule.missed == "all") text += fmt::format(", at most {}", schedule.missed_limit);
  if (schedule.missed_after) {
    text += fmt::format(" (missed after {})", format_duration(*schedule.missed_after));
  }
  return text;
}

std::string state_text(const sdk::Schedule& schedule) {
  if (!schedule.error.empty()) return printable(schedule.state + ": " + schedule.error);
  if (!schedule.reason.empty()) return printable(schedule.state + ": " + schedule.reason);
  return printable(schedule.state);
}

std::string next_of(const sdk::Schedule& schedule, sdk::Timestamp now) {
  if (schedule.state != "active" || schedule.next.empty()) return "-";
  return relative_time(schedule.next.front(), now);
}

}  // namespace

std::string schedule_table(const std::vector<sdk::Schedule>& schedules, sdk::Timestamp now,
                           std::size_t width) {
  Table table({{.title = "NAME", .least = 12},
               {"STATE"},
               {"NEXT"},
               {"LAST"},
               {.title = "QUEUE", .least = 8},
               {.title = "TYPE", .least = 8},
               {.title = "RULE", .least = 0}});
  for (const sdk::Schedule& schedule : schedules) {
    table.add({printable(schedule.name), printable(schedule.state), next_of(schedule, now),
               relative_time(schedule.last_scheduled_at, now), queue_of(schedule),
               type_of(schedule), rule_of(schedule)});
  }
  return table.text(width);
}

std::string schedule_details(const sdk::Schedule& schedule, sdk::Timestamp now, std::size_t width) {
  Properties lines;
  lines.add("name", printable(schedule.name));
  lines.add("state", state_text(schedule));
  lines.add("when", printable(schedule.description));
  lines.add("rule", rule_of(schedule));
  lines.add("queue", queue_of(schedule));
  lines.add("workflow", workflow_of(schedule));
  lines.add("type", printable(schedule.type));
  lines.add("payload", printable(schedule.payload));
  lines.add("starts", time_for_people(schedule.start_at, now));
  lines.add("ends", time_for_people(schedule.end_at, now));
  if (schedule.jitter && schedule.jitter->count() > 0) {
    lines.add("jitter", format_duration(*schedule.jitter));
  }
  lines.add("missed", missed_text(schedule));
  lines.add("overlap", printable(schedule.overlap));
  if (!schedule.every && !schedule.dst_gap.empty()) {
    lines.add("clock changes",
              printable(fmt::format("gap {}, overlap {}", schedule.dst_gap, schedule.dst_overlap)));
  }
  lines.add("managed by", printable(schedule.managed_by));
  lines.add("created", time_for_people(schedule.created_at, now));
  if (schedule.updated_at != schedule.created_at) {
    lines.add("changed", time_for_people(schedule.updated_at, now));
  }
  lines.add("version", std::to_string(schedule.version));
  lines.add("last run", time_for_people(schedule.last_scheduled_at, now));
  lines.add("last job", printable(schedule.last_job_id));
  lines.add("last workflow", printable(schedule.last_workflow_id));
  std::string text = lines.text();
  for (const std::string& warning : schedule.warnings) {
    text += fmt::format("warning: {}\n", printable(warning));
  }
  if (schedule.next.empty()) return text;
  return text + "\n" +
         instants_table(schedule.next, schedule.timezone, zone_here(schedule.timezone), now, width);
}

std::string runs_table(const std::vector<sdk::ScheduleRun>& runs, std::size_t width) {
  Table table({{"SCHEDULED AT"},
               {"DELAY", Align::kRight},
               {"OUTCOME"},
               {"COUNT", Align::kRight},
               {"JOB OR WORKFLOW"},
               {.title = "ERROR", .least = 0}});
  for (const sdk::ScheduleRun& run : runs) {
    const bool both = run.scheduled_at && run.at;
    const auto delay =
        both ? std::max(*run.at - *run.scheduled_at, sdk::Milliseconds{0}) : sdk::Milliseconds{0};
    const std::string& made = run.job_id.empty() ? run.workflow_id : run.job_id;
    table.add({run.scheduled_at ? format_rfc3339(*run.scheduled_at) : "-",
               both ? format_duration_for_people(delay) : "-", printable(run.outcome),
               std::to_string(run.count.value_or(1)), made.empty() ? "-" : printable(made),
               printable(run.error)});
  }
  return table.text(width);
}

std::string changes_text(const sdk::ScheduleChanges& changes) {
  std::string text;
  const auto add = [&text](std::string_view what, const std::vector<std::string>& names) {
    for (const std::string& name : names) text += fmt::format("{}  {}\n", what, printable(name));
  };
  add("created", changes.created);
  add("updated", changes.updated);
  add("deleted", changes.deleted);
  return text + fmt::format("{} created, {} updated, {} unchanged, {} deleted\n",
                            changes.created.size(), changes.updated.size(),
                            changes.unchanged.size(), changes.deleted.size());
}

void fail_on_schedule(const sdk::Error& error, std::string_view name, Session& session) {
  if (error.code != "not_found") return session.fail(error);
  session.fail(
      kNotFound,
      fmt::format("there is no schedule {}; `millrace schedule list` shows the schedules", name));
}

void fail_on_file(const sdk::Error& error, std::string_view path, const Lines& lines,
                  Session& session) {
  if (error.errors.empty()) return session.fail(error);
  FileFaults faults;
  for (const sdk::FieldError& fault : error.errors) {
    faults.push_back({lines.of(fault.where), fault.where + ": " + fault.detail});
  }
  print_faults(path, faults);
  session.fail(exit_code_of(error), error.message + "; nothing was changed");
}

void fail_on_file(std::string_view path, const FileFaults& faults, Session& session) {
  print_faults(path, faults);
  session.fail(kUsage, fmt::format("{} {}; nothing was changed", faults.size(),
                                   faults.size() == 1 ? "fault" : "faults"));
}

}  // namespace millrace::cli
