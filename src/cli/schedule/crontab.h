// Reads a crontab as Debian's cron(8) does, see crontab(5). Pure: text in, lines out.
//
//     # a comment
//     CRON_TZ=Europe/Zurich               a variable, for the lines after it
//     30 2 * * MON-FRI  backup --all      minute hour day-of-month month day-of-week command
//     @daily            mail -s hi me%Hi  standard input follows the first %; each % ends a line
//
// Among the variables, CRON_TZ is the lines' time zone, SHELL runs their commands, and all others
// except those about mail are added to the commands' environment.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "cli/schedule/document.h"

namespace millrace::cli {

constexpr std::size_t kMaxCrontabBytes = std::size_t{1} << 20;
constexpr std::size_t kMaxCrontabLineBytes = 8'192;
constexpr std::size_t kMaxCrontabVariables = 100;

// A line of the crontab that runs a command.
struct CrontabEntry {
  std::size_t line = 0;
  std::string cron{};      // an expression as in schedules
  std::string timezone{};  // empty: the machine's zone
  std::string user{};      // only in the system's crontab
  std::string shell{};     // empty: /bin/sh
  std::string command{};   // with \% converted to %
  std::optional<std::string> input{};
  std::vector<std::pair<std::string, std::string>> environment{};

  bool operator==(const CrontabEntry&) const = default;
};

struct Crontab {
  std::vector<CrontabEntry> entries;
  FileFaults faults;  // lines that can't become schedules
  FileFaults notes;   // parts that are ignored although they are valid
};

// kSystem: /etc/crontab and /etc/cron.d name a user before the command.
enum class CrontabForm : std::uint8_t { kUser, kSystem };

Crontab parse_crontab(std::string_view text, CrontabForm form);

// The program that a command runs, to name a schedule after. "/opt/a.sh -x" gives "a.sh".
std::string program_of(std::string_view command);

}  // namespace millrace::cli
