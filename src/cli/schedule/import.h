// What the imports make of the lines of other programs.
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

// The server takes no larger payload of a schedule.
constexpr std::size_t kMaxSchedulePayload = 64 << 10;

// What holds of all lines of an import.
struct ImportDefaults {
  std::string timezone{};  // of lines that have none
  std::string queue{};
  std::string type{};
  std::string prefix{};         // of each name
  sdk::NewSchedule schedule{};  // its policies, and max_attempts of its job
};

struct Imported {
  std::size_t line = 0;
  std::string name{};
  sdk::NewSchedule schedule{};
  std::string what{};  // for people: the command, or the type
};

// Of the system's crontab, each user's commands go to a queue of their own: "QUEUE.USER".
std::expected<std::vector<Imported>, FileFaults> import_crontab(
    const std::vector<CrontabEntry>& entries, const ImportDefaults& defaults);
std::expected<std::vector<Imported>, FileFaults> import_list(
    const std::vector<ForeignEntry>& entries, const ImportDefaults& defaults);

// The set that they make, without its owner.
sdk::ScheduleSet set_of(const std::vector<Imported>& imported);
Lines lines_of(const std::vector<Imported>& imported);
std::string import_table(const std::vector<Imported>& imported, std::size_t width);

// "crontab:FILE", in the characters and the length that an owner may have; of standard input
// ("-") the kind alone.
std::string owner_of(std::string_view kind, std::string_view path);

}  // namespace millrace::cli
