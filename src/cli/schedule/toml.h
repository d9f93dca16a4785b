// TOML as JSON.
#pragma once

#include <expected>
#include <string_view>

#include "cli/schedule/document.h"

namespace millrace::cli {

// A date with time and offset becomes text in RFC 3339. Faults: what is no TOML, and what JSON
// can't hold: a date or time without an offset, infinity, no number.
std::expected<Document, FileFaults> read_toml(std::string_view content);

}  // namespace millrace::cli
