#include "cli/shell_job.h"

#include <fmt/format.h>

#include "base/json_cursor.h"
#include "cli/schedule/json_members.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kDefaultShell = "/bin/sh";
// $0 is the shell, $1 the command. Without HOME, the folder does not change.
constexpr const char* kInHome = R"(cd >/dev/null 2>&1; exec "$0" -c "$1")";

bool has_nul(std::string_view text) { return text.find('\0') != std::string_view::npos; }

class Reader {
 public:
  void read(JsonCursor object) {
    for_each_member(object, [this](const std::string& name, JsonCursor value) {
      if (name == "command") {
        read_text(name, value, job.command);
      } else if (name == "shell") {
        read_text(name, value, job.shell);
      } else if (name == "input") {
        if (value.type() != JsonType::kString) return fail("input must be a string");
        job.input = text_at(value);
      } else if (name == "environment") {
        read_environment(value);
      } else {
        fail(
            "the payload has an unknown member; the members are command, shell, input, "
            "environment");
      }
    });
    if (job.command.empty()) fail("command is missing");
  }

  ShellJob job;
  std::string fault;  // the first one

 private:
  // Reads text that is passed to a process.
  void read_text(const std::string& name, JsonCursor value, std::string& out) {
    if (value.type() == JsonType::kString) out = text_at(value);
    if (value.type() != JsonType::kString || out.empty() || has_nul(out)) {
      fail(name + " must be a string that is not empty");
    }
  }

  void read_environment(JsonCursor value) {
    if (value.type() != JsonType::kObject) return fail("environment must be an object");
    for_each_member(value, [this](const std::string& name, JsonCursor content) {
      const bool is_text = content.type() == JsonType::kString;
      const std::string text = is_text ? text_at(content) : "";
      if (!is_text || has_nul(text) || name.empty() || has_nul(name) ||
          name.find('=') != std::string::npos) {
        return fail("environment must map names to strings");
      }
      job.environment.emplace_back(name, text);
    });
    if (job.environment.size() > kMaxShellVariables) {
      fail(fmt::format("environment has more than {} variables", kMaxShellVariables));
    }
  }

  void fail(std::string what) {
    if (fault.empty()) fault = std::move(what);
  }
};

}  // namespace

std::string shell_payload(const ShellJob& job) {
  sdk::JsonWriter json;
  json.begin_object().key("command").string(job.command);
  if (job.shell != kDefaultShell) json.key("shell").string(job.shell);
  if (!job.input.empty()) json.key("input").string(job.input);
  if (!job.environment.empty()) {
    json.key("environment").begin_object();
    for (const auto& [name, value] : job.environment) json.key(name).string(value);
    json.end_object();
  }
  json.end_object();
  return json.take();
}

Result<ShellJob> parse_shell_payload(std::string_view payload) {
  constexpr std::string_view kExpected =
      R"(`work --shell` needs a payload such as {"command": "..."})";
  if (!sdk::is_json(payload) || JsonCursor(payload).type() != JsonType::kObject) {
    return failure(std::string(kExpected));
  }
  Reader reader;
  reader.read(JsonCursor(payload));
  if (!reader.fault.empty()) return failure(fmt::format("{}: {}", kExpected, reader.fault));
  return std::move(reader.job);
}

std::vector<std::string> shell_words(const ShellJob& job) {
  return {std::string(kDefaultShell), "-c", kInHome, job.shell, job.command};
}

}  // namespace millrace::cli
