#include "cli/check/thresholds.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <utility>

#include "base/time.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

// The least of what is worst counts: critical, then warning; what is unknown is worse than a
// warning and less than critical.
int rank(CheckState state) {
  switch (state) {
    case CheckState::kOk:
      return 0;
    case CheckState::kWarning:
      return 1;
    case CheckState::kUnknown:
      return 2;
    case CheckState::kCritical:
      return 3;
  }
  return 0;
}

std::string number(double value) { return fmt::format("{:.10g}", value); }

Result<std::optional<double>> parse_one(std::string_view text, bool duration) {
  if (text.empty()) return std::nullopt;
  if (duration) {
    const auto length = parse_duration(text);
    if (!length) return failure(fmt::format("\"{}\" is not a duration such as 10s or 5m", text));
    return std::chrono::duration<double>(*length).count();
  }
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value < 0) {
    return failure(fmt::format("\"{}\" is not a number", text));
  }
  return value;
}

}  // namespace

std::string_view name_of(CheckState state) {
  switch (state) {
    case CheckState::kOk:
      return "OK";
    case CheckState::kWarning:
      return "WARNING";
    case CheckState::kCritical:
      return "CRITICAL";
    case CheckState::kUnknown:
      return "UNKNOWN";
  }
  return "";
}

Result<Thresholds> parse_thresholds(std::string_view text, bool durations) {
  const std::size_t colon = text.find(':');
  if (colon == std::string_view::npos || text.size() == 1) {
    return failure(fmt::format("\"{}\" is not of the form WARNING:CRITICAL", text));
  }
  const auto warning = parse_one(text.substr(0, colon), durations);
  if (!warning) return std::unexpected(warning.error());
  const auto critical = parse_one(text.substr(colon + 1), durations);
  if (!critical) return std::unexpected(critical.error());
  return Thresholds{*warning, *critical};
}

void CheckAnswer::add(Measure measure, CheckState state, std::string text) {
  measures_.push_back(std::move(measure));
  say(state, std::move(text));
}

void CheckAnswer::measure(std::string_view name, double value, std::string_view unit,
                          std::string text, const Thresholds& most) {
  CheckState state = CheckState::kOk;
  if (most.warning && value > *most.warning) state = CheckState::kWarning;
  if (most.critical && value > *most.critical) state = CheckState::kCritical;
  add({std::string(name), value, std::string(unit), most, false}, state, std::move(text));
}

void CheckAnswer::measure_least(std::string_view name, double value, std::string text,
                                const Thresholds& least) {
  CheckState state = CheckState::kOk;
  if (least.warning && value < *least.warning) state = CheckState::kWarning;
  if (least.critical && value < *least.critical) state = CheckState::kCritical;
  add({std::string(name), value, {}, least, true}, state, std::move(text));
}

void CheckAnswer::say(CheckState state, std::string text) {
  if (rank(state) > rank(state_)) state_ = state;
  texts_.emplace_back(state, std::move(text));
}

std::string CheckAnswer::line(std::string_view subject) const {
  std::string line = fmt::format("{} - {}", name_of(state_), subject);
  const char* joint = ": ";
  for (const int worst : {3, 2, 1, 0}) {
    for (const auto& [state, text] : texts_) {
      if (rank(state) != worst) continue;
      line += joint + text;
      joint = ", ";
    }
  }
  // For Nagios, a bar ends the text, and a line end the whole answer.
  std::ranges::replace(line, '|', '/');
  std::ranges::replace(line, '\n', ' ');
  joint = " | ";
  for (const Measure& measure : measures_) {
    // A range that begins with the bound alerts below it.
    const auto bound = [&](const std::optional<double>& value) {
      if (!value) return std::string();
      return number(*value) + (measure.least ? ":" : "");
    };
    line +=
        fmt::format("{}{}={}{};{};{};0", joint, measure.name, number(measure.value), measure.unit,
                    bound(measure.bounds.warning), bound(measure.bounds.critical));
    joint = " ";
  }
  return line;
}

std::string CheckAnswer::json(std::string_view subject) const {
  sdk::JsonWriter json;
  json.begin_object();
  json.key("state").string(name_of(state_));
  json.key("subject").string(subject);
  json.key("texts").begin_array();
  for (const auto& [state, text] : texts_) json.string(text);
  json.end_array();
  json.key("measures").begin_object();
  for (const Measure& measure : measures_) json.key(measure.name).number(measure.value);
  json.end_object();
  json.end_object();
  return json.take();
}

}  // namespace millrace::cli
