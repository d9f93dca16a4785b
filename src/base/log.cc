#include "base/log.h"

#include <fmt/format.h>
#include <spdlog/async_logger.h>
#include <spdlog/details/thread_pool.h>
#include <spdlog/sinks/stdout_sinks.h>

#include <atomic>
#include <cmath>
#include <utility>

#include "base/log_escape.h"

namespace millrace {
namespace {

constexpr std::size_t kMaxWaitingLines = 8192;

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

class StderrSink final : public LogSink {
 public:
  StderrSink()
      : pool_(std::make_shared<spdlog::details::thread_pool>(kMaxWaitingLines, 1)),
        logger_(std::make_shared<spdlog::async_logger>(
            "", std::make_shared<spdlog::sinks::stderr_sink_mt>(), pool_,
            spdlog::async_overflow_policy::overrun_oldest)) {
    logger_->set_pattern("%v");
    logger_->set_level(spdlog::level::trace);
  }

  void write(LogLevel level, std::string_view line) override {
    put(level, line);
    const std::size_t dropped = pool_->overrun_counter();
    const std::size_t told = told_.exchange(dropped, std::memory_order_relaxed);
    if (dropped > told) {
      put(LogLevel::kWarn,
          fmt::format("(log lines dropped, standard error is too slow: {})", dropped - told));
    }
  }

 private:
  void put(LogLevel level, std::string_view line) {
    logger_->log(level >= LogLevel::kWarn ? spdlog::level::warn : spdlog::level::info,
                 spdlog::string_view_t(line.data(), line.size()));
  }

  std::shared_ptr<spdlog::details::thread_pool> pool_;
  std::shared_ptr<spdlog::async_logger> logger_;
  std::atomic<std::size_t> told_{0};
};

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

std::unique_ptr<LogSink> make_stderr_sink() { return std::make_unique<StderrSink>(); }

}  // namespace millrace
