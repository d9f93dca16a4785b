#include "net/local_socket.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace millrace::net {
namespace {

std::unexpected<Error> refusal(const std::string& path, const std::string& why) {
  return failure("can't listen on unix:" + path + ": " + why);
}

bool fill(const std::string& path, sockaddr_un& address) {
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) return false;
  std::memcpy(address.sun_path, path.data(), path.size());
  return true;
}

enum class Lying { kNothing, kStale, kAlive, kOther };

Lying what_lies_at(const std::string& path, const sockaddr_un& address) {
  struct stat found{};
  if (::lstat(path.c_str(), &found) != 0) return Lying::kNothing;
  if (!S_ISSOCK(found.st_mode)) return Lying::kOther;
  const int probe = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (probe < 0) return Lying::kAlive;
  const int connected =
      ::connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address);
  const int why = errno;
  ::close(probe);
  return connected != 0 && why == ECONNREFUSED ? Lying::kStale : Lying::kAlive;
}

Status make_way(const std::string& path, const sockaddr_un& address) {
  switch (what_lies_at(path, address)) {
    case Lying::kNothing:
      return {};
    case Lying::kStale:
      if (::unlink(path.c_str()) == 0 || errno == ENOENT) return {};
      return refusal(path, std::string("can't remove the file that a dead server left: ") +
                               std::strerror(errno));
    case Lying::kAlive:
      return refusal(path,
                     "another process listens there: stop it, or choose another path with "
                     "--listen");
    case Lying::kOther:
      break;
  }
  return refusal(path,
                 "a file that is no socket lies there: remove it, or choose another path with "
                 "--listen");
}

}  // namespace

Result<int> listen_at(const std::string& path, mode_t mode, int backlog) {
  sockaddr_un address{};
  if (!fill(path, address)) return refusal(path, "the path must have 1 to 107 bytes");
  if (Status way = make_way(path, address); !way) return std::unexpected(std::move(way.error()));
  const int descriptor = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (descriptor < 0) return refusal(path, std::strerror(errno));
  // No client can connect before the permissions are set, since the socket does not listen yet.
  const bool listens =
      ::bind(descriptor, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 &&
      ::chmod(path.c_str(), mode) == 0 && ::listen(descriptor, backlog) == 0;
  if (listens) return descriptor;
  const int why = errno;
  ::close(descriptor);
  return refusal(
      path, std::string(std::strerror(why)) + (why == ENOENT ? "; make its directory first" : ""));
}

Status can_listen_at(const std::string& path) {
  sockaddr_un address{};
  if (!fill(path, address)) return refusal(path, "the path must have 1 to 107 bytes");
  return make_way(path, address);
}

void remove_listener(const std::string& path, int descriptor) {
  // The kernel's name for the socket proves nothing: another file may have been put there since.
  struct stat there{};
  sockaddr_un own{};
  socklen_t size = sizeof own;
  if (::lstat(path.c_str(), &there) != 0 || !S_ISSOCK(there.st_mode)) return;
  if (::getsockname(descriptor, reinterpret_cast<sockaddr*>(&own), &size) != 0) return;
  if (path == own.sun_path) ::unlink(path.c_str());
}

std::string user_of(int descriptor) {
  ucred credentials{};
  socklen_t size = sizeof credentials;
  if (::getsockopt(descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &size) != 0) return "unix";
  return "unix:" + std::to_string(credentials.uid);
}

}  // namespace millrace::net
