#include "api/decode.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "api/text.h"
#include "base/json_check.h"
#include "base/utf8.h"

namespace millrace::api {
namespace {

constexpr std::size_t kMaxPointerPartBytes = 128;

void append_pointer(const Path& path, std::string& out) {
  if (path.parent == nullptr) return;
  append_pointer(*path.parent, out);
  out.push_back('/');
  if (path.name.data() == nullptr) {
    out += std::to_string(path.index);
    return;
  }
  for (const char c : cut_utf8(path.name, kMaxPointerPartBytes)) {
    if (c == '~') {
      out += "~0";
    } else if (c == '/') {
      out += "~1";
    } else {
      out.push_back(c);
    }
  }
}

Problem invalid_json(std::string_view reason, std::size_t position) {
  return make_problem(ProblemCode::kInvalidJson, fmt::format("{}, at byte {}", reason, position));
}

// The text of the string at the cursor: a view of the body if it has no escapes.
bool read_string_view(Decode& decode, const Path& path, std::string& scratch,
                      std::string_view& out) {
  if (decode.cursor.type() != JsonType::kString)
    return refuse_value(decode, path, "must be a string");
  const std::string_view body = decode.cursor.string_body();
  if (body.find('\\') == std::string_view::npos) {
    out = body;
    return true;
  }
  if (unescape_json(body, scratch) == Unescaped::kLoneSurrogate) {
    decode.invalid(body, "the string has half of a surrogate pair");
    return false;
  }
  out = scratch;
  return true;
}

// Even an ignored value must be valid text.
void skip_unread(Decode& decode) {
  const std::string_view raw = decode.cursor.skip();
  if (raw.find('\\') == std::string_view::npos) return;
  if (const auto fault = check_json(raw, kMaxJsonDepth, LoneSurrogates::kRefused)) {
    decode.invalid(raw.substr(fault->position), fault->reason);
  }
}

std::string unknown_member(std::string_view name, std::span<const std::string_view> names) {
  const std::string_view meant = nearest(name, names);
  if (meant.empty()) return "unknown member";
  return fmt::format("unknown member; did you mean '{}'?", meant);
}

}  // namespace

// The name without escapes; `scratch` backs the view if it had any.
std::string_view member_name(Decode& decode, std::string_view body, std::string& scratch) {
  if (body.find('\\') == std::string_view::npos) return body;
  scratch.clear();
  if (unescape_json(body, scratch) == Unescaped::kLoneSurrogate)
    decode.invalid(body, "the string has half of a surrogate pair");
  return scratch;
}

// Duplicate names make `whole` ambiguous.
void refuse_repeated(Decode& decode, std::string_view whole, std::vector<std::string> names) {
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(names) != names.end())
    decode.invalid(whole, "the object has a member twice");
}

std::string to_pointer(const Path& path) {
  std::string pointer;
  append_pointer(path, pointer);
  return pointer;
}

void Decode::fault(const Path& path, std::string detail) {
  if (faults_.size() == kMaxFieldErrors) return;
  faults_.push_back({FieldError::Place::kPointer, to_pointer(path), std::move(detail)});
}

void Decode::too_large(const Path& path, std::size_t max_bytes) {
  const std::size_t before = faults_.size();
  fault(path, fmt::format("must have at most {} bytes", max_bytes));
  too_large_ += faults_.size() - before;
}

void Decode::invalid(std::string_view where, std::string_view reason) {
  if (!invalid_)
    invalid_ = invalid_json(reason, static_cast<std::size_t>(where.data() - body_.data()));
}

std::optional<Problem> Decode::take_faults() {
  if (faults_.empty()) return std::nullopt;
  const bool only_too_large = std::exchange(too_large_, 0) == faults_.size();
  if (only_too_large) {
    const FieldError first = std::exchange(faults_, {}).front();
    return make_problem(ProblemCode::kPayloadTooLarge,
                        fmt::format("{} {}", first.where, first.detail));
  }
  Problem problem;
  problem.code = ProblemCode::kValidationFailed;
  problem.errors = std::exchange(faults_, {});
  problem.detail = describe_faults(problem.errors.size());
  return problem;
}

std::optional<Problem> Decode::take_invalid() { return std::exchange(invalid_, std::nullopt); }

std::optional<Problem> check_body(std::string_view body, const DecodeLimits& limits,
                                  EmptyBody empty) {
  if (body.size() > limits.body_bytes) {
    return make_problem(ProblemCode::kPayloadTooLarge,
                        fmt::format("the body must have at most {} bytes", limits.body_bytes));
  }
  if (body.empty() && empty == EmptyBody::kEmptyObject) return std::nullopt;
  if (body.empty())
    return make_problem(ProblemCode::kInvalidJson, "the body is empty; send a JSON object");
  if (const auto fault = check_json(body, limits.json_depth, LoneSurrogates::kKept)) {
    return invalid_json(fault->reason, fault->position);
  }
  return std::nullopt;
}

std::optional<Seen> walk_object(Decode& decode, const Path& path,
                                std::span<const std::string_view> names, MemberSet keeps_null,
                                Visit visit, void* context) {
  JsonCursor& cursor = decode.cursor;
  if (cursor.type() != JsonType::kObject) {
    refuse_value(decode, path, "must be an object");
    return std::nullopt;
  }
  Seen seen;
  std::vector<std::string> unknown;  // bounded; further repetitions change no result
  std::string scratch;
  std::string_view body;
  cursor.enter();
  while (cursor.next_member(body)) {
    const std::string_view name = member_name(decode, body, scratch);
    const auto found = std::ranges::find(names, name);
    const Path member_path{&path, name, 0};
    if (found == names.end()) {
      if (std::ranges::find(unknown, name) != unknown.end())
        decode.invalid(body, "the object has a member twice");
      if (unknown.size() < kMaxFieldErrors) unknown.emplace_back(name);
      decode.fault(member_path, unknown_member(name, names));
      skip_unread(decode);
      continue;
    }
    const auto index = static_cast<std::size_t>(found - names.begin());
    const MemberSet bit = MemberSet{1} << index;
    if ((seen.named & bit) != 0) decode.invalid(body, "the object has a member twice");
    seen.named |= bit;
    if (cursor.type() == JsonType::kNull && (keeps_null & bit) == 0) {
      cursor.skip();
    } else {
      seen.valued |= bit;
      visit(context, index, member_path);
    }
  }
  return seen;
}

void require(Decode& decode, const Path& path, std::string_view name, bool present) {
  if (!present) decode.fault(Path{&path, name, 0}, "is required");
}

std::string items_rule(std::size_t min, std::size_t max) {
  if (min == 0) return fmt::format("must have at most {} items", max);
  return fmt::format("must have {} to {} items", min, max);
}

bool refuse_value(Decode& decode, const Path& path, std::string detail) {
  decode.fault(path, std::move(detail));
  skip_unread(decode);
  return false;
}

bool read_string(Decode& decode, const Path& path, std::string& out) {
  std::string scratch;
  std::string_view text;
  if (!read_string_view(decode, path, scratch, text)) return false;
  out = text;
  return true;
}

bool read_name(Decode& decode, const Path& path, std::string& out) {
  std::string scratch;
  std::string_view text;
  if (!read_string_view(decode, path, scratch, text)) return false;
  if (!is_name(text)) {
    decode.fault(path, std::string(kNameRule));
    return false;
  }
  out = text;
  return true;
}

bool read_text(Decode& decode, const Path& path, std::size_t min_bytes, std::size_t max_bytes,
               std::string& out) {
  std::string scratch;
  std::string_view text;
  if (!read_string_view(decode, path, scratch, text)) return false;
  if (text.size() < min_bytes || text.size() > max_bytes) {
    decode.fault(path, fmt::format("must have {} to {} bytes", min_bytes, max_bytes));
    return false;
  }
  if (text.find('\0') != std::string_view::npos) {
    decode.fault(path, "must not contain U+0000");
    return false;
  }
  out = text;
  return true;
}

bool read_cut_text(Decode& decode, const Path& path, std::size_t max_bytes, std::string& out) {
  std::string scratch;
  std::string_view text;
  if (!read_string_view(decode, path, scratch, text)) return false;
  if (text.find('\0') == std::string_view::npos) {
    out = cut_utf8(text, max_bytes);
    return true;
  }
  std::string replaced;
  for (const char c : text.substr(0, max_bytes + 1)) {
    if (c == '\0') {
      replaced += kReplacementUtf8;
    } else {
      replaced.push_back(c);
    }
  }
  out = cut_utf8(replaced, max_bytes);
  return true;
}

bool read_boolean(Decode& decode, const Path& path, bool& out) {
  if (decode.cursor.type() != JsonType::kBoolean)
    return refuse_value(decode, path, "must be true or false");
  out = decode.cursor.boolean();
  return true;
}

bool read_integer(Decode& decode, const Path& path, std::int64_t min, std::int64_t max,
                  std::int64_t& out) {
  if (decode.cursor.type() != JsonType::kNumber)
    return refuse_value(decode, path, "must be an integer");
  const std::string_view text = decode.cursor.number();
  if (text.find_first_of(".eE") != std::string_view::npos) {
    decode.fault(path, "must be an integer, without a decimal point or an exponent");
    return false;
  }
  std::int64_t value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || value < min || value > max) {
    decode.fault(path, fmt::format("must be {} to {}", min, max));
    return false;
  }
  out = value;
  return true;
}

bool read_real(Decode& decode, const Path& path, double min, double max, double& out) {
  if (decode.cursor.type() != JsonType::kNumber)
    return refuse_value(decode, path, "must be a number");
  const std::string_view text = decode.cursor.number();
  double value = 0;
  const auto end = std::from_chars(text.data(), text.data() + text.size(), value);
  if (end.ec != std::errc() || value < min || value > max) {
    decode.fault(path, fmt::format("must be {} to {}", min, max));
    return false;
  }
  out = value;
  return true;
}

bool read_duration(Decode& decode, const Path& path, std::int64_t min_ms, std::int64_t max_ms,
                   Duration& out) {
  std::int64_t ms = 0;
  if (!read_integer(decode, path, min_ms, max_ms, ms)) return false;
  out = Duration{ms};
  return true;
}

bool read_time(Decode& decode, const Path& path, Time& out) {
  std::string scratch;
  std::string_view text;
  if (!read_string_view(decode, path, scratch, text)) return false;
  const std::optional<Time> time = parse_rfc3339(text);
  if (!time) {
    decode.fault(path, std::string(kTimeRule));
    return false;
  }
  out = *time;
  return true;
}

bool read_id(Decode& decode, const Path& path, JobId& out) {
  std::string scratch;
  std::string_view text;
  if (!read_string_view(decode, path, scratch, text)) return false;
  const std::optional<JobId> id = parse_job_id(text);
  if (!id) {
    decode.fault(path, "must be a UUID");
    return false;
  }
  out = *id;
  return true;
}

bool read_raw(Decode& decode, const Path& path, std::size_t max_bytes, std::string_view& out) {
  const std::string_view raw = decode.cursor.skip();
  if (raw.size() > max_bytes) {
    decode.too_large(path, max_bytes);
    return false;
  }
  out = raw;
  return true;
}

bool read_names(Decode& decode, const Path& path, std::size_t min, std::size_t max,
                std::vector<std::string>& out) {
  return read_array(decode, path, min, max, [&](const Path& element) {
    std::string name;
    if (read_name(decode, element, name)) out.push_back(std::move(name));
  });
}

bool read_string_map(Decode& decode, const Path& path, std::size_t max_bytes, StringMap& out) {
  JsonCursor& cursor = decode.cursor;
  if (cursor.type() != JsonType::kObject)
    return refuse_value(decode, path, "must be an object of strings");
  const std::string_view whole = JsonCursor(cursor).skip();
  if (whole.size() > max_bytes)
    return refuse_value(decode, path, fmt::format("must have at most {} bytes", max_bytes));
  std::string scratch;
  std::string_view body;
  bool good = true;
  cursor.enter();
  while (cursor.next_member(body)) {
    std::string name(member_name(decode, body, scratch));
    std::string value;
    const Path member_path{&path, name, 0};
    if (name.find('\0') != std::string::npos) decode.fault(member_path, "must not contain U+0000");
    good = read_text(decode, member_path, 0, max_bytes, value) && good;
    out.emplace_back(std::move(name), std::move(value));
  }
  std::vector<std::string_view> names;
  for (const auto& [name, value] : out) names.push_back(name);
  std::ranges::sort(names);
  if (std::ranges::adjacent_find(names) != names.end())
    decode.invalid(whole, "the object has a member twice");
  return good;
}

bool read_word(Decode& decode, const Path& path, std::span<const std::string_view> words,
               std::size_t& out) {
  std::string scratch;
  std::string_view text;
  if (!read_string_view(decode, path, scratch, text)) return false;
  const auto found = std::ranges::find(words, text);
  if (found == words.end()) {
    decode.fault(path, words_rule(words));
    return false;
  }
  out = static_cast<std::size_t>(found - words.begin());
  return true;
}

}  // namespace millrace::api
