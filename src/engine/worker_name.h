// What a worker is called: the id that it gives itself and, where it comes with a token that is
// limited to queues, whose it is. Equal ids under two such tokens are two workers: leases, orders
// and lists know them by their whole names, on every node and after a restart too.
#pragma once

#include <string>
#include <string_view>

#include "base/bytes.h"

namespace millrace::engine {

// No id has it. In front it marks a worker of the server's own.
inline constexpr char kOwnerMark = '~';

// "box7-1~0123456789ab"; an empty owner: "box7-1".
inline SharedBytes worker_name(std::string_view id, std::string_view owner) {
  if (owner.empty()) return SharedBytes(id);
  std::string name(id);
  name += kOwnerMark;
  name += owner;
  return SharedBytes(name);
}

// Empty: nobody's alone.
inline std::string_view owner_in(std::string_view name) {
  const std::size_t mark = name.rfind(kOwnerMark);
  return mark == std::string_view::npos || mark == 0 ? std::string_view() : name.substr(mark + 1);
}

}  // namespace millrace::engine
