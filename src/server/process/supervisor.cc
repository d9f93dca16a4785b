#include "server/process/supervisor.h"

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdlib>

namespace millrace::server {
namespace {

std::string_view variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string_view() : value;
}

// Zero: the variable is not set or not a number.
std::int64_t number(const char* name) {
  const std::string_view text = variable(name);
  std::int64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc() && end == text.data() + text.size() ? value : 0;
}

}  // namespace

Supervisor Supervisor::from_environment() {
  Supervisor supervisor;
  const std::string_view socket = variable("NOTIFY_SOCKET");
  if (!socket.starts_with('/') && !socket.starts_with('@')) return supervisor;
  supervisor.socket_ = socket;

  const std::int64_t within_us = number("WATCHDOG_USEC");
  const std::int64_t pid = number("WATCHDOG_PID");  // zero: meant for any process
  if (within_us > 0 && (pid == 0 || pid == ::getpid())) {
    supervisor.every_ = std::chrono::microseconds(within_us) / 2;
    supervisor.next_sign_ = Steady{};
  }
  return supervisor;
}

void Supervisor::alive(Steady now) {
  tell("WATCHDOG=1");
  next_sign_ = now + every_;
}

void Supervisor::tell(std::string_view message) const {
  sockaddr_un address{};
  if (socket_.empty() || socket_.size() >= sizeof address.sun_path) return;
  address.sun_family = AF_UNIX;
  std::ranges::copy(socket_, address.sun_path);
  if (socket_.front() == '@')
    address.sun_path[0] = '\0';  // an abstract name has a length and no terminating zero

  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  const auto length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + socket_.size());
  [[maybe_unused]] const ssize_t sent =
      ::sendto(fd, message.data(), message.size(), MSG_NOSIGNAL | MSG_DONTWAIT,
               reinterpret_cast<const sockaddr*>(&address), length);
  ::close(fd);
}

}  // namespace millrace::server
