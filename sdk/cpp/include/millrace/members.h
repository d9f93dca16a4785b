// Defines a Codec for a structure from the names of its members. Included by client.h and
// handler.h.
#pragma once

#include <string>
#include <string_view>

#include "millrace/codec.h"

namespace millrace::sdk::detail {

// Reads one member. A missing member is an error, unless `out` is optional.
template <typename T>
void read_member(JsonView object, std::string_view name, T& out) {
  const JsonView member = object[name];
  if constexpr (requires {
                  typename T::value_type;
                  out.has_value();
                }) {
    if (!member) return out.reset();
  }
  if (!member) throw BadJson("the member \"" + std::string(name) + "\" is missing");
  try {
    out = decode<T>(member.text());
  } catch (const BadJson& fault) {
    throw BadJson(std::string(name) + ": " + fault.what());
  }
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

#define MILLRACE_JSON_WRITE(member) json.key(#member).raw(::millrace::sdk::encode(value.member));
#define MILLRACE_JSON_READ(member) \
  ::millrace::sdk::detail::read_member(object, #member, value.member);

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
