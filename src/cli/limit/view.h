// Limits as shown to people.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "millrace/json.h"

namespace millrace::cli {

// "20 at once", "100/1s, burst 20"; empty: no bound.
std::string bounds_text(sdk::JsonView limit);
// "########--  8/10": how much of the bound is in use; only the number if there is no bound.
std::string use_bar(std::int64_t in_use, std::optional<std::int64_t> bound);

std::string limit_table(const std::vector<sdk::JsonView>& limits, bool of_types, std::size_t width);
std::string limit_details(sdk::JsonView limit, bool of_type);
std::string key_table(const std::vector<sdk::JsonView>& keys, std::size_t width);
std::string holder_table(const std::vector<sdk::JsonView>& holders, std::size_t width);
// One reason per line, with what holds the job back.
std::string why_text(sdk::JsonView why);

// "100/s", "5/10m", "1/500ms": the number of starts per period.
struct ParsedRate {
  std::int64_t limit = 0;
  Duration per{};
};
Result<ParsedRate> parse_rate(std::string_view text);

}  // namespace millrace::cli
