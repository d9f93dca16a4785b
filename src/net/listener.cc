#include "net/listener.h"

#include <fcntl.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <memory>
#include <utility>

#include <boost/asio/post.hpp>

#include "net/local_socket.h"
#include "net/preface.h"

namespace millrace::net {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;

// The kernel's queue of connections not yet accepted.
constexpr int kBacklog = 4096;
constexpr std::chrono::milliseconds kPauseWithoutMeans{100};

// Detects within a minute that a peer has vanished.
constexpr int kKeepAliveIdleS = 30;
constexpr int kKeepAliveIntervalS = 10;
constexpr int kKeepAliveProbes = 3;

int open_spare() { return ::open("/dev/null", O_RDONLY | O_CLOEXEC); }

void set_option(int descriptor, int level, int option, int value) {
  ::setsockopt(descriptor, level, option, &value, sizeof value);
}

void prepare(Socket& socket) {
  const int descriptor = socket.native_handle();
  set_option(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  set_option(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, kKeepAliveIdleS);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, kKeepAliveIntervalS);
  set_option(descriptor, IPPROTO_TCP, TCP_KEEPCNT, kKeepAliveProbes);
}

// The connection was aborted before it was accepted; the next accept may succeed at once.
bool is_of_the_connection(const error_code& error) {
  return error == asio::error::connection_aborted || error.value() == EPROTO;
}

std::string bind_failure(const std::string& where, const error_code& error) {
  std::string text = "can't listen on " + where + ": " + error.message();
  if (error == asio::error::address_in_use) {
    text += "; another process has this port: stop it, or choose another with --listen";
  } else if (error == asio::error::access_denied) {
    text += "; ports below 1024 need a privilege: choose another with --listen";
  } else if (error.value() == EADDRNOTAVAIL) {
    text += "; this machine has no such address";
  }
  return text;
}

// Opens and binds the acceptor, but does not listen.
template <typename Acceptor>
Status bind_acceptor(Acceptor& acceptor, const std::string& host, std::uint16_t port, int backlog) {
  const bool v6 = host.find(':') != std::string::npos;
  const std::string where = (v6 ? "[" + host + "]" : host) + ":" + std::to_string(port);
  error_code error;
  const asio::ip::address address = asio::ip::make_address(host, error);
  if (error) return failure("can't listen on " + where + ": not an address");
  const tcp::endpoint endpoint(address, port);
  acceptor.open(endpoint.protocol(), error);
  if (!error) acceptor.set_option(asio::socket_base::reuse_address(true), error);
  if (!error) acceptor.bind(endpoint, error);
  if (!error && backlog > 0) acceptor.listen(backlog, error);
  if (error) return failure(bind_failure(where, error));
  return {};
}

}  // namespace

Status can_listen(const std::string& host, std::uint16_t port) {
  asio::io_context context;
  tcp::acceptor acceptor(context);
  return bind_acceptor(acceptor, host, port, 0);
}

Listener::Listener(std::vector<IoThread*> threads, ConnectionGate& gate,
                   ConnectionObserver& observer, StreamMaker make_stream, ListenerOptions options)
    : threads_(std::move(threads)),
      gate_(gate),
      observer_(observer),
      make_stream_(std::move(make_stream)),
      acceptor_(threads_.front()->context()),
      pause_(threads_.front()->context()),
      options_(std::move(options)),
      handshakes_(std::make_shared<ConnectionGate>(
          options_.max_handshakes, std::max<std::size_t>(1, options_.max_handshakes / 8))),
      spare_descriptor_(open_spare()) {}

Listener::~Listener() {
  remove_file();
  if (spare_descriptor_ >= 0) ::close(spare_descriptor_);
}

Status Listener::bind(const std::string& host, std::uint16_t port) {
  if (Status bound = bind_acceptor(acceptor_, host, port, kBacklog); !bound) return bound;
  error_code error;
  port_ = acceptor_.local_endpoint(error).port();
  return {};
}

Status Listener::bind(const std::string& path, unsigned mode) {
  const auto descriptor = listen_at(path, mode, kBacklog);
  if (!descriptor) return std::unexpected(descriptor.error());
  error_code error;
  local_.emplace(threads_.front()->context());
  local_->assign(asio::local::stream_protocol(), *descriptor, error);
  if (error) return failure("can't listen on unix:" + path + ": " + error.message());
  path_ = path;
  return {};
}

void Listener::remove_file() {
  if (local_ && local_->is_open()) remove_listener(path_, local_->native_handle());
}

void Listener::start() { local_ ? accept_local() : accept(); }

void Listener::close() {
  asio::post(acceptor_.get_executor(), [this] {
    error_code ignored;
    acceptor_.close(ignored);
    remove_file();
    if (local_) local_->close(ignored);
    pause_.cancel();
  });
}

IoThread& Listener::next_thread() {
  IoThread& thread = *threads_[next_thread_];
  next_thread_ = (next_thread_ + 1) % threads_.size();
  return thread;
}

// Local connections are handled as TCP ones: their descriptors are read and written in the same
// way.
void Listener::accept_local() {
  if (!local_->is_open()) return;
  IoThread& thread = next_thread();
  local_->async_accept(thread.context(), [this, &thread](error_code error, auto accepted) {
    if (error == asio::error::operation_aborted) return;
    if (error == asio::error::no_descriptors) return turn_one_away();
    if (error && !is_of_the_connection(error)) return pause();
    if (!error) {
      const int descriptor = accepted.release(error);
      Socket socket(thread.context());
      if (!error) socket.assign(tcp::v4(), descriptor, error);
      if (!error) enter(thread, std::move(socket), user_of(descriptor));
    }
    accept_local();
  });
}

void Listener::accept() {
  if (!acceptor_.is_open()) return;
  IoThread& thread = next_thread();
  acceptor_.async_accept(thread.context(), [this, &thread](error_code error, Socket socket) {
    if (error == asio::error::operation_aborted) return;
    if (error == asio::error::no_descriptors) return turn_one_away();
    if (error && !is_of_the_connection(error)) return pause();
    if (!error) take(thread, std::move(socket));
    accept();
  });
}

void Listener::take(IoThread& thread, Socket socket) {
  error_code error;
  const tcp::endpoint remote = socket.remote_endpoint(error);
  if (error) return;
  prepare(socket);
  enter(thread, std::move(socket), remote.address().to_string());
}

void Listener::enter(IoThread& thread, Socket socket, std::string address) {
  if (!gate_.enter(address)) {
    observer_.connection(ConnectionObserver::Connection::kRefused);
    return;  // the socket closes
  }
  if (options_.proxies.contains(address)) {
    return ask_proxy(thread, std::move(socket), std::move(address));
  }
  serve(thread, std::move(socket), std::move(address));
}

// The connection counts against the proxy until the client's address is known.
void Listener::ask_proxy(IoThread& thread, Socket socket, std::string proxy) {
  const auto told = [this, &thread, proxy](Socket behind, std::string client) {
    if (client.empty()) return serve(thread, std::move(behind), proxy);
    gate_.leave(proxy);
    if (!gate_.enter(client)) {
      observer_.connection(ConnectionObserver::Connection::kRefused);
      return;
    }
    serve(thread, std::move(behind), std::move(client));
  };
  const auto refused = [this, proxy] {
    gate_.leave(proxy);
    observer_.connection(ConnectionObserver::Connection::kRefused);
  };
  std::make_shared<Preface>(std::move(socket), told, refused)->start();
}

void Listener::serve(IoThread& thread, Socket socket, std::string address) {
  auto stream = make_stream_(std::move(socket));
  // If a proxy does not name its clients, all of its connections share one address.
  const std::string counted = options_.proxies.contains(address) ? std::string() : address;
  const bool enters = counted.empty() || handshakes_->enter(counted);
  if (!enters) {
    gate_.leave(address);
    observer_.connection(ConnectionObserver::Connection::kRefused);
    return;
  }
  if (!counted.empty()) {
    std::shared_ptr<void> place(handshakes_.get(),
                                [gate = handshakes_, counted](void*) { gate->leave(counted); });
    stream->keep_through_handshake(std::move(place));
  }
  thread.adopt(std::move(stream), std::move(address));
}

void Listener::turn_one_away() {
  observer_.connection(ConnectionObserver::Connection::kRefused);
  if (spare_descriptor_ >= 0) {
    ::close(spare_descriptor_);
    const int listens = local_ ? local_->native_handle() : acceptor_.native_handle();
    const int refused = ::accept(listens, nullptr, nullptr);
    if (refused >= 0) ::close(refused);
    spare_descriptor_ = open_spare();
  }
  pause();
}

// Without descriptors or memory, accept fails at once and repeatedly. The pause avoids a busy loop.
void Listener::pause() {
  pause_.expires_after(kPauseWithoutMeans);
  pause_.async_wait([this](error_code) { start(); });
}

}  // namespace millrace::net
