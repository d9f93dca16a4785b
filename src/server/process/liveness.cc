#include "server/process/liveness.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace millrace::server {

std::optional<Time> LivenessFile::read() const {
  const auto content = read_file(path_);
  if (!content) return std::nullopt;
  return parse_rfc3339(std::string_view(*content).substr(0, content->find('\n')));
}

Status LivenessFile::write(Time alive_at) {
  if (!file_) {
    auto opened = open_file(path_, O_WRONLY | O_CREAT, 0600);
    if (!opened) return failure(fmt::format("{}: {}", path_, opened.error().reason));
    file_.emplace(std::move(*opened));
  }
  // Always of the same length, so one write replaces it completely.
  const std::string line = format_rfc3339(alive_at) + '\n';
  if (::pwrite(file_->number(), line.data(), line.size(), 0) != static_cast<ssize_t>(line.size())) {
    return failure(fmt::format("{}: {}", path_, std::strerror(errno)));
  }
  return {};
}

}  // namespace millrace::server
