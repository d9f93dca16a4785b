#include "net/tls_stream.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include <boost/asio/error.hpp>
#include <boost/asio/post.hpp>

namespace millrace::net {
namespace {

namespace asio = boost::asio;

// A record holds at most 16 KiB. Several records per call keep a long answer from being split while
// the socket still accepts data.
constexpr std::size_t kMostInACall = std::size_t{1} << 20;

// The handshake's time limit, for connections counted among those shaking hands.
constexpr std::chrono::seconds kHandshakeTime{10};

// OpenSSL's reason for a connection's failure, for the log.
class TlsCategory final : public boost::system::error_category {
 public:
  const char* name() const noexcept override { return "tls"; }
  std::string message(int code) const override {
    const char* const reason = ::ERR_reason_error_string(static_cast<unsigned long>(code));
    return reason == nullptr ? "TLS failed" : std::string("TLS: ") + reason;
  }
};

const TlsCategory& tls_category() {
  static const TlsCategory category;
  return category;
}

std::string text_of(const ASN1_STRING* text) {
  return {reinterpret_cast<const char*>(::ASN1_STRING_get0_data(text)),
          static_cast<std::size_t>(::ASN1_STRING_length(text))};
}

std::string alternative_name_in(X509& certificate) {
  auto* const names = static_cast<GENERAL_NAMES*>(
      ::X509_get_ext_d2i(&certificate, NID_subject_alt_name, nullptr, nullptr));
  std::string first;
  for (int i = 0; first.empty() && i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* const name = sk_GENERAL_NAME_value(names, i);
    const bool counts = name->type == GEN_DNS || name->type == GEN_URI || name->type == GEN_EMAIL;
    if (counts) first = text_of(name->d.ia5);
  }
  ::GENERAL_NAMES_free(names);
  return first;
}

std::string name_in(X509& certificate) {
  if (std::string name = alternative_name_in(certificate); !name.empty()) return name;
  X509_NAME* const subject = ::X509_get_subject_name(&certificate);
  const int at = ::X509_NAME_get_index_by_NID(subject, NID_commonName, -1);
  if (at < 0) return {};
  return text_of(::X509_NAME_ENTRY_get_data(::X509_NAME_get_entry(subject, at)));
}

// Tells a client that speaks plain HTTP to this port why it fails.
void answer_in_the_clear(Socket& socket) {
  static constexpr std::string_view kAnswer =
      "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nContent-Length: 47\r\n"
      "Connection: close\r\n\r\nthis port speaks TLS; use https:// in the URL\r\n";
  ::send(socket.native_handle(), kAnswer.data(), kAnswer.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

class TlsStream::Connection final : public std::enable_shared_from_this<TlsStream::Connection> {
 public:
  Connection(Socket socket, ssl_st* ssl)
      : socket_(std::move(socket)), ssl_(ssl), handshake_end_(socket_.get_executor()) {
    error_code ignored;
    socket_.non_blocking(true, ignored);
    ::SSL_set_fd(ssl_, socket_.native_handle());
    ::SSL_set_mode(ssl_, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER |
                             SSL_MODE_RELEASE_BUFFERS);
  }
  ~Connection() { ::SSL_free(ssl_); }
  Connection(const Connection&) = delete;
  Connection& operator=(const Connection&) = delete;

  Executor executor() { return socket_.get_executor(); }

  void read_some(asio::mutable_buffer room, std::shared_ptr<User> user) {
    const Attempt read =
        attempt([&] { return ::SSL_read(ssl_, room.data(), bounded(room.size())); });
    if (read.waits()) {
      return wait_for(read, [self = shared_from_this(), room, user](const error_code& error) {
        if (error) return user->on_read(error, 0);
        self->read_some(room, user);
      });
    }
    later([user = std::move(user), read] { user->on_read(read.error, read.bytes); });
  }

  void watch(std::shared_ptr<User> user) {
    const Attempt peeked = peek();
    if (peeked.waits()) {
      return wait_for(peeked, [self = shared_from_this(), user](const error_code& error) {
        if (error) return user->on_readable(error);
        self->watch(user);
      });
    }
    later([user = std::move(user)] { user->on_readable({}); });
  }

  bool ended() {
    const Attempt peeked = peek();
    return !peeked.waits() && peeked.error;
  }

  std::size_t write_now(const Pieces& pieces, error_code& error) {
    std::size_t written = 0;
    for (asio::const_buffer piece : pieces) {
      while (piece.size() > 0) {
        const Attempt wrote = write(piece);
        if (wrote.waits()) return written;
        if (wrote.error) {
          error = wrote.error;
          return written;
        }
        written += wrote.bytes;
        piece += wrote.bytes;
      }
    }
    return written;
  }

  void write_some(const Pieces& pieces, std::shared_ptr<User> user) {
    const asio::const_buffer piece = pieces[0].size() > 0 ? pieces[0] : pieces[1];
    const Attempt wrote = write(piece);
    if (wrote.waits()) {
      return wait_for(wrote, [self = shared_from_this(), pieces, user](const error_code& error) {
        if (error) return user->on_written(error, 0);
        self->write_some(pieces, user);
      });
    }
    later([user = std::move(user), wrote] { user->on_written(wrote.error, wrote.bytes); });
  }

  std::string certified_name() const {
    X509* const shown = ::SSL_get0_peer_certificate(ssl_);
    if (shown == nullptr || ::SSL_get_verify_result(ssl_) != X509_V_OK) return {};
    return name_in(*shown);
  }

  // A connection that counts among those shaking hands must not hold its place for as long as a
  // client may be idle.
  void keep_through_handshake(std::shared_ptr<void> kept) {
    kept_ = std::move(kept);
    handshake_end_.expires_after(kHandshakeTime);
    handshake_end_.async_wait([weak = weak_from_this()](const error_code& error) {
      const auto self = weak.lock();
      if (error || self == nullptr || self->kept_ == nullptr) return;
      self->kept_.reset();
      self->broken_ = asio::error::timed_out;
      self->cancel();
    });
  }

  void cancel() {
    ++cancels_;
    error_code ignored;
    socket_.cancel(ignored);
  }

  void end_output() {
    say_goodbye();
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_send, ignored);
  }

  void close() {
    if (!socket_.is_open()) return;
    kept_.reset();
    handshake_end_.cancel();
    say_goodbye();
    broken_ = asio::error::operation_aborted;
    ++cancels_;
    error_code ignored;
    socket_.shutdown(asio::socket_base::shutdown_both, ignored);
    socket_.close(ignored);
  }

 private:
  // The result of an OpenSSL call. With neither bytes nor an error, it must wait for the socket.
  struct Attempt {
    std::size_t bytes = 0;
    error_code error{};
    Socket::wait_type for_what = Socket::wait_read;
    bool waits() const { return bytes == 0 && !error; }
  };

  static int bounded(std::size_t bytes) {
    return static_cast<int>(std::min<std::size_t>(bytes, kMostInACall));
  }

  template <typename Call>
  Attempt attempt(const Call& call) {
    if (broken_) return {.error = broken_};
    errno = 0;
    ::ERR_clear_error();  // errors left by another connection would be taken for this one's
    const int result = call();
    if (kept_ != nullptr && ::SSL_is_init_finished(ssl_)) {
      kept_.reset();
      handshake_end_.cancel();
    }
    if (result > 0) return {.bytes = static_cast<std::size_t>(result)};
    switch (::SSL_get_error(ssl_, result)) {
      case SSL_ERROR_WANT_READ:
        return {.for_what = Socket::wait_read};
      case SSL_ERROR_WANT_WRITE:
        return {.for_what = Socket::wait_write};
      case SSL_ERROR_ZERO_RETURN:
        return {.error = asio::error::eof};
      case SSL_ERROR_SYSCALL:
        broken_ = errno == 0 ? error_code(asio::error::eof)
                             : error_code(errno, boost::system::system_category());
        return {.error = broken_};
      default:
        broken_ = why_it_failed();
        return {.error = broken_};
    }
  }

  error_code why_it_failed() {
    const unsigned long reason = ::ERR_peek_error();
    switch (ERR_GET_REASON(reason)) {
      case SSL_R_UNEXPECTED_EOF_WHILE_READING:
        return asio::error::eof;
      case SSL_R_HTTP_REQUEST:
        answer_in_the_clear(socket_);
        break;
      default:
        break;
    }
    return {static_cast<int>(reason), tls_category()};
  }

  Attempt write(asio::const_buffer piece) {
    return attempt([&] { return ::SSL_write(ssl_, piece.data(), bounded(piece.size())); });
  }

  // If it finds the end or an error, the next read finds it again.
  Attempt peek() {
    char first = 0;
    return attempt([&] { return ::SSL_peek(ssl_, &first, 1); });
  }

  template <typename Then>
  void wait_for(const Attempt& attempt, Then then) {
    socket_.async_wait(attempt.for_what, [self = shared_from_this(), cancels = cancels_,
                                          then = std::move(then)](const error_code& error) {
      // A wait that had already completed when cancel() was called would otherwise start again.
      const bool cancelled = !error && cancels != self->cancels_;
      then(cancelled ? error_code(asio::error::operation_aborted) : error);
    });
  }

  // Defers the call: the user is called from the loop, never from inside a call to the stream.
  template <typename Then>
  void later(Then then) {
    asio::post(executor(), std::move(then));
  }

  // Tells the peer that the end is not a truncation.
  void say_goodbye() {
    if (broken_ || !::SSL_is_init_finished(ssl_)) return;
    ::ERR_clear_error();
    ::SSL_shutdown(ssl_);
  }

  Socket socket_;
  ssl_st* const ssl_;
  error_code broken_{};  // set: OpenSSL must not be called again
  std::uint64_t cancels_ = 0;
  std::shared_ptr<void> kept_;  // until the handshake is over
  Timer handshake_end_;
};

TlsStream::TlsStream(Socket socket, ssl_st* ssl)
    : connection_(std::make_shared<Connection>(std::move(socket), ssl)) {}
TlsStream::~TlsStream() { connection_->close(); }

Executor TlsStream::executor() { return connection_->executor(); }
void TlsStream::read_some(asio::mutable_buffer room, std::shared_ptr<User> user) {
  connection_->read_some(room, std::move(user));
}
void TlsStream::watch(std::shared_ptr<User> user) { connection_->watch(std::move(user)); }
bool TlsStream::ended() { return connection_->ended(); }
std::size_t TlsStream::write_now(const Pieces& pieces, error_code& error) {
  return connection_->write_now(pieces, error);
}
void TlsStream::write_some(const Pieces& pieces, std::shared_ptr<User> user) {
  connection_->write_some(pieces, std::move(user));
}
std::string TlsStream::certified_name() const { return connection_->certified_name(); }
void TlsStream::keep_through_handshake(std::shared_ptr<void> kept) {
  connection_->keep_through_handshake(std::move(kept));
}
void TlsStream::cancel() { connection_->cancel(); }
void TlsStream::end_output() { connection_->end_output(); }
void TlsStream::close() { connection_->close(); }

}  // namespace millrace::net
