#include "engine/data_object.h"

#include <fmt/format.h>

#include <iterator>

namespace millrace::engine {
namespace {

void append_string(std::string& out, std::string_view utf8) {
  out += '"';
  for (const char c : utf8) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}", static_cast<unsigned>(c));
    } else {
      out += c;
    }
  }
  out += '"';
}

}  // namespace

void DataObject::key(std::string_view name) {
  if (!members_.empty()) members_ += ',';
  append_string(members_, name);
  members_ += ':';
}

DataObject& DataObject::text(std::string_view name, std::string_view utf8) {
  key(name);
  append_string(members_, utf8);
  return *this;
}

DataObject& DataObject::number(std::string_view name, std::int64_t value) {
  key(name);
  members_ += std::to_string(value);
  return *this;
}

DataObject& DataObject::time(std::string_view name, Time value) {
  return text(name, format_rfc3339(value));
}

DataObject& DataObject::boolean(std::string_view name, bool value) {
  key(name);
  members_ += value ? "true" : "false";
  return *this;
}

DataObject& DataObject::object(std::string_view name, const DataObject& value) {
  key(name);
  members_ += value.json();
  return *this;
}

}  // namespace millrace::engine
