// The log: one line an event, as text or JSON, consisting of a fixed sentence and fields. Values
// from outside are escaped and cut, so that they can't forge a line or control the reader's
// terminal. Secrets are never logged: no payloads, tokens or headers.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include "base/time.h"

namespace millrace {

enum class LogLevel : std::uint8_t { kDebug, kInfo, kWarn, kError };
std::string_view to_string(LogLevel level);
std::optional<LogLevel> parse_log_level(std::string_view text);

enum class LogFormat : std::uint8_t { kText, kJson };

// Longer values are cut; the line says by how much.
constexpr std::size_t kMaxLogValueBytes = 1024;

// A named value; the texts must outlive the call that logs them.
class LogField {
 public:
  LogField(std::string_view key, std::string_view text) : key_(key), value_(text) {}
  LogField(std::string_view key, const std::string& text)
      : key_(key), value_(std::string_view(text)) {}
  LogField(std::string_view key, const char* text) : key_(key), value_(std::string_view(text)) {}
  LogField(std::string_view key, std::same_as<bool> auto truth) : key_(key), value_(truth) {}
  LogField(std::string_view key, double number) : key_(key), value_(number) {}
  LogField(std::string_view key, std::signed_integral auto number)
      : key_(key), value_(static_cast<std::int64_t>(number)) {}
  template <std::unsigned_integral Number>
    requires(!std::same_as<Number, bool>)
  LogField(std::string_view key, Number number)
      : key_(key), value_(static_cast<std::uint64_t>(number)) {}

  using Value = std::variant<std::string_view, bool, std::int64_t, std::uint64_t, double>;
  std::string_view key() const { return key_; }
  const Value& value() const { return value_; }

 private:
  std::string_view key_;  // a literal in the code: [a-z0-9_]
  Value value_;
};

using LogFields = std::initializer_list<LogField>;
using LogFieldSpan = std::span<const LogField>;

// Receives finished lines, without a line feed. Thread-safe; should not block.
class LogSink {
 public:
  virtual ~LogSink() = default;
  virtual void write(LogLevel level, std::string_view line) = 0;
};

// A line as written, without the line feed.
std::string format_log_line(LogFormat format, Time at, LogLevel level, std::string_view message,
                            LogFieldSpan fields);

// The interface for logging; passed as a parameter, never global. Thread-safe. A
// default-constructed one is silent.
class Logger {
 public:
  Logger() = default;
  // `clock` is called on the thread that logs; `sink` must outlive the logger and its copies.
  Logger(LogSink& sink, LogFormat format, LogLevel least, std::function<Time()> clock)
      : sink_(&sink), format_(format), least_(least), clock_(std::move(clock)) {}

  bool enabled(LogLevel level) const { return sink_ != nullptr && level >= least_; }
  void log(LogLevel level, std::string_view message, LogFieldSpan fields) const;
  void log(LogLevel level, std::string_view message, LogFields fields = {}) const {
    log(level, message, LogFieldSpan(fields.begin(), fields.size()));
  }

  void debug(std::string_view message, LogFields fields = {}) const {
    log(LogLevel::kDebug, message, fields);
  }
  void info(std::string_view message, LogFields fields = {}) const {
    log(LogLevel::kInfo, message, fields);
  }
  void warn(std::string_view message, LogFields fields = {}) const {
    log(LogLevel::kWarn, message, fields);
  }
  void error(std::string_view message, LogFields fields = {}) const {
    log(LogLevel::kError, message, fields);
  }

 private:
  LogSink* sink_ = nullptr;
  LogFormat format_ = LogFormat::kText;
  LogLevel least_ = LogLevel::kInfo;
  std::function<Time()> clock_;
};

}  // namespace millrace
