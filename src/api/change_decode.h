// Decodes a member of a change, for which null is a distinct value. Only for the sources of this
// room.
#pragma once

#include "api/decode.h"
#include "api/queue.h"

namespace millrace::api {

template <typename T, typename Read, typename... Bounds>
void read_change(Change<T>& out, Read read, Decode& decode, const Path& path, Bounds... bounds) {
  out.present = true;
  if (decode.cursor.type() == JsonType::kNull) {
    decode.cursor.skip();
  } else {
    read_into(out.value, read, decode, path, bounds...);
  }
}

}  // namespace millrace::api
