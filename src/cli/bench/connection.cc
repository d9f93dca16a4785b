#include "cli/bench/connection.h"

#include <fmt/format.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <charconv>
#include <cstring>
#include <memory>
#include <optional>

#include "base/ascii.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kHeadEnd = "\r\n\r\n";

template <typename Number>
std::optional<Number> read_number(std::string_view text) {
  Number number{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (fault != std::errc{} || end == text.data()) return std::nullopt;
  return number;
}

struct Head {
  int status = 0;
  std::size_t length = 0;
};

// Only for Millrace's answers: they have a Content-Length.
std::optional<Head> read_head(std::string_view text) {
  Head head;
  if (!text.starts_with("HTTP/1.1 ")) return std::nullopt;
  const auto status = read_number<int>(text.substr(9));
  if (!status) return std::nullopt;
  head.status = *status;
  std::optional<std::size_t> length;
  for (std::size_t at = text.find("\r\n"); at != std::string_view::npos;) {
    const std::size_t begin = at + 2;
    at = text.find("\r\n", begin);
    std::string_view line = text.substr(begin, at == std::string_view::npos ? at : at - begin);
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    if (!equals_ignoring_case(line.substr(0, colon), "content-length")) continue;
    line.remove_prefix(colon + 1);
    while (line.starts_with(' ')) line.remove_prefix(1);
    length = read_number<std::size_t>(line);
  }
  if (!length) return std::nullopt;
  head.length = *length;
  return head;
}

}  // namespace

Result<ServerAddress> parse_address(std::string_view url) {
  constexpr std::string_view kScheme = "http://";
  if (!url.starts_with(kScheme)) {
    return failure(fmt::format("bench speaks plain HTTP only; {} must begin with http://", url));
  }
  url.remove_prefix(kScheme.size());
  ServerAddress address;
  const std::size_t slash = url.find('/');
  std::string_view authority = url.substr(0, slash);
  if (slash != std::string_view::npos) address.path = url.substr(slash);
  while (address.path.ends_with('/')) address.path.pop_back();
  const std::size_t colon = authority.rfind(':');
  if (colon != std::string_view::npos && authority.find(']', colon) == std::string_view::npos) {
    address.port = authority.substr(colon + 1);
    authority = authority.substr(0, colon);
  } else {
    address.port = "80";
  }
  if (authority.starts_with('[') && authority.ends_with(']')) {
    authority = authority.substr(1, authority.size() - 2);
  }
  address.host = authority;
  if (address.host.empty()) return failure("the address of the server has no host");
  return address;
}

std::string request_head(const ServerAddress& address, std::string_view token,
                         std::string_view path) {
  const bool is_ipv6 = address.host.find(':') != std::string::npos;
  std::string head = fmt::format(
      "POST {}{} HTTP/1.1\r\nHost: {}:{}\r\nContent-Type: application/json\r\n", address.path, path,
      is_ipv6 ? "[" + address.host + "]" : address.host, address.port);
  if (!token.empty()) head += fmt::format("Authorization: Bearer {}\r\n", token);
  return head + "Content-Length: ";
}

BenchConnection::~BenchConnection() {
  if (socket_ >= 0) ::close(socket_);
}

Status BenchConnection::open(const ServerAddress& address) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  if (const int fault = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
      fault != 0) {
    return failure(fmt::format("cannot find {}: {}", address.host, gai_strerror(fault)));
  }
  const std::unique_ptr<addrinfo, decltype(&freeaddrinfo)> guard(found, freeaddrinfo);
  int last_fault = 0;
  for (const addrinfo* at = found; at != nullptr; at = at->ai_next) {
    const int fd = ::socket(at->ai_family, at->ai_socktype | SOCK_CLOEXEC, at->ai_protocol);
    if (fd >= 0 && ::connect(fd, at->ai_addr, at->ai_addrlen) == 0) {
      const int on = 1;
      setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      socket_ = fd;
      return {};
    }
    last_fault = errno;
    if (fd >= 0) ::close(fd);
  }
  return failure(
      fmt::format("cannot reach {}:{}: {}", address.host, address.port, std::strerror(last_fault)));
}

void BenchConnection::abort() { ::shutdown(socket_, SHUT_RDWR); }

Status BenchConnection::send(std::string_view head, std::string_view body) {
  std::string length = std::to_string(body.size()) + "\r\n\r\n";
  iovec parts[] = {{const_cast<char*>(head.data()), head.size()},
                   {length.data(), length.size()},
                   {const_cast<char*>(body.data()), body.size()}};
  msghdr message{};
  message.msg_iov = parts;
  message.msg_iovlen = 3;
  while (message.msg_iovlen > 0) {
    const ssize_t sent = ::sendmsg(socket_, &message, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0)
      return failure(fmt::format("bench lost the connection: {}", std::strerror(errno)));
    auto left = static_cast<std::size_t>(sent);
    while (message.msg_iovlen > 0 && left >= message.msg_iov->iov_len) {
      left -= message.msg_iov->iov_len;
      ++message.msg_iov;
      --message.msg_iovlen;
    }
    if (message.msg_iovlen == 0) break;
    message.msg_iov->iov_base = static_cast<char*>(message.msg_iov->iov_base) + left;
    message.msg_iov->iov_len -= left;
  }
  return {};
}

Status BenchConnection::receive_more() {
  if (received_.size() < filled_ + receive_bytes_) received_.resize(filled_ + receive_bytes_);
  for (;;) {
    const ssize_t got = ::recv(socket_, received_.data() + filled_, received_.size() - filled_, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) return failure(fmt::format("bench lost the connection: {}", std::strerror(errno)));
    if (got == 0) return failure("the server closed the connection");
    filled_ += static_cast<std::size_t>(got);
    return {};
  }
}

Result<BenchConnection::Answer> BenchConnection::exchange(std::string_view head,
                                                          std::string_view body) {
  if (const auto sent = send(head, body); !sent) return std::unexpected(sent.error());
  return receive();
}

Result<BenchConnection::Answer> BenchConnection::receive() {
  filled_ = 0;
  std::size_t head_end = std::string::npos;
  while (head_end == std::string::npos) {
    const std::size_t before = filled_;
    if (const auto got = receive_more(); !got) return std::unexpected(got.error());
    const std::size_t from = before < kHeadEnd.size() ? 0 : before - kHeadEnd.size();
    head_end = std::string_view(received_.data(), filled_).find(kHeadEnd, from);
  }
  const auto read = read_head(std::string_view(received_.data(), head_end));
  if (!read) return failure("the server's answer is not an answer of Millrace; check --url");
  const std::size_t begin = head_end + kHeadEnd.size();
  while (filled_ < begin + read->length) {
    if (const auto got = receive_more(); !got) return std::unexpected(got.error());
  }
  return Answer{read->status, std::string_view(received_.data() + begin, read->length)};
}

}  // namespace millrace::cli
