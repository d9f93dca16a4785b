#include "api/event_data.h"

#include "base/json_cursor.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

void write_error(JsonCursor& cursor, JsonWriter& json) {
  json.begin_object();
  cursor.enter();
  std::string_view name;
  while (cursor.next_member(name)) {
    const std::string_view value = cursor.skip();
    json.raw_member(name, name == "type" ? value : std::string_view("\"\""));
  }
  json.member("redacted", true);
  json.end_object();
}

}  // namespace

std::string without_error_texts(std::string_view data) {
  JsonCursor cursor(data);
  if (cursor.type() != JsonType::kObject) return std::string(data);
  std::string made;
  JsonWriter json(made);
  json.begin_object();
  cursor.enter();
  std::string_view name;
  while (cursor.next_member(name)) {
    if (name == "error" && cursor.type() == JsonType::kObject) {
      json.key("error");
      write_error(cursor, json);
    } else {
      json.raw_member(name, cursor.skip());
    }
  }
  json.end_object();
  return made;
}

}  // namespace millrace::api
