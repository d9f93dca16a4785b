#include "server/liveness.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <fstream>

namespace millrace::server {

LivenessFile::~LivenessFile() {
  if (fd_ >= 0) ::close(fd_);
}

std::optional<Time> LivenessFile::read() const {
  std::ifstream stream(path_);
  std::string line;
  if (!std::getline(stream, line)) return std::nullopt;
  return parse_rfc3339(line);
}

Status LivenessFile::write(Time alive_at) {
  if (fd_ < 0) fd_ = ::open(path_.c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
  // Always of the same length, so one write replaces it completely.
  const std::string line = format_rfc3339(alive_at) + '\n';
  if (fd_ < 0 || ::pwrite(fd_, line.data(), line.size(), 0) != static_cast<ssize_t>(line.size())) {
    return failure(fmt::format("{}: {}", path_, std::strerror(errno)));
  }
  return {};
}

}  // namespace millrace::server
