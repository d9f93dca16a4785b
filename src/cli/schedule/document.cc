#include "cli/schedule/document.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/json_check.h"
#include "base/json_cursor.h"
#include "cli/output.h"
#include "cli/schedule/json_members.h"
#include "cli/schedule/toml.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kMaxDepth = 60;  // of JSON; the same limit as for payloads
constexpr std::size_t kMostFaultsShown = 20;

// Counts lines up to ascending positions.
class LineCounter {
 public:
  explicit LineCounter(std::string_view text) : text_(text) {}
  std::size_t line_at(std::size_t position) {
    position = std::min(position, text_.size());
    line_ += static_cast<std::size_t>(
        std::count(text_.begin() + static_cast<std::ptrdiff_t>(at_),
                   text_.begin() + static_cast<std::ptrdiff_t>(std::max(position, at_)), '\n'));
    at_ = std::max(position, at_);
    return line_;
  }

 private:
  std::string_view text_;
  std::size_t at_ = 0;
  std::size_t line_ = 1;
};

class JsonLines {
 public:
  JsonLines(std::string_view json, Lines& lines) : json_(json), counter_(json), lines_(lines) {}

  // The cursor must be before a value.
  void add_members(JsonCursor value, const std::string& pointer, std::size_t depth) {
    if (depth == kMaxLineDepth) return;
    if (value.type() == JsonType::kObject) {
      for_each_member(value, [&](const std::string& name, JsonCursor member) {
        add(member, join_pointer(pointer, name), depth);
      });
    } else if (value.type() == JsonType::kArray) {
      std::size_t index = 0;
      for (value.enter(); value.next_element(); value.skip()) {
        add(value, join_pointer(pointer, fmt::to_string(index++)), depth);
      }
    }
  }

 private:
  void add(JsonCursor value, const std::string& pointer, std::size_t depth) {
    value.type();  // skips the white space before the value
    const auto position = static_cast<std::size_t>(value.position() - json_.data());
    lines_.add(pointer, counter_.line_at(position));
    add_members(value, pointer, depth + 1);
  }

  std::string_view json_;
  LineCounter counter_;
  Lines& lines_;
};

std::expected<Document, FileFaults> read_json(std::string_view content) {
  if (const auto fault = check_json(content, kMaxDepth, LoneSurrogates::kRefused)) {
    return std::unexpected(FileFaults{{LineCounter(content).line_at(fault->position),
                                       fmt::format("no JSON: {}", fault->reason)}});
  }
  Document document{std::string(content), {}};
  const JsonCursor root(document.json);
  if (root.type() != JsonType::kObject && root.type() != JsonType::kArray) {
    return std::unexpected(FileFaults{{1, "an object is expected here"}});
  }
  JsonLines(document.json, document.lines).add_members(root, "", 0);
  return document;
}

}  // namespace

std::size_t Lines::of(std::string_view pointer) const {
  for (;;) {
    if (const auto found = lines_.find(pointer); found != lines_.end()) return found->second;
    const std::size_t slash = pointer.rfind('/');
    if (slash == std::string_view::npos) return 0;
    pointer = pointer.substr(0, slash);
  }
}

std::string join_pointer(std::string_view pointer, std::string_view name) {
  std::string joined(pointer);
  joined += '/';
  for (const char c : name) {
    if (c == '~') {
      joined += "~0";
    } else if (c == '/') {
      joined += "~1";
    } else {
      joined += c;
    }
  }
  return joined;
}

FileFormat format_of(std::string_view path, std::string_view content) {
  if (path.ends_with(".json")) return FileFormat::kJson;
  if (path.ends_with(".toml")) return FileFormat::kToml;
  const std::size_t first = content.find_first_not_of(" \t\r\n");
  // A TOML file may begin with a table's name in brackets, so a leading bracket does not imply
  // JSON.
  if (first == std::string_view::npos || content[first] == '{') return FileFormat::kJson;
  return FileFormat::kToml;
}

std::expected<Document, FileFaults> read_document(std::string_view content, FileFormat format) {
  return format == FileFormat::kToml ? read_toml(content) : read_json(content);
}

Result<std::string> read_whole_file(const std::string& path, std::size_t max_bytes) {
  return read_file(path == "-" ? "/dev/stdin" : path, max_bytes);
}

void print_faults(std::string_view path, const FileFaults& faults) {
  const std::string_view file = path == "-" ? "standard input" : path;
  for (std::size_t i = 0; i < std::min(faults.size(), kMostFaultsShown); ++i) {
    const auto& [line, message] = faults[i];
    note(line == 0 ? fmt::format("{}: {}", file, message)
                   : fmt::format("{}:{}: {}", file, line, message));
  }
  if (faults.size() > kMostFaultsShown) {
    note(fmt::format("... and {} faults more", faults.size() - kMostFaultsShown));
  }
}

}  // namespace millrace::cli
