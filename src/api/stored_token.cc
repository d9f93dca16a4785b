#include "api/stored_token.h"

#include <charconv>
#include <utility>

#include "base/json_check.h"
#include "base/json_cursor.h"
#include "base/json_writer.h"

namespace millrace::api {
namespace {

void words(JsonWriter& json, std::string_view name, const std::vector<std::string>& list) {
  json.key(name);
  json.begin_array();
  for (const std::string& word : list) json.string(word);
  json.end_array();
}

void time_in_ms(JsonWriter& json, std::string_view name, const std::optional<Time>& time) {
  if (time) json.member(name, to_ms(*time));
}

// Reads the value at the cursor if it has the right kind; false: it does not, and nothing was read.
bool read(JsonCursor& cursor, std::string& out) {
  if (cursor.type() != JsonType::kString) return false;
  out.clear();
  return unescape_json(cursor.string_body(), out) == Unescaped::kDone;
}
bool read(JsonCursor& cursor, std::optional<Time>& out) {
  if (cursor.type() != JsonType::kNumber) return false;
  const std::string_view digits = cursor.number();
  std::int64_t ms = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, ms);
  if (error != std::errc() || stop != end) return false;
  out = time_from_ms(ms);
  return true;
}
bool read(JsonCursor& cursor, std::vector<std::string>& out) {
  if (cursor.type() != JsonType::kArray) return false;
  cursor.enter();
  while (cursor.next_element()) {
    if (!read(cursor, out.emplace_back())) return false;
  }
  return !out.empty();  // no queues would mean all of them
}

bool read_member(JsonCursor& cursor, std::string_view name, StoredToken& token) {
  if (name == "name") return read(cursor, token.name);
  if (name == "description") return read(cursor, token.description);
  if (name == "hash") return read(cursor, token.hash);
  if (name == "scopes") return read(cursor, token.scopes);
  if (name == "queues") return read(cursor, token.queues);
  if (name == "expires_at_ms") return read(cursor, token.expires_at);
  if (name == "former_hash") return read(cursor, token.former_hash);
  if (name == "former_until_ms") return read(cursor, token.former_until);
  if (name == "created_at_ms") return read(cursor, token.created_at);
  if (name == "created_by") return read(cursor, token.created_by);
  return false;
}

}  // namespace

std::string encode_stored(const StoredToken& token) {
  std::string document;
  JsonWriter json(document);
  json.begin_object();
  json.member("name", token.name);
  if (!token.description.empty()) json.member("description", token.description);
  json.member("hash", token.hash);
  words(json, "scopes", token.scopes);
  if (!token.queues.empty()) words(json, "queues", token.queues);
  time_in_ms(json, "expires_at_ms", token.expires_at);
  if (!token.former_hash.empty()) {
    json.member("former_hash", token.former_hash);
    time_in_ms(json, "former_until_ms", token.former_until);
  }
  time_in_ms(json, "created_at_ms", token.created_at);
  if (!token.created_by.empty()) json.member("created_by", token.created_by);
  json.end_object();
  return document;
}

Result<StoredToken> decode_stored(std::string_view document) {
  constexpr std::size_t kDepth = 8;
  if (check_json(document, kDepth, LoneSurrogates::kRefused))
    return failure("the document is no JSON");
  JsonCursor cursor(document);
  if (cursor.type() != JsonType::kObject) return failure("the document is no object");
  StoredToken token;
  cursor.enter();
  std::string_view name;
  while (cursor.next_member(name)) {
    if (!read_member(cursor, name, token)) {
      return failure("the member " + std::string(name) + " is of another kind, or not known");
    }
  }
  return token;
}

}  // namespace millrace::api
