#include "base/log.h"

#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/log_escape.h"

namespace millrace {
namespace {

std::string_view level_column(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "DEBUG";
    case LogLevel::kInfo:
      return "INFO ";
    case LogLevel::kWarn:
      return "WARN ";
    case LogLevel::kError:
      return "ERROR";
  }
  std::unreachable();
}

void append_value(std::string& out, LogFormat format, const LogField::Value& value) {
  std::visit(
      [&](const auto& v) {
        using V = std::decay_t<decltype(v)>;
        if constexpr (std::is_same_v<V, std::string_view>) {
          format == LogFormat::kJson ? append_json_value(out, v) : append_text_value(out, v);
        } else if constexpr (std::is_same_v<V, double>) {
          if (format == LogFormat::kJson && !std::isfinite(v)) {
            out += "null";
          } else {
            fmt::format_to(std::back_inserter(out), "{:.6g}", v);
          }
        } else {
          fmt::format_to(std::back_inserter(out), "{}", v);
        }
      },
      value);
}

}  // namespace

std::string_view to_string(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return "debug";
    case LogLevel::kInfo:
      return "info";
    case LogLevel::kWarn:
      return "warn";
    case LogLevel::kError:
      return "error";
  }
  std::unreachable();
}

std::optional<LogLevel> parse_log_level(std::string_view text) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError}) {
    if (text == to_string(level)) return level;
  }
  return std::nullopt;
}

std::string format_log_line(LogFormat format, Time at, LogLevel level, std::string_view message,
                            LogFieldSpan fields) {
  std::string line;
  line.reserve(160);
  if (format == LogFormat::kJson) {
    line += R"({"time":")";
    line += format_rfc3339(at);
    line += R"(","level":")";
    line += to_string(level);
    line += R"(","message":)";
    append_json_value(line, message);
    for (const LogField& field : fields) {
      line += ',';
      append_json_value(line, field.key());
      line += ':';
      append_value(line, format, field.value());
    }
    line += '}';
    return line;
  }
  line += format_rfc3339(at);
  line += ' ';
  line += level_column(level);
  line += ' ';
  append_text_escaped(line, message);
  for (const LogField& field : fields) {
    line += ' ';
    append_text_escaped(line, field.key());
    line += '=';
    append_value(line, format, field.value());
  }
  return line;
}

void Logger::log(LogLevel level, std::string_view message, LogFieldSpan fields) const {
  if (!enabled(level)) return;
  sink_->write(level, format_log_line(format_, clock_(), level, message, fields));
}

}  // namespace millrace
