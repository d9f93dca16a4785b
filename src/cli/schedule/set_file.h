// A set of schedules in a TOML or JSON file: the body of PUT /v1/schedules.
#pragma once

#include <expected>
#include <optional>
#include <string>
#include <string_view>

#include "cli/schedule/document.h"
#include "millrace/schedule.h"

namespace millrace::cli {

constexpr std::size_t kMaxSetSchedules = 10'000;  // the server's limit for one set

struct SetFile {
  sdk::ScheduleSet set;  // managed_by may be empty
  Lines lines;           // by JSON pointers into the body
};

std::expected<SetFile, FileFaults> read_set_file(std::string_view content, FileFormat format);

// Any object.
std::expected<Document, FileFaults> read_object_file(std::string_view content, FileFormat format);

// A single specification, the body of PUT /v1/schedules/{name}.
std::expected<Document, FileFaults> read_specification_file(std::string_view content,
                                                            FileFormat format);

}  // namespace millrace::cli
