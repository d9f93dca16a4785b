#include "base/check.h"

#include <cstdio>
#include <cstdlib>

namespace millrace {

void check_failed(const char* expression, const char* file, int line) {
  std::fprintf(stderr, "millrace: CHECK failed: %s (%s:%d)\n", expression, file, line);
  std::abort();
}

}  // namespace millrace
