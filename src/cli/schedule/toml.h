// Converts TOML to JSON.
#pragma once

#include <expected>
#include <string_view>

#include "cli/schedule/document.h"

namespace millrace::cli {

// A date-time with an offset becomes RFC 3339 text. Faults are invalid TOML and values that JSON
// can't hold: a date or time without an offset, infinity, NaN.
std::expected<Document, FileFaults> read_toml(std::string_view content);

}  // namespace millrace::cli
