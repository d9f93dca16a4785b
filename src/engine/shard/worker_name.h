// A worker's name: the id that it gives itself and, if its token is limited to queues, the owner of
// that token. Equal ids under two such tokens are two workers: leases, commands and lists use the
// full name, on every node and after a restart too.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace millrace::engine {

// Ids never contain it. As the first character it marks a worker of the server itself.
inline constexpr char kOwnerMark = '~';

// "box7-1~0123456789ab"; an empty owner: "box7-1".
inline SharedBytes worker_name(std::string_view id, std::string_view owner) {
  if (owner.empty()) return SharedBytes(id);
  std::string name(id);
  name += kOwnerMark;
  name += owner;
  return SharedBytes(name);
}

// Empty: the worker has no owner.
inline std::string_view owner_in(std::string_view name) {
  const std::size_t mark = name.rfind(kOwnerMark);
  return mark == std::string_view::npos || mark == 0 ? std::string_view() : name.substr(mark + 1);
}

}  // namespace millrace::engine
