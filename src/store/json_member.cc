#include "store/json_member.h"

#include <charconv>

#include "base/json_check.h"
#include "base/json_cursor.h"

namespace millrace::store {
namespace {

std::string text_of(std::string_view body) {
  std::string text;
  unescape_json(body, text);
  return text;
}

bool same_name(std::string_view body, std::string_view name) {
  return body.find('\\') == std::string_view::npos ? body == name : text_of(body) == name;
}

// These move the cursor to the member's value. Precondition: the cursor is before an object, or an
// array.
bool enter_member(JsonCursor& cursor, std::string_view name) {
  std::string_view body;
  for (cursor.enter(); cursor.next_member(body); cursor.skip()) {
    if (same_name(body, name)) return true;
  }
  return false;
}

bool enter_element(JsonCursor& cursor, std::string_view index_text) {
  std::uint32_t index = 0;
  const char* const end = index_text.data() + index_text.size();
  const auto read = std::from_chars(index_text.data(), end, index);
  if (read.ptr != end || read.ec != std::errc()) return false;
  for (cursor.enter(); cursor.next_element(); cursor.skip()) {
    if (index-- == 0) return true;
  }
  return false;
}

bool enter(JsonCursor& cursor, std::string_view step) {
  switch (cursor.type()) {
    case JsonType::kObject:
      return enter_member(cursor, step);
    case JsonType::kArray:
      return enter_element(cursor, step);
    default:
      return false;
  }
}

}  // namespace

std::optional<std::string> json_member_text(std::string_view json, std::string_view path) {
  if (check_json(json, kMaxJsonDepth, LoneSurrogates::kKept)) return std::nullopt;
  JsonCursor cursor(json);
  for (bool more = !path.empty(); more;) {
    const std::size_t dot = path.find('.');
    if (!enter(cursor, path.substr(0, dot))) return std::nullopt;
    more = dot != std::string_view::npos;
    path.remove_prefix(more ? dot + 1 : path.size());
  }
  switch (cursor.type()) {
    case JsonType::kObject:
    case JsonType::kArray:
      return std::nullopt;
    case JsonType::kString:
      return text_of(cursor.string_body());
    default:
      return std::string(cursor.skip());
  }
}

}  // namespace millrace::store
