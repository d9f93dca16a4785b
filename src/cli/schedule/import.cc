#include "cli/schedule/import.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "api/bounds.h"
#include "api/text.h"
#include "base/time.h"
#include "cli/output.h"
#include "cli/schedule/set_file.h"
#include "cli/shell_job.h"

namespace millrace::cli {
namespace {

static_assert(kMaxCrontabVariables <= kMaxShellVariables);

using Faults = std::expected<std::vector<Imported>, FileFaults>;

// Checks here what the server would reject, since the server's error has the name but not the line.
void check(const Imported& one, FileFaults& faults) {
  const auto fail = [&](std::string message) { faults.push_back({one.line, std::move(message)}); };
  if (!api::is_name(one.name)) {
    fail(fmt::format("a schedule's name {}; {} does not fit", api::kNameRule,
                     api::single_quoted(one.name)));
  }
  if (!one.schedule.job.queue.empty() && !api::is_name(one.schedule.job.queue)) {
    fail(fmt::format("a queue's name {}; {} does not fit", api::kNameRule,
                     api::single_quoted(one.schedule.job.queue)));
  }
  if (one.schedule.job.payload.size() > kMaxSchedulePayload) {
    fail(fmt::format("the payload has {} bytes, a schedule's at most {}",
                     one.schedule.job.payload.size(), kMaxSchedulePayload));
  }
}

Faults checked(std::vector<Imported> imported) {
  FileFaults faults;
  for (const Imported& one : imported) check(one, faults);
  if (imported.size() > kMaxSetSchedules) {
    faults.push_back(
        {0, fmt::format("{} schedules: a set has at most {}", imported.size(), kMaxSetSchedules)});
  }
  if (!faults.empty()) return std::unexpected(std::move(faults));
  return imported;
}

std::string rule_of(const sdk::NewSchedule& schedule) {
  return schedule.every ? "every " + format_duration(*schedule.every) : schedule.cron;
}

// A program's second line is "name-2". Other programs' lines do not affect the number.
class Names {
 public:
  std::string next(const std::string& wanted) {
    // Continues from the last number, so that many lines of one program do not take quadratic time.
    std::size_t& n = last_[wanted];
    std::string name;
    do {
      name = ++n == 1 ? wanted : fmt::format("{}-{}", wanted, n);
    } while (!taken_.insert(name).second);
    return name;
  }

 private:
  std::map<std::string, std::size_t, std::less<>> last_;
  std::set<std::string, std::less<>> taken_;
};

}  // namespace

std::expected<std::vector<Imported>, FileFaults> import_crontab(
    const std::vector<CrontabEntry>& entries, const ImportDefaults& defaults) {
  std::vector<Imported> imported;
  Names names;
  for (const CrontabEntry& entry : entries) {
    ShellJob job{.command = entry.command,
                 .input = entry.input.value_or(""),
                 .environment = entry.environment};
    if (!entry.shell.empty()) job.shell = entry.shell;
    Imported one{.line = entry.line,
                 .name = names.next(defaults.prefix + program_of(entry.command)),
                 .schedule = defaults.schedule,
                 .what = entry.command};
    one.schedule.cron = entry.cron;
    one.schedule.timezone = entry.timezone.empty() ? defaults.timezone : entry.timezone;
    one.schedule.job.type = defaults.type;
    one.schedule.job.queue =
        entry.user.empty() ? defaults.queue : fmt::format("{}.{}", defaults.queue, entry.user);
    one.schedule.job.payload = shell_payload(job);
    imported.push_back(std::move(one));
  }
  return checked(std::move(imported));
}

std::expected<std::vector<Imported>, FileFaults> import_list(
    const std::vector<ForeignEntry>& entries, const ImportDefaults& defaults) {
  std::vector<Imported> imported;
  for (const ForeignEntry& entry : entries) {
    Imported one{.line = entry.line,
                 .name = defaults.prefix + entry.name,
                 .schedule = entry.schedule,
                 .what = entry.schedule.job.type};
    sdk::NewSchedule& schedule = one.schedule;
    if (schedule.timezone.empty() && !schedule.every) schedule.timezone = defaults.timezone;
    if (schedule.job.queue.empty()) schedule.job.queue = defaults.queue;
    if (!schedule.job.max_attempts) schedule.job.max_attempts = defaults.schedule.job.max_attempts;
    schedule.overlap = defaults.schedule.overlap;
    schedule.missed = defaults.schedule.missed;
    schedule.missed_limit = defaults.schedule.missed_limit;
    schedule.jitter = defaults.schedule.jitter;
    imported.push_back(std::move(one));
  }
  return checked(std::move(imported));
}

sdk::ScheduleSet set_of(const std::vector<Imported>& imported) {
  sdk::ScheduleSet set;
  for (const Imported& one : imported) set.schedules.emplace_back(one.name, to_json(one.schedule));
  return set;
}

Lines lines_of(const std::vector<Imported>& imported) {
  Lines lines;
  for (const Imported& one : imported) lines.add(join_pointer("/schedules", one.name), one.line);
  return lines;
}

std::string import_table(const std::vector<Imported>& imported, std::size_t width) {
  Table table({{"LINE", Align::kRight},
               {.title = "NAME", .least = 12},
               {.title = "RULE", .least = 12},
               {.title = "ZONE", .least = 6},
               {.title = "QUEUE", .least = 8},
               {.title = "WHAT", .least = 0}});
  for (const Imported& one : imported) {
    const sdk::NewSchedule& schedule = one.schedule;
    table.add({std::to_string(one.line), printable(one.name), printable(rule_of(schedule)),
               schedule.timezone.empty() ? "-" : printable(schedule.timezone),
               schedule.job.queue.empty() ? "default" : printable(schedule.job.queue),
               printable(one.what)});
  }
  return table.text(width);
}

std::string owner_of(std::string_view kind, std::string_view path) {
  std::string owner(kind);
  if (path == "-") return owner;
  owner += ':';
  for (const char c : path) owner += api::is_name_character(c) ? c : '-';
  // For a long path, the end says more.
  if (owner.size() > api::kMaxNameBytes) {
    const std::size_t head = kind.size() + 1;
    owner.erase(head, owner.size() - api::kMaxNameBytes);
  }
  return owner;
}

}  // namespace millrace::cli
