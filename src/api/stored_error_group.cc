// The stored form of a group's state, a document of the catalog.
#include <array>
#include <charconv>

#include "api/error_group.h"
#include "base/json_check.h"
#include "base/json_cursor.h"

namespace millrace::api {
namespace {

constexpr std::size_t kDepth = 8;

bool read(JsonCursor& cursor, std::string& out) {
  if (cursor.type() != JsonType::kString) return false;
  out.clear();
  return unescape_json(cursor.string_body(), out) == Unescaped::kDone;
}

bool read(JsonCursor& cursor, std::int64_t& out) {
  if (cursor.type() != JsonType::kNumber) return false;
  const std::string_view digits = cursor.number();
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, out);
  return error == std::errc() && stop == end;
}

bool read(JsonCursor& cursor, Time& out) {
  std::int64_t ms = 0;
  if (!read(cursor, ms)) return false;
  out = time_from_ms(ms);
  return true;
}

bool read(JsonCursor& cursor, std::optional<Time>& out) { return read(cursor, out.emplace()); }

template <typename Word>
bool read_number(JsonCursor& cursor, Word last, Word& out) {
  std::int64_t number = 0;
  if (!read(cursor, number) || number < 0 || number > static_cast<std::int64_t>(last)) return false;
  out = static_cast<Word>(number);
  return true;
}

bool read(JsonCursor& cursor, std::optional<Canary>& out) {
  if (cursor.type() != JsonType::kObject) return false;
  Canary canary;
  cursor.enter();
  std::string_view name;
  while (cursor.next_member(name)) {
    std::string id;
    if (name == "job") {
      if (!read(cursor, id)) return false;
      const auto job = parse_job_id(id);
      if (!job) return false;
      canary.job = *job;
    } else if (name == "state") {
      if (!read_number(cursor, CanaryState::kFailed, canary.state)) return false;
    } else if (name == "generation") {
      if (!read_number(cursor, std::uint32_t{0xffff'ffff}, canary.generation)) return false;
    } else if (name != "at_ms" || !read(cursor, canary.at)) {
      return false;
    }
  }
  out = canary;
  return true;
}

bool read_member(JsonCursor& cursor, std::string_view name, ErrorGroupState& out) {
  if (name == "change") return read(cursor, out.change);
  if (name == "status") return read_number(cursor, ErrorStatus::kResolved, out.status);
  if (name == "since_ms") return read(cursor, out.since);
  if (name == "muted_until_ms") return read(cursor, out.muted_until);
  if (name == "note") return read(cursor, out.note);
  if (name == "reopened_at_ms") return read(cursor, out.reopened_at);
  if (name == "canary") return read(cursor, out.canary);
  return false;
}

}  // namespace

std::string stored_error_group(const ErrorGroupState& state) {
  std::string document;
  JsonWriter json(document);
  json.begin_object();
  json.member("change", state.change);
  json.member("status", static_cast<int>(state.status));
  json.member("since_ms", to_ms(state.since));
  if (state.muted_until) json.member("muted_until_ms", to_ms(*state.muted_until));
  if (!state.note.empty()) json.member("note", state.note);
  if (state.reopened_at) json.member("reopened_at_ms", to_ms(*state.reopened_at));
  if (state.canary) {
    json.key("canary");
    json.begin_object();
    json.member("job", state.canary->job);
    json.member("state", static_cast<int>(state.canary->state));
    json.member("at_ms", to_ms(state.canary->at));
    json.member("generation", static_cast<std::int64_t>(state.canary->generation));
    json.end_object();
  }
  json.end_object();
  return document;
}

std::string members_of(const ErrorGroupState& state) {
  std::string members;
  JsonWriter json(members);
  json.begin_object();
  json.member("status", name_of(state.status));
  json.member("muted_until", state.muted_until);
  json.text_or_null("note", state.note);
  if (state.canary) json.member("canary", state.canary->job);
  json.end_object();
  return members;
}

std::optional<ErrorGroupState> read_stored_error_group(std::string_view stored) {
  if (check_json(stored, kDepth, LoneSurrogates::kRefused)) return std::nullopt;
  JsonCursor cursor(stored);
  if (cursor.type() != JsonType::kObject) return std::nullopt;
  ErrorGroupState state;
  cursor.enter();
  std::string_view name;
  while (cursor.next_member(name)) {
    if (!read_member(cursor, name, state)) return std::nullopt;
  }
  return state;
}

std::optional<terms::EventType> type_of_change(std::string_view stored) {
  const auto state = read_stored_error_group(stored);
  if (!state) return std::nullopt;
  return terms::value_named<terms::EventType>("error_group." + state->change);
}

}  // namespace millrace::api
