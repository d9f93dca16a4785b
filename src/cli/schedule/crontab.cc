#include "cli/schedule/crontab.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "api/text.h"
#include "base/ascii.h"
#include "base/utf8.h"
#include "calendar/cron_parser.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kFields = 5;
constexpr std::size_t kMaxUserBytes = 32;  // useradd(8)

// cron's synonyms.
constexpr std::array<std::pair<std::string_view, std::string_view>, 2> kOtherNames{
    {{"@annually", "@yearly"}, {"@midnight", "@daily"}}};

bool is_blank(char c) { return c == ' ' || c == '\t'; }

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return text;
}

void skip_blanks(std::string_view& rest) {
  rest.remove_prefix(std::min(rest.find_first_not_of(" \t"), rest.size()));
}

// Takes the next word off the front of `rest`, with the blanks on both sides of it.
std::string_view take_word(std::string_view& rest) {
  skip_blanks(rest);
  const std::size_t end = std::min(rest.find_first_of(" \t"), rest.size());
  const std::string_view word = rest.substr(0, end);
  rest.remove_prefix(end);
  skip_blanks(rest);
  return word;
}

// Removes a pair of quotes of either kind.
std::string_view without_quotes(std::string_view text) {
  const bool is_quoted = text.size() >= 2 && (text.front() == '"' || text.front() == '\'') &&
                         text.back() == text.front();
  return is_quoted ? text.substr(1, text.size() - 2) : text;
}

bool is_variable_name(std::string_view text) {
  if (text.empty() || is_digit(text.front())) return false;
  return std::ranges::all_of(text, [](char c) { return is_alphanumeric(c) || c == '_'; });
}

bool is_user_name(std::string_view text) {
  if (text.empty() || text.size() > kMaxUserBytes || is_digit(text.front())) return false;
  return std::ranges::all_of(
      text, [](char c) { return is_alphanumeric(c) || c == '_' || c == '-' || c == '.'; });
}

// Splits a command at its first unescaped %, as cron does: the rest is standard input, in which
// each % ends a line. A backslash before a % is removed.
void split_input(std::string_view text, CrontabEntry& entry) {
  std::string* out = &entry.command;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool escapes = text[i] == '\\' && i + 1 < text.size();
    if (escapes && text[i + 1] == '%') {
      *out += text[++i];
    } else if (escapes && text[i + 1] == '\\' && out == &entry.command) {
      *out += text.substr(i++, 2);
    } else if (text[i] != '%') {
      *out += text[i];
    } else if (out == &entry.command) {
      out = &entry.input.emplace();
    } else {
      *out += '\n';
    }
  }
  if (entry.input && !entry.input->empty() && !entry.input->ends_with('\n')) *entry.input += '\n';
}

class Parser {
 public:
  explicit Parser(CrontabForm form) : form_(form) {}

  void parse(std::string_view text) {
    if (text.size() > kMaxCrontabBytes) {
      crontab.faults.push_back({0, fmt::format("a crontab has at most {} bytes; this one has {}",
                                               kMaxCrontabBytes, text.size())});
      return;
    }
    while (!text.empty()) {
      const std::size_t end = std::min(text.find('\n'), text.size());
      ++line_;
      parse_line(text.substr(0, end));
      text.remove_prefix(std::min(end + 1, text.size()));
    }
  }

  Crontab crontab;

 private:
  void parse_line(std::string_view line) {
    if (line.ends_with('\r')) line.remove_suffix(1);
    skip_blanks(line);
    if (line.empty() || line.front() == '#') return;
    if (line.size() > kMaxCrontabLineBytes) {
      return fail(
          fmt::format("{} bytes: a line has at most {}", line.size(), kMaxCrontabLineBytes));
    }
    if (line.find('\0') != std::string_view::npos || !is_utf8(line)) {
      return fail("the line is no text in UTF-8");
    }
    if (!parse_variable(line)) parse_entry(line);
  }

  // False: the line is not NAME=VALUE.
  bool parse_variable(std::string_view line) {
    const std::size_t equals = line.find('=');
    if (equals == std::string_view::npos) return false;
    const std::string_view name = without_quotes(without_blanks(line.substr(0, equals)));
    if (!is_variable_name(name)) return false;
    set_variable(name, without_quotes(without_blanks(line.substr(equals + 1))));
    return true;
  }

  void set_variable(std::string_view name, std::string_view value) {
    if (name == "CRON_TZ") {
      timezone_ = value;
      return;
    }
    if (name == "SHELL") {
      if (!value.starts_with('/')) return fail("SHELL must be the path of a program, from /");
      shell_ = value;
      return;
    }
    if (name == "MAILTO" || name == "MAILFROM") {
      if (!value.empty())
        note(fmt::format(
            "{}: a job sends no mail; it keeps the output of its command as its result and its log",
            name));
      return;
    }
    if (name == "RANDOM_DELAY") {
      return note("the import ignores RANDOM_DELAY; use --jitter to delay instants");
    }
    if (name == "TZ")
      note("TZ applies only to the commands; use CRON_TZ to name the time zone of the lines");
    const auto known =
        std::ranges::find(environment_, name, &std::pair<std::string, std::string>::first);
    if (known != environment_.end()) {
      known->second = value;
    } else if (environment_.size() == kMaxCrontabVariables) {
      fail(fmt::format("more than {} variables", kMaxCrontabVariables));
    } else {
      environment_.emplace_back(name, value);
    }
  }

  void parse_entry(std::string_view line) {
    CrontabEntry entry{.line = line_,
                       .cron = {},
                       .timezone = timezone_,
                       .user = {},
                       .shell = shell_,
                       .command = {},
                       .input = {},
                       .environment = environment_};
    std::string_view rest = line;
    if (!take_time(rest, entry.cron)) return;
    if (form_ == CrontabForm::kSystem) {
      entry.user = take_word(rest);
      if (!is_user_name(entry.user)) {
        return fail(
            fmt::format("{} is no name of a user; a line of the system's crontab has the "
                        "user before the command",
                        api::single_quoted(entry.user)));
      }
    }
    split_input(rest, entry);
    if (without_blanks(entry.command).empty()) {
      return fail(form_ == CrontabForm::kSystem ? "the command is missing behind the user"
                                                : "the command is missing behind the time");
    }
    crontab.entries.push_back(std::move(entry));
  }

  // False: a fault was noted.
  bool take_time(std::string_view& rest, std::string& cron) {
    if (rest.front() == '@') {
      cron = lowered(take_word(rest));
      for (const auto& [other, ours] : kOtherNames) {
        if (cron == other) cron = ours;
      }
      if (cron == "@reboot") {
        fail(
            "@reboot is no time, so it can't become a schedule; let a unit of systemd, or cron "
            "itself, run this command");
        return false;
      }
    } else {
      for (std::size_t i = 0; i < kFields; ++i) {
        const std::string_view field = take_word(rest);
        if (field.empty()) {
          fail(
              "a line must be five fields (minute, hour, day of month, month, day of week) or a "
              "name such as @daily, then the command; or NAME=VALUE; or # and a comment");
          return false;
        }
        cron += (i > 0 ? " " : "") + std::string(field);
      }
    }
    const auto parsed = calendar::parse_cron(cron);
    if (!parsed) fail(parsed.error().message);
    return parsed.has_value();
  }

  void fail(std::string message) { crontab.faults.push_back({line_, std::move(message)}); }
  void note(std::string message) { crontab.notes.push_back({line_, std::move(message)}); }

  const CrontabForm form_;
  std::size_t line_ = 0;
  std::string timezone_;
  std::string shell_;
  std::vector<std::pair<std::string, std::string>> environment_;
};

}  // namespace

Crontab parse_crontab(std::string_view text, CrontabForm form) {
  Parser parser(form);
  parser.parse(text);
  return std::move(parser.crontab);
}

std::string program_of(std::string_view command) {
  // Skips assignments before the program, as in LANG=C sort, and leading changes of the folder.
  std::string_view word;
  for (std::string_view rest = command; !rest.empty();) {
    word = take_word(rest);
    const std::size_t equals = word.find('=');
    const bool is_assignment =
        equals != std::string_view::npos && is_variable_name(word.substr(0, equals));
    if (word == "cd" && !rest.empty()) {
      const std::size_t next = std::min(rest.find("&&"), rest.find(';'));
      if (next == std::string_view::npos) break;
      rest = rest.substr(next + (rest[next] == ';' ? 1 : 2));
    } else if (!is_assignment) {
      break;
    }
  }
  std::string name;
  for (const char c : word.substr(word.rfind('/') + 1)) {
    const bool may = is_alphanumeric(c) || c == '.' || c == '_' || c == '-';
    if (may) name += c;
  }
  return name.empty() ? "command" : name.substr(0, 64);
}

}  // namespace millrace::cli
