// A Codec for a structure, by the names of its members. client.h and handler.h include it.
#pragma once

#include <string>
#include <string_view>

#include "millrace/codec.h"

namespace millrace::sdk::detail {

// A member of a structure. One that is missing is an error, unless it is optional.
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

// MILLRACE_JSON(Mail, to, subject), outside of every namespace: a Codec for a structure, as a JSON
// object with these members. A member that is missing is BadJson unless it is a std::optional;
// members that the structure lacks are passed over.
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

// Applies `macro` to each argument: each round of expansion takes one, and 256 rounds are enough.
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
