#include "cli/schedule/toml.h"

#include <fmt/format.h>
#include <toml++/toml.h>

#include <cmath>
#include <sstream>
#include <string>

#include "millrace/json.h"

namespace millrace::cli {
namespace {

class Writer {
 public:
  void write(const toml::node& node, const std::string& pointer, std::size_t depth) {
    if (const toml::table* const table = node.as_table()) {
      write_table(*table, pointer, depth);
    } else if (const toml::array* const array = node.as_array()) {
      json.begin_array();
      for (const toml::node& element : *array) write(element, pointer, kMaxLineDepth);
      json.end_array();
    } else if (const auto text = node.value_exact<std::string>()) {
      json.string(*text);
    } else if (const auto integer = node.value_exact<std::int64_t>()) {
      json.integer(*integer);
    } else if (const auto truth = node.value_exact<bool>()) {
      json.boolean(*truth);
    } else if (const auto number = node.value_exact<double>()) {
      write_number(node, *number);
    } else {
      write_time(node);
    }
  }

  sdk::JsonWriter json;
  Lines lines;
  FileFaults faults;

 private:
  void write_table(const toml::table& table, const std::string& pointer, std::size_t depth) {
    json.begin_object();
    for (const auto& [key, value] : table) {
      const std::string inner = join_pointer(pointer, key.str());
      if (depth < kMaxLineDepth) lines.add(inner, line_of(value));
      json.key(key.str());
      write(value, inner, depth + 1);
    }
    json.end_object();
  }

  void write_number(const toml::node& node, double number) {
    if (std::isfinite(number)) {
      json.number(number);
    } else {
      fail(node, "infinity and \"not a number\" can't stand here: a number is expected");
    }
  }

  void write_time(const toml::node& node) {
    const auto* const time = node.as_date_time();
    if (time == nullptr || !time->get().offset) {
      return fail(node, "a time needs a date and an offset, such as 2027-01-31T00:00:00Z");
    }
    std::ostringstream text;
    text << time->get();
    json.string(text.str());
  }

  static std::size_t line_of(const toml::node& node) { return node.source().begin.line; }
  void fail(const toml::node& node, std::string message) {
    faults.push_back({line_of(node), std::move(message)});
    json.null();
  }
};

}  // namespace

std::expected<Document, FileFaults> read_toml(std::string_view content) {
  try {
    Writer writer;
    writer.write(toml::parse(content), "", 0);
    if (!writer.faults.empty()) return std::unexpected(std::move(writer.faults));
    return Document{writer.json.take(), std::move(writer.lines)};
  } catch (const toml::parse_error& error) {
    return std::unexpected(
        FileFaults{{error.source().begin.line, fmt::format("no TOML: {}", error.description())}});
  }
}

}  // namespace millrace::cli
