#include "api/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/text.h"
#include "base/ascii.h"
#include "base/utf8.h"

namespace millrace::api {
namespace {

constexpr std::size_t kMaxParameterNameBytes = 128;  // of a parameter named in a fault

void add_fault(std::vector<FieldError>& faults, std::string_view name, std::string detail) {
  if (faults.size() == kMaxFieldErrors) return;
  faults.push_back({FieldError::Place::kParameter,
                    std::string(cut_utf8(name, kMaxParameterNameBytes)), std::move(detail)});
}

}  // namespace

void Argument::fault(std::string detail) const { add_fault(faults, name, std::move(detail)); }

Arguments split_query(std::string_view query_string, std::vector<FieldError>& faults) {
  Arguments arguments;
  while (!query_string.empty()) {
    const std::size_t end = std::min(query_string.find('&'), query_string.size());
    const std::string_view pair = query_string.substr(0, end);
    query_string.remove_prefix(std::min(end + 1, query_string.size()));
    if (pair.empty()) continue;
    const std::size_t equals = std::min(pair.find('='), pair.size());
    auto name = percent_decode(pair.substr(0, equals), PlusSign::kSpace);
    auto value = percent_decode(pair.substr(std::min(equals + 1, pair.size())), PlusSign::kSpace);
    if (name && value && value->find('\0') == std::string::npos) {
      arguments.emplace_back(std::move(*name), std::move(*value));
    } else {
      add_fault(faults, name ? *name : "?", "must be percent-encoded UTF-8 without U+0000");
    }
  }
  return arguments;
}

std::string unknown_parameter(std::string_view name, std::span<const std::string_view> known) {
  const std::string_view meant = nearest(name, known);
  if (meant.empty()) return "unknown parameter";
  return fmt::format("unknown parameter; did you mean '{}'?", meant);
}

Problem parameter_problem(std::vector<FieldError> faults) {
  Problem problem;
  problem.code = ProblemCode::kValidationFailed;
  problem.detail = describe_faults(faults.size());
  problem.errors = std::move(faults);
  return problem;
}

bool take_integer(const Argument& argument, std::int64_t min, std::int64_t max, std::int64_t& out) {
  std::int64_t value = 0;
  const std::string_view text = argument.value;
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool is_whole = parsed.ptr == text.data() + text.size();
  if (parsed.ec == std::errc::invalid_argument || !is_whole) {
    argument.fault("must be an integer");
    return false;
  }
  if (parsed.ec != std::errc() || value < min || value > max) {
    argument.fault(fmt::format("must be {} to {}", min, max));
    return false;
  }
  out = value;
  return true;
}

bool take_duration(const Argument& argument, std::int64_t min_ms, std::int64_t max_ms,
                   Duration& out) {
  std::int64_t ms = 0;
  if (!take_integer(argument, min_ms, max_ms, ms)) return false;
  out = Duration{ms};
  return true;
}

bool take_time(const Argument& argument, std::optional<Time>& out) {
  out = parse_rfc3339(argument.value);
  if (!out) argument.fault(std::string(kTimeRule));
  return out.has_value();
}

bool take_boolean(const Argument& argument, bool& out) {
  if (argument.value != "true" && argument.value != "false") {
    argument.fault("must be true or false");
    return false;
  }
  out = argument.value == "true";
  return true;
}

bool take_name(const Argument& argument, std::string& out) {
  if (!is_name(argument.value)) {
    argument.fault(std::string(kNameRule));
    return false;
  }
  out = argument.value;
  return true;
}

bool take_cursor(const Argument& argument, std::string& out) {
  if (argument.value.size() > kMaxCursorBytes ||
      !std::ranges::all_of(argument.value, is_unreserved)) {
    argument.fault("is not a cursor of this server; start again without a cursor");
    return false;
  }
  out = argument.value;
  return true;
}

}  // namespace millrace::api
