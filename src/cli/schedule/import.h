// Converts other programs' lines to schedules.
#pragma once

#include <expected>
#include <string>
#include <string_view>
#include <vector>

#include "cli/schedule/crontab.h"
#include "cli/schedule/document.h"
#include "cli/schedule/foreign_list.h"
#include "millrace/schedule.h"

namespace millrace::cli {

// The server's limit on a schedule's payload.
constexpr std::size_t kMaxSchedulePayload = 64 << 10;

// Settings for all lines of an import.
struct ImportDefaults {
  std::string timezone{};  // for lines that have none
  std::string queue{};
  std::string type{};
  std::string prefix{};         // of every name
  sdk::NewSchedule schedule{};  // its policies, and its job's max_attempts
};

struct Imported {
  std::size_t line = 0;
  std::string name{};
  sdk::NewSchedule schedule{};
  std::string what{};  // for people: the command, or the type
};

// In the system's crontab, each user's commands go to a separate queue: "QUEUE.USER".
std::expected<std::vector<Imported>, FileFaults> import_crontab(
    const std::vector<CrontabEntry>& entries, const ImportDefaults& defaults);
std::expected<std::vector<Imported>, FileFaults> import_list(
    const std::vector<ForeignEntry>& entries, const ImportDefaults& defaults);

// The set of these schedules, without its owner.
sdk::ScheduleSet set_of(const std::vector<Imported>& imported);
Lines lines_of(const std::vector<Imported>& imported);
std::string import_table(const std::vector<Imported>& imported, std::size_t width);

// "crontab:FILE", reduced to the characters and length that an owner may have. For standard input
// ("-") only the kind.
std::string owner_of(std::string_view kind, std::string_view path);

}  // namespace millrace::cli
