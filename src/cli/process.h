// Runs a job's command: passes the payload in, collects output and error lines, and delivers a stop
// to the whole process group.
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
// Raises this process's soft limit to `wanted`, as far as permitted, if it is lower. Returns the
// former limits if it changed them.
std::optional<OpenFiles> allow_open_files(std::size_t wanted);

// The open files that a running command needs, and the additional ones while it is being started.
constexpr std::size_t kFilesPerCommand = 5;
constexpr std::size_t kFilesToStart = 3;

struct Command {
  std::vector<std::string> words;  // a program, found by PATH, and its arguments
  std::vector<std::pair<std::string, std::string>> environment;  // in addition to our own
  std::string input;
  std::size_t max_output = 0;  // of standard output; the rest is read and dropped
  std::function<void(std::string_view line)> on_error_line;
  // The command's limits, if they differ from this process's. They are set just after its start: a
  // command that checks immediately may still see this process's limits, and one that runs as
  // another user keeps them.
  std::optional<OpenFiles> open_files{};
};

struct CommandEnd {
  int exit_status = 0;
  int signal = 0;  // the signal that killed it, or 0
  std::string output;
  bool is_output_cut = false;
  std::string error_tail;  // the end of standard error
  bool was_stopped = false;
};

// How to stop a command: `now` kills at once; otherwise SIGTERM comes first, and SIGKILL after
// `grace`.
struct StopPolicy {
  std::stop_token stop;
  std::chrono::milliseconds grace;
  std::function<bool()> now;
};

struct StartError {
  std::string message;
  bool is_shortage = false;  // of files, processes or memory; it may be over soon
};

// Returns when the command's process has ended. An error means that it could not be started.
std::expected<CommandEnd, StartError> run_command(const Command& command, const StopPolicy& policy);

// The file that would be run for `program`; empty if there is none.
std::string find_program(const std::string& program);

}  // namespace millrace::cli
