// Decoding of bodies in this room: a table of members per object, one reading function per kind of
// value; every fault is recorded with its JSON Pointer. Only for the sources of this room.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/bounds.h"
#include "api/job.h"
#include "api/problem.h"
#include "base/json_cursor.h"

namespace millrace::api {

// The place of a value, as a chain on the stack; formatted as text only for a fault.
struct Path {
  const Path* parent = nullptr;  // null: the root
  std::string_view name;         // of a member
  std::size_t index = 0;         // of an element, if `name` has no data
};
std::string to_pointer(const Path& path);

// The state of decoding one body.
class Decode {
 public:
  Decode(std::string_view body, const DecodeLimits& limits)
      : cursor(body), limits_(limits), body_(body) {}

  const DecodeLimits& limits() const { return limits_; }

  void fault(const Path& path, std::string detail);
  // A payload or result of more than `max_bytes`. Without other faults the body counts as too large
  // rather than invalid.
  void too_large(const Path& path, std::size_t max_bytes);
  // invalid_json outranks every other fault: because of the bytes `where`, the body has no
  // unambiguous meaning.
  void invalid(std::string_view where, std::string_view reason);
  // The problem for refusing the body, if there is one; clears the faults.
  std::optional<Problem> take_faults();
  // Runs `read` and returns the faults that it caused, without earlier ones; for one item of a
  // batch.
  template <typename Read>
  std::optional<Problem> faults_of(Read&& read) {
    std::vector<FieldError> before = std::exchange(faults_, {});
    const std::size_t too_large_before = std::exchange(too_large_, 0);
    read();
    std::optional<Problem> made = take_faults();
    faults_ = std::move(before);
    too_large_ = too_large_before;
    return made;
  }
  std::optional<Problem> take_invalid();

  JsonCursor cursor;

 private:
  const DecodeLimits& limits_;
  std::string_view body_;
  std::vector<FieldError> faults_;
  std::size_t too_large_ = 0;  // the number of such faults
  std::optional<Problem> invalid_;
};

enum class NullMember : std::uint8_t { kLeftOut, kValue };

// Reads the value at the cursor into `out`, or records a fault; moves past the value in any case.
template <typename T>
struct Member {
  std::string_view name;
  void (*read)(Decode& decode, const Path& path, T& out);
  NullMember null = NullMember::kLeftOut;
  void (*copy)(const T& from, T& to) = nullptr;  // if the member can be given by `defaults`
};

// Members of a table, one bit each, in the table's order.
using MemberSet = std::uint32_t;

struct Seen {
  MemberSet named = 0;   // present, though perhaps null
  MemberSet valued = 0;  // present with a value, though perhaps an invalid one

  bool has(MemberSet set) const { return (valued & set) != 0; }
};

template <std::size_t N, typename T>
consteval MemberSet bit_of(const Member<T> (&members)[N], std::string_view name) {
  static_assert(N <= 32);
  for (std::size_t i = 0; i < N; ++i) {
    if (members[i].name == name) return MemberSet{1} << i;
  }
  throw "no such member";
}

// The untyped half of read_object(): walks the members, and calls `visit` for the known ones.
using Visit = void (*)(void* context, std::size_t index, const Path& path);
std::optional<Seen> walk_object(Decode& decode, const Path& path,
                                std::span<const std::string_view> names, MemberSet keeps_null,
                                Visit visit, void* context);

// nullopt: the value is not an object, which is recorded as a fault.
template <std::size_t N, typename T>
std::optional<Seen> read_object(Decode& decode, const Path& path, const Member<T> (&members)[N],
                                T& out) {
  static_assert(N <= 32);
  std::string_view names[N];
  MemberSet keeps_null = 0;
  for (std::size_t i = 0; i < N; ++i) {
    names[i] = members[i].name;
    if (members[i].null == NullMember::kValue) keeps_null |= MemberSet{1} << i;
  }
  struct Context {
    Decode& decode;
    const Member<T>* members;
    T& out;
  } context{decode, members, out};
  const auto visit = [](void* untyped, std::size_t index, const Path& member_path) {
    auto& typed = *static_cast<Context*>(untyped);
    typed.members[index].read(typed.decode, member_path, typed.out);
  };
  return walk_object(decode, path, names, keeps_null, visit, &context);
}

// Records a fault if the required member is missing.
void require(Decode& decode, const Path& path, std::string_view name, bool present);

std::string items_rule(std::size_t min, std::size_t max);

// An array of `min` to `max` elements; calls `read(path of the element)` for each. A longer array
// is a single fault.
template <typename Read>
bool read_array(Decode& decode, const Path& path, std::size_t min, std::size_t max, Read&& read);

std::string_view member_name(Decode& decode, std::string_view body, std::string& scratch);
void refuse_repeated(Decode& decode, std::string_view whole, std::vector<std::string> names);
// An object of at most `max` members with names chosen by the client: calls `read(name, path)` for
// each.
template <typename Read>
bool read_map(Decode& decode, const Path& path, std::size_t max, Read&& read);

// The kinds of values. Each returns whether `out` was set; if not, it has recorded a fault.
bool read_string(Decode& decode, const Path& path, std::string& out);
bool read_name(Decode& decode, const Path& path, std::string& out);
bool read_text(Decode& decode, const Path& path, std::size_t min_bytes, std::size_t max_bytes,
               std::string& out);
bool read_cut_text(Decode& decode, const Path& path, std::size_t max_bytes, std::string& out);
bool read_boolean(Decode& decode, const Path& path, bool& out);
bool read_integer(Decode& decode, const Path& path, std::int64_t min, std::int64_t max,
                  std::int64_t& out);
bool read_real(Decode& decode, const Path& path, double min, double max, double& out);
bool read_duration(Decode& decode, const Path& path, std::int64_t min_ms, std::int64_t max_ms,
                   Duration& out);
bool read_time(Decode& decode, const Path& path, Time& out);
bool read_id(Decode& decode, const Path& path, JobId& out);
bool read_raw(Decode& decode, const Path& path, std::size_t max_bytes, std::string_view& out);
bool read_names(Decode& decode, const Path& path, std::size_t min, std::size_t max,
                std::vector<std::string>& out);
bool read_string_map(Decode& decode, const Path& path, std::size_t max_bytes, StringMap& out);
// The index of the value within `words`.
bool read_word(Decode& decode, const Path& path, std::span<const std::string_view> words,
               std::size_t& out);
bool read_retry_policy(Decode& decode, const Path& path, RetryPolicy& out);

// Reads the same into an optional.
template <typename T, typename Read, typename... Bounds>
void read_into(std::optional<T>& out, Read read, Decode& decode, const Path& path,
               Bounds... bounds) {
  T value{};
  if (read(decode, path, bounds..., value)) out = std::move(value);
}

// Records a fault at `path` and moves past the value; returns false for the reader to return.
bool refuse_value(Decode& decode, const Path& path, std::string detail);

enum class EmptyBody : std::uint8_t { kRefused, kEmptyObject };

// The frame of every decoder: checks the size and the strict grammar, expects an object, then calls
// `read`; returns all faults.
std::optional<Problem> check_body(std::string_view body, const DecodeLimits& limits,
                                  EmptyBody empty);

template <typename T, typename Read>
Decoded<T> decode_body(std::string_view body, const DecodeLimits& limits, EmptyBody empty,
                       Read&& read) {
  if (auto problem = check_body(body, limits, empty)) return std::unexpected(std::move(*problem));
  Decode decode(body.empty() ? std::string_view("{}") : body, limits);
  T value{};
  read(decode, Path{}, value);
  if (auto problem = decode.take_invalid()) return std::unexpected(std::move(*problem));
  if (auto problem = decode.take_faults()) return std::unexpected(std::move(*problem));
  return value;
}

// Decodes a body whose members do not depend on each other.
template <typename T, std::size_t N>
Decoded<T> decode_members(std::string_view body, const DecodeLimits& limits, EmptyBody empty,
                          const Member<T> (&members)[N]) {
  return decode_body<T>(body, limits, empty, [&](Decode& decode, const Path& path, T& out) {
    read_object(decode, path, members, out);
  });
}

template <typename Read>
bool read_array(Decode& decode, const Path& path, std::size_t min, std::size_t max, Read&& read) {
  if (decode.cursor.type() != JsonType::kArray)
    return refuse_value(decode, path, "must be an array");
  decode.cursor.enter();
  std::size_t count = 0;
  while (decode.cursor.next_element()) {
    if (count < max) {
      read(Path{&path, {}, count});
    } else {
      decode.cursor.skip();
    }
    ++count;
  }
  if (count >= min && count <= max) return true;
  decode.fault(path, items_rule(min, max));
  return false;
}

template <typename Read>
bool read_map(Decode& decode, const Path& path, std::size_t max, Read&& read) {
  if (decode.cursor.type() != JsonType::kObject)
    return refuse_value(decode, path, "must be an object");
  const std::string_view whole = JsonCursor(decode.cursor).skip();
  std::vector<std::string> names;
  std::string scratch;
  std::string_view body;
  std::size_t count = 0;
  decode.cursor.enter();
  while (decode.cursor.next_member(body)) {
    if (++count > max) {
      decode.cursor.skip();
      continue;
    }
    names.emplace_back(member_name(decode, body, scratch));
    read(names.back(), Path{&path, names.back(), 0});
  }
  refuse_repeated(decode, whole, std::move(names));
  if (count <= max) return true;
  decode.fault(path, "must have at most " + std::to_string(max) + " members");
  return false;
}

}  // namespace millrace::api
