// How this room decodes a body: a table of members per object, one reading function per kind of
// value, every fault kept with its JSON Pointer. Only for the sources of this room.
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

// Where a value stands, as a chain on the stack; written out only when something is wrong there.
struct Path {
  const Path* parent = nullptr;  // null: the root
  std::string_view name;         // of a member
  std::size_t index = 0;         // of an element, where the name has no data
};
std::string to_pointer(const Path& path);

// The state of decoding one body.
class Decode {
 public:
  Decode(std::string_view body, const DecodeLimits& limits)
      : cursor(body), limits_(limits), body_(body) {}

  const DecodeLimits& limits() const { return limits_; }

  void fault(const Path& path, std::string detail);
  // A payload or result of more than `max_bytes`. Where nothing else is at fault the body is not
  // invalid, but too large.
  void too_large(const Path& path, std::size_t max_bytes);
  // invalid_json outranks every fault: the bytes `where` of it make the body no envelope that can
  // be read one way.
  void invalid(std::string_view where, std::string_view reason);
  // What there is to refuse, if anything; begins anew.
  std::optional<Problem> take_faults();
  // Runs `read` and gives the faults it made, apart from those before: one item of a batch.
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
  std::size_t too_large_ = 0;  // so many of them
  std::optional<Problem> invalid_;
};

enum class NullMember : std::uint8_t { kLeftOut, kValue };

// Reads the value before the cursor into `out`, or faults; moves behind it in any case.
template <typename T>
struct Member {
  std::string_view name;
  void (*read)(Decode& decode, const Path& path, T& out);
  NullMember null = NullMember::kLeftOut;
  void (*copy)(const T& from, T& to) = nullptr;  // where the member may be given by default
};

// Members of a table, one bit for each in its order.
using MemberSet = std::uint32_t;

struct Seen {
  MemberSet named = 0;   // there, though perhaps null
  MemberSet valued = 0;  // there with a value, though perhaps a wrong one

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

// The untyped half of read_object(): walks the members, and calls `visit` for the known ones that
// are there.
using Visit = void (*)(void* context, std::size_t index, const Path& path);
std::optional<Seen> walk_object(Decode& decode, const Path& path,
                                std::span<const std::string_view> names, MemberSet keeps_null,
                                Visit visit, void* context);

// nullopt: no object stands there, and that is a fault.
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

// A fault where the required member is not there.
void require(Decode& decode, const Path& path, std::string_view name, bool present);

std::string items_rule(std::size_t min, std::size_t max);

// An array of `min` to `max` elements; `read(path of the element)` for each. A longer one is a
// fault as a whole.
template <typename Read>
bool read_array(Decode& decode, const Path& path, std::size_t min, std::size_t max, Read&& read);

// The kinds of values. Each says whether `out` was set; if not, it has faulted.
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
// The index of the word within `words`.
bool read_word(Decode& decode, const Path& path, std::span<const std::string_view> words,
               std::size_t& out);
bool read_retry_policy(Decode& decode, const Path& path, RetryPolicy& out);

// The same into an optional.
template <typename T, typename Read, typename... Bounds>
void read_into(std::optional<T>& out, Read read, Decode& decode, const Path& path,
               Bounds... bounds) {
  T value{};
  if (read(decode, path, bounds..., value)) out = std::move(value);
}

// A fault at `path`, and moves behind the value; false, for a reader to return.
bool refuse_value(Decode& decode, const Path& path, std::string detail);

enum class EmptyBody : std::uint8_t { kRefused, kEmptyObject };

// The frame of every decoder: size, the strict check, an object, then `read`; then whatever was
// wrong.
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

// A body whose members do not depend on each other.
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

}  // namespace millrace::api
