#include "net/preface.h"

#include <sys/socket.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <string_view>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

#include "net/proxy_header.h"

namespace millrace::net {
namespace {

namespace asio = boost::asio;

// A proxy sends its header at once, in one piece. A proxy that opens connections ahead of need, and
// sends no header, sends nothing until it has a request. Such a connection is served as it is.
constexpr std::chrono::seconds kPatience{5};
// Waiting for readability does not help with a partial header, whose bytes are already readable.
constexpr std::chrono::milliseconds kNextLook{10};

}  // namespace

Preface::Preface(Socket socket, Done done, Refused refused)
    : socket_(std::move(socket)),
      pause_(socket_.get_executor()),
      deadline_(socket_.get_executor()),
      done_(std::move(done)),
      refused_(std::move(refused)) {}

void Preface::start() {
  asio::post(socket_.get_executor(), [self = shared_from_this()] {
    error_code ignored;
    self->socket_.non_blocking(true, ignored);
    self->deadline_.expires_after(kPatience);
    self->deadline_.async_wait([weak = std::weak_ptr(self)](const error_code& error) {
      const auto alive = weak.lock();
      if (error || alive == nullptr || !alive->done_) return;
      alive->late_ = true;
      alive->look();
    });
    self->look();
  });
}

void Preface::look() {
  if (!done_) return;
  std::array<char, kMaxProxyHeaderBytes> room{};
  const ssize_t received =
      ::recv(socket_.native_handle(), room.data(), room.size(), MSG_PEEK | MSG_DONTWAIT);
  const bool nothing = received < 0 && (errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR);
  if (nothing) return late_ ? finish({}) : look_when_readable();
  if (received <= 0) return refuse({});  // the client has closed
  ProxyHeader header = read_proxy_header({room.data(), static_cast<std::size_t>(received)});
  switch (header.verdict) {
    case ProxyHeader::Verdict::kAbsent:
      return finish({});
    case ProxyHeader::Verdict::kNeedMore:
      return late_ ? refuse("the PROXY header did not arrive in time") : look_soon();
    case ProxyHeader::Verdict::kRefused:
      return refuse(header.reason);
    case ProxyHeader::Verdict::kComplete:
      take(header.bytes);
      return finish(std::move(header.address));
  }
}

void Preface::look_when_readable() {
  socket_.async_wait(Socket::wait_read, [self = shared_from_this()](const error_code& error) {
    error ? self->refuse({}) : self->look();
  });
}

void Preface::look_soon() {
  pause_.expires_after(kNextLook);
  pause_.async_wait([self = shared_from_this()](const error_code& error) {
    if (!error) self->look();
  });
}

void Preface::take(std::size_t bytes) {
  std::array<char, kMaxProxyHeaderBytes> room{};
  [[maybe_unused]] const ssize_t taken =
      ::recv(socket_.native_handle(), room.data(), bytes, MSG_DONTWAIT);
}

void Preface::refuse(std::string_view reason) {
  if (!std::exchange(done_, nullptr)) return;
  deadline_.cancel();
  if (!reason.empty()) {
    const std::string answer =
        "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: " +
        std::to_string(reason.size() + 2) + "\r\nConnection: close\r\n\r\n" + std::string(reason) +
        "\r\n";
    ::send(socket_.native_handle(), answer.data(), answer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  error_code ignored;
  socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  take(kMaxProxyHeaderBytes);  // unread bytes would turn the close into a reset
  socket_.close(ignored);
  refused_();
}

void Preface::finish(std::string address) {
  const Done done = std::exchange(done_, nullptr);
  deadline_.cancel();
  // A pending wait for readability must not outlive the hand-over.
  error_code ignored;
  socket_.cancel(ignored);
  done(std::move(socket_), std::move(address));
}

}  // namespace millrace::net
