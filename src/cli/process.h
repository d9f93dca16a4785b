// Running a job's command: payload in, output and error lines out, stopped with its whole process
// group.
#pragma once

#include <chrono>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/result.h"

namespace millrace::cli {

struct Command {
  std::vector<std::string> words;  // program, found by PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  // besides our own
  std::string input;
  std::size_t max_output = 0;  // of standard output; what comes after is read and dropped
  std::function<void(std::string_view line)> on_error_line;
};

struct CommandEnd {
  int exit_status = 0;
  int signal = 0;  // that killed it, or 0
  std::string output;
  bool is_output_cut = false;
  std::string error_tail;  // the end of standard error
  bool was_stopped = false;
};

// How a command is made to stop: `now` kills at once, else SIGTERM comes first and SIGKILL after
// `grace`.
struct StopPolicy {
  std::stop_token stop;
  std::chrono::milliseconds grace;
  std::function<bool()> now;
};

// Until the command's process has ended. An error: it could not be started.
Result<CommandEnd> run_command(const Command& command, const StopPolicy& policy);

// The file that would be run for `program`; empty where there is none.
std::string find_program(const std::string& program);

}  // namespace millrace::cli
