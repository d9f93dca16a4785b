// Files written by people, converted to JSON: a TOML or JSON document, and the line of each member.
#pragma once

#include <cstddef>
#include <cstdint>
#include <expected>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/file.h"
#include "base/result.h"

namespace millrace::cli {

struct FileFault {
  std::size_t line = 0;  // from 1; 0: the whole file
  std::string message;
};
using FileFaults = std::vector<FileFault>;

// Lines by JSON Pointer.
class Lines {
 public:
  void add(std::string pointer, std::size_t line) { lines_.emplace(std::move(pointer), line); }
  // The line of the member, or of the nearest one around it; 0 if unknown.
  std::size_t of(std::string_view pointer) const;

 private:
  std::map<std::string, std::size_t, std::less<>> lines_;
};
// "/a/b" and "c/d" make "/a/b/c~1d".
std::string join_pointer(std::string_view pointer, std::string_view name);

struct Document {
  std::string json;  // validated; always an object or array
  Lines lines;       // of objects' members, up to kMaxLineDepth deep
};
constexpr std::size_t kMaxLineDepth = 4;  // schedules, a name, job, queue

enum class FileFormat : std::uint8_t { kJson, kToml };
// By the name's extension, .json or .toml, else by the first character.
FileFormat format_of(std::string_view path, std::string_view content);

std::expected<Document, FileFaults> read_document(std::string_view content, FileFormat format);

// "-" is standard input. Fails if the file has more than `max_bytes`.
Result<std::string> read_whole_file(const std::string& path, std::size_t max_bytes = kMaxFileBytes);

// Prints "FILE:LINE: message" for the first faults, but not for hundreds; `path` "-" is called
// standard input.
void print_faults(std::string_view path, const FileFaults& faults);

}  // namespace millrace::cli
