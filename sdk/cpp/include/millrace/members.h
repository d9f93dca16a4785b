// Defines a Codec for a structure from the names of its members. Included by client.h and
// handler.h.
#pragma once

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>

#include "millrace/codec.h"

namespace millrace::sdk::detail {

// A member's name as a template argument, so that an error of the compiler shows it.
template <std::size_t size>
struct MemberName {
  char text[size]{};
  consteval MemberName(const char (&name)[size]) { std::ranges::copy(name, text); }
};

// `access(value)` is the member, if there is one of this name.
template <MemberName name, typename T, typename Access>
void write_member(JsonWriter& json, const T& value, [[maybe_unused]] Access access) {
  constexpr bool kIsMember = std::invocable<Access, const T&>;
  static_assert(kIsMember, "MILLRACE_JSON names a member that the structure does not have");
  if constexpr (kIsMember) json.key(name.text).raw(sdk::encode(access(value)));
}

// A missing member is an error, unless it is optional.
template <typename Member>
void read_into(JsonView object, std::string_view name, Member& out) {
  const JsonView member = object[name];
  if constexpr (requires {
                  typename Member::value_type;
                  out.has_value();
                }) {
    if (!member) return out.reset();
  }
  if (!member) throw BadJson("the member \"" + std::string(name) + "\" is missing");
  try {
    out = decode<Member>(member.text());
  } catch (const BadJson& fault) {
    throw BadJson(std::string(name) + ": " + fault.what());
  }
}

template <typename T, typename Access>
void read_member(JsonView object, std::string_view name, T& value, Access access) {
  if constexpr (std::invocable<Access, T&>) read_into(object, name, access(value));
}

}  // namespace millrace::sdk::detail

// MILLRACE_JSON(Mail, to, subject), used outside of any namespace, defines a Codec that maps the
// structure to a JSON object with these members. A missing member throws BadJson unless it is a
// std::optional; unknown members are ignored.
#define MILLRACE_JSON(Type, ...)                                                 \
  template <>                                                                    \
  struct millrace::sdk::Codec<Type> {                                            \
    static std::string encode(const Type& value) {                               \
      ::millrace::sdk::JsonWriter json;                                          \
      json.begin_object();                                                       \
      MILLRACE_JSON_EXPAND(MILLRACE_JSON_EACH(MILLRACE_JSON_WRITE, __VA_ARGS__)) \
      return json.end_object().take();                                           \
    }                                                                            \
    static Type decode(std::string_view text) {                                  \
      const auto object = ::millrace::sdk::detail::object_of(text);              \
      Type value{};                                                              \
      MILLRACE_JSON_EXPAND(MILLRACE_JSON_EACH(MILLRACE_JSON_READ, __VA_ARGS__))  \
      return value;                                                              \
    }                                                                            \
  }

#define MILLRACE_JSON_WRITE(member) \
  ::millrace::sdk::detail::write_member<#member>(json, value, MILLRACE_JSON_ACCESS(member));
#define MILLRACE_JSON_READ(member) \
  ::millrace::sdk::detail::read_member(object, #member, value, MILLRACE_JSON_ACCESS(member));
// Generic, so that a name that is no member's is no error here, of thousands of lines about macros.
#define MILLRACE_JSON_ACCESS(member) [](auto& of) -> decltype((of.member)) { return (of.member); }

// Applies `macro` to each argument. Each round of expansion handles one argument; 256 rounds
// suffice.
#define MILLRACE_JSON_EACH(macro, first, ...) \
  macro(first) __VA_OPT__(MILLRACE_JSON_AGAIN MILLRACE_JSON_PARENS(macro, __VA_ARGS__))
#define MILLRACE_JSON_AGAIN() MILLRACE_JSON_EACH
#define MILLRACE_JSON_PARENS ()
#define MILLRACE_JSON_EXPAND(...) \
  MILLRACE_JSON_EXPAND4(          \
      MILLRACE_JSON_EXPAND4(MILLRACE_JSON_EXPAND4(MILLRACE_JSON_EXPAND4(__VA_ARGS__))))
#define MILLRACE_JSON_EXPAND4(...) \
  MILLRACE_JSON_EXPAND3(           \
      MILLRACE_JSON_EXPAND3(MILLRACE_JSON_EXPAND3(MILLRACE_JSON_EXPAND3(__VA_ARGS__))))
#define MILLRACE_JSON_EXPAND3(...) \
  MILLRACE_JSON_EXPAND2(           \
      MILLRACE_JSON_EXPAND2(MILLRACE_JSON_EXPAND2(MILLRACE_JSON_EXPAND2(__VA_ARGS__))))
#define MILLRACE_JSON_EXPAND2(...) \
  MILLRACE_JSON_EXPAND1(           \
      MILLRACE_JSON_EXPAND1(MILLRACE_JSON_EXPAND1(MILLRACE_JSON_EXPAND1(__VA_ARGS__))))
#define MILLRACE_JSON_EXPAND1(...) __VA_ARGS__
