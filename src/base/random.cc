#include "base/random.h"

#include <sys/random.h>

#include <cerrno>

#include "base/check.h"

namespace millrace {

void system_random_bytes(void* out, std::size_t size) {
  auto* cursor = static_cast<char*>(out);
  while (size > 0) {
    const ssize_t got = ::getrandom(cursor, size, 0);
    if (got < 0 && errno == EINTR) continue;
    MILLRACE_CHECK(got > 0);
    cursor += got;
    size -= static_cast<std::size_t>(got);
  }
}

std::uint64_t system_random() {
  std::uint64_t value = 0;
  system_random_bytes(&value, sizeof value);
  return value;
}

}  // namespace millrace
