// CHECKs stay on in production: a broken invariant stops the process before wrong data is written.
#pragma once

namespace millrace {

[[noreturn]] void check_failed(const char* expression, const char* file, int line);

}  // namespace millrace

#define MILLRACE_CHECK(condition)                               \
  do {                                                          \
    if (!(condition)) [[unlikely]]                              \
      ::millrace::check_failed(#condition, __FILE__, __LINE__); \
  } while (false)
