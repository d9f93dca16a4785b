// Jobs whose payload holds the command to run: made by `schedule import crontab`, run by `millrace
// work --shell`.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace millrace::cli {

constexpr std::size_t kMaxShellVariables = 100;

// As JSON: {"command", "shell"?, "input"?, "environment"?: {name: value}}.
struct ShellJob {
  std::string command{};
  std::string shell = "/bin/sh";
  std::string input{};  // standard input
  std::vector<std::pair<std::string, std::string>> environment{};

  bool operator==(const ShellJob&) const = default;
};

std::string shell_payload(const ShellJob& job);
// The error names the payload's fault.
Result<ShellJob> parse_shell_payload(std::string_view payload);

// The argument vector that runs the job in the user's home folder, if there is one, as cron does.
std::vector<std::string> shell_words(const ShellJob& job);

}  // namespace millrace::cli
