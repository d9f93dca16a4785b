// Files that a person names: settings, certificates, secrets, archives. Opening never waits. A FIFO
// without a writer would otherwise block its thread, and often the process's signals with it.
#pragma once

#include <sys/types.h>

#include <cstddef>
#include <expected>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"

namespace millrace {

// An open file descriptor.
class Descriptor {
 public:
  explicit Descriptor(int number) : number_(number) {}
  Descriptor(Descriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  Descriptor& operator=(Descriptor&&) = delete;
  ~Descriptor();
  bool ok() const { return number_ >= 0; }
  int number() const { return number_; }

 private:
  int number_;
};

// A path at which the caller of this program handed over an open stream, as a shell's <(...) does:
// /dev/stdin, /dev/fd/N, /proc/self/fd/N. Also /dev/null, which never waits. It can be read once.
bool is_stream(std::string_view path);

struct OpenFault {
  int code = 0;        // of errno; 0: it is not a regular file
  std::string reason;  // "No such file or directory"
};
// As ::open with O_CLOEXEC, for a regular file only.
std::expected<Descriptor, OpenFault> open_file(const std::string& path, int flags,
                                               ::mode_t mode = 0);

// A file that a person names has at most this many bytes, if nothing else is said.
inline constexpr std::size_t kMaxFileBytes = 16 * 1024 * 1024;

// What is left of an open file or stream. The error is the reason alone.
Result<std::string> read_all(int file, std::size_t max_bytes);

// The whole content of a regular file or a stream. The error names the path.
Result<std::string> read_file(const std::string& path, std::size_t max_bytes = kMaxFileBytes);

// Whether open_file() can read it; the error names the path. For code that opens the path itself.
Status check_file(const std::string& path);

}  // namespace millrace
