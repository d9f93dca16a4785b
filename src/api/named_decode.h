// Reads a value of an enumeration by its name.
#pragma once

#include "api/decode.h"
#include "terms/names.h"

namespace millrace::api {

template <terms::HasNames T>
bool read_named(Decode& decode, const Path& path, T& out) {
  std::size_t index = 0;
  if (!read_word(decode, path, terms::kNames<T>, index)) return false;
  out = static_cast<T>(index);
  return true;
}

}  // namespace millrace::api
