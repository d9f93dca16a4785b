// JsonWriter appends JSON to a string. It places commas; the caller pairs the brackets. It
// allocates only to grow the string, so reserve, reuse and clear the string.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/time.h"

namespace millrace {

class JsonWriter {
 public:
  explicit JsonWriter(std::string& out) : out_(out) {}  // `out` outlives the writer
  // Continues where another writer stopped, with its needs_comma().
  JsonWriter(std::string& out, bool needs_comma) : out_(out), needs_comma_(needs_comma) {}
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void begin_object() { open('{'); }
  void end_object() { close('}'); }
  void begin_array() { open('['); }
  void end_array() { close(']'); }

  // `name` must need no escaping: a constant of the contract.
  void key(std::string_view name);
  // Any UTF-8 text.
  void text_key(std::string_view name);

  void null() { raw("null"); }
  void boolean(bool value) { raw(value ? "true" : "false"); }
  void number(std::int64_t value);
  void number(std::uint64_t value);
  void number(int value) { number(static_cast<std::int64_t>(value)); }
  void number(double value);  // finite; the shortest text that reads back the same
  void string(std::string_view utf8);
  void id(const JobId& value);
  void time(Time value);
  void duration(Duration value) { number(static_cast<std::int64_t>(value.count())); }
  void raw(std::string_view json);  // bytes that are JSON already, kept as they are

  // A member in one call.
  void member(std::string_view name, std::string_view text) { key(name), string(text); }
  void member(std::string_view name, const char* text) { key(name), string(text); }
  void member(std::string_view name, std::int64_t value) { key(name), number(value); }
  void member(std::string_view name, std::uint64_t value) { key(name), number(value); }
  void member(std::string_view name, int value) { key(name), number(value); }
  void member(std::string_view name, double value) { key(name), number(value); }
  void member(std::string_view name, bool value) { key(name), boolean(value); }
  void member(std::string_view name, const JobId& value) { key(name), id(value); }
  void member(std::string_view name, LeaseToken value) { key(name), number(to_number(value)); }
  void member(std::string_view name, Time value) { key(name), time(value); }
  void member(std::string_view name, Duration value) { key(name), duration(value); }
  void raw_member(std::string_view name, std::string_view json) { key(name), raw(json); }
  void text_or_null(std::string_view name, std::string_view text);  // empty: null
  // null if there is no value.
  template <typename T>
  void member(std::string_view name, const std::optional<T>& value) {
    if (value) return member(name, *value);
    key(name), null();
  }

  bool needs_comma() const { return needs_comma_; }

 private:
  void open(char bracket) {
    separate();
    out_.push_back(bracket);
    needs_comma_ = false;
  }
  void close(char bracket) {
    out_.push_back(bracket);
    needs_comma_ = true;
  }
  void separate() {
    if (needs_comma_) out_.push_back(',');
    needs_comma_ = true;
  }

  std::string& out_;
  bool needs_comma_ = false;
};

// Appends `utf8` to `out` in quotes, escaped as JSON requires.
void append_json_string(std::string& out, std::string_view utf8);

}  // namespace millrace
