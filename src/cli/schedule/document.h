// Files that people write, as JSON: a document in TOML or JSON, and the line of each of its
// members.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace millrace::cli {

// The server takes no longer body, unless its operator says so.
constexpr std::size_t kMaxFileBytes = std::size_t{16} << 20;

struct FileFault {
  std::size_t line = 0;  // from 1; 0: of the whole file
  std::string message;
};
using FileFaults = std::vector<FileFault>;

// Lines by JSON Pointer.
class Lines {
 public:
  void add(std::string pointer, std::size_t line) { lines_.emplace(std::move(pointer), line); }
  // Of the member, or of the nearest one around it; 0: it is not known.
  std::size_t of(std::string_view pointer) const;

 private:
  std::map<std::string, std::size_t, std::less<>> lines_;
};
// "/a/b" and "c/d" make "/a/b/c~1d".
std::string join_pointer(std::string_view pointer, std::string_view name);

struct Document {
  std::string json;  // checked, and an object or array; never anything else
  Lines lines;       // of members of objects, kMaxLineDepth deep
};
constexpr std::size_t kMaxLineDepth = 4;  // schedules, a name, job, queue

enum class FileFormat : std::uint8_t { kJson, kToml };
// By the name's end, .json or .toml, else by what it begins with.
FileFormat format_of(std::string_view path, std::string_view content);

std::expected<Document, FileFaults> read_document(std::string_view content, FileFormat format);

// "-" is standard input. An error if it has more than `max_bytes`.
Result<std::string> read_whole_file(const std::string& path, std::size_t max_bytes = kMaxFileBytes);

// Prints "FILE:LINE: message" for each, but not for hundreds; `path` "-" is called standard input.
void print_faults(std::string_view path, const FileFaults& faults);

}  // namespace millrace::cli
