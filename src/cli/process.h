// Running a job's command: payload in, output and error lines out, stopped with its whole process
// group.
#pragma once

#include <chrono>
#include <cstdint>
#include <expected>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace millrace::cli {

// A process's limits on open files.
struct OpenFiles {
  std::uint64_t soft = 0;
  std::uint64_t hard = 0;
};
// Raises ours to `wanted`, as far as it may be, if it is lower. What it was before, if so.
std::optional<OpenFiles> allow_open_files(std::size_t wanted);

// What one command that runs needs of them, and what it needs more while it is being started.
constexpr std::size_t kFilesPerCommand = 5;
constexpr std::size_t kFilesToStart = 3;

struct Command {
  std::vector<std::string> words;  // program, found by PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  // besides our own
  std::string input;
  std::size_t max_output = 0;  // of standard output; what comes after is read and dropped
  std::function<void(std::string_view line)> on_error_line;
  // Where it is to have others than we. Set when it has just begun: one that looks at once may
  // still find ours, and one that runs as another user keeps them.
  std::optional<OpenFiles> open_files{};
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

struct StartError {
  std::string message;
  bool is_shortage = false;  // of files, processes or memory: it may work in a moment
};

// Until the command's process has ended. An error: it could not be started.
std::expected<CommandEnd, StartError> run_command(const Command& command, const StopPolicy& policy);

// The file that would be run for `program`; empty where there is none.
std::string find_program(const std::string& program);

}  // namespace millrace::cli
