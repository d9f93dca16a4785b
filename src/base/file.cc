#include "base/file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <optional>

namespace millrace {
namespace {

constexpr std::size_t kReadBytes = 64 * 1024;

OpenFault fault_of(int code) {
  // A socket, or a FIFO that nobody reads, is opened for writing.
  if (code == ENXIO) return {0, "it is not a regular file"};
  return {code, std::strerror(code)};
}

std::unexpected<Error> unreadable(const std::string& path, std::string_view reason) {
  return failure(fmt::format("can't read {}: {}", path, reason));
}

// The descriptor that the path names; none: it names a file.
std::optional<int> number_in(std::string_view path) {
  if (path == "/dev/stdin") return STDIN_FILENO;
  for (const std::string_view folder : {"/dev/fd/", "/proc/self/fd/"}) {
    if (!path.starts_with(folder)) continue;
    int number = 0;
    const char* const end = path.data() + path.size();
    const auto [read, fault] = std::from_chars(path.data() + folder.size(), end, number);
    if (fault == std::errc() && read == end) return number;
  }
  return std::nullopt;
}

std::expected<Descriptor, OpenFault> open_to_read(const std::string& path) {
  if (!is_stream(path)) return open_file(path, O_RDONLY);
  const auto number = number_in(path);
  // Not opened by its path, which would begin a file anew, and fails for a socket.
  Descriptor stream(number ? ::fcntl(*number, F_DUPFD_CLOEXEC, 0)
                           : ::open(path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!stream.ok()) return std::unexpected(fault_of(errno));
  return stream;
}

}  // namespace

Descriptor::~Descriptor() {
  if (number_ >= 0) ::close(number_);
}

bool is_stream(std::string_view path) { return path == "/dev/null" || number_in(path); }

std::expected<Descriptor, OpenFault> open_file(const std::string& path, int flags, ::mode_t mode) {
  Descriptor file(::open(path.c_str(), flags | O_CLOEXEC | O_NONBLOCK | O_NOCTTY, mode));
  struct stat facts{};
  if (!file.ok() || ::fstat(file.number(), &facts) != 0) return std::unexpected(fault_of(errno));
  if (S_ISDIR(facts.st_mode)) return std::unexpected(fault_of(EISDIR));
  if (!S_ISREG(facts.st_mode)) return std::unexpected(fault_of(ENXIO));
  return file;
}

Result<std::string> read_all(int file, std::size_t max_bytes) {
  std::string content;
  std::array<char, kReadBytes> buffer;
  while (true) {
    const ssize_t got = ::read(file, buffer.data(), buffer.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(std::strerror(errno));
    if (got == 0) return content;
    content.append(buffer.data(), static_cast<std::size_t>(got));
    if (content.size() > max_bytes) {
      return failure(fmt::format("it has more than {} bytes", max_bytes));
    }
  }
}

Result<std::string> read_file(const std::string& path, std::size_t max_bytes) {
  const auto file = open_to_read(path);
  if (!file) return unreadable(path, file.error().reason);
  auto content = read_all(file->number(), max_bytes);
  if (!content) return unreadable(path, content.error().message);
  return content;
}

Status check_file(const std::string& path) {
  if (is_stream(path)) return {};
  if (const auto file = open_file(path, O_RDONLY); !file) {
    return unreadable(path, file.error().reason);
  }
  return {};
}

}  // namespace millrace
