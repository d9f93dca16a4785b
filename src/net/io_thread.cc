#include "net/io_thread.h"

#include <chrono>
#include <utility>

#include <boost/asio/post.hpp>

namespace millrace::net {
namespace {

namespace asio = boost::asio;

// How often deadlines are checked while there are connections. This is far shorter than any
// deadline, and cheaper than one timer per connection.
constexpr std::chrono::milliseconds kSweepEvery{250};

}  // namespace

IoThread::IoThread(Protocol& protocol, const Clock& clock, ConnectionGate& gate,
                   ConnectionObserver& observer)
    : protocol_(protocol),
      clock_(clock),
      gate_(gate),
      observer_(observer),
      sweeper_(loop_.context()) {}

IoThread::~IoThread() {
  stop();
  connections_.clear();
}

void IoThread::adopt(std::unique_ptr<ByteStream> stream, std::string peer) {
  asio::post(context(), [this, stream = std::move(stream), peer = std::move(peer)]() mutable {
    observer_.connection(ConnectionObserver::Connection::kOpened);
    const auto connection = protocol_.serve(std::move(stream), std::move(peer));
    connections_.insert(connection);
    connection->start();
    if (!sweeping_) sweep();
  });
}

void IoThread::drain() {
  asio::post(context(), [this] { for_all([](Connection& connection) { connection.drain(); }); });
}

template <typename Each>
void IoThread::for_all(const Each& each) {
  const std::vector<std::shared_ptr<Connection>> all(connections_.begin(), connections_.end());
  for (const auto& connection : all) {
    if (connections_.contains(connection)) each(*connection);
  }
}

void IoThread::retire(std::shared_ptr<Connection> connection) {
  observer_.connection(ConnectionObserver::Connection::kClosed);
  gate_.leave(connection->peer());
  let_go(std::move(connection));
}

void IoThread::replace(std::shared_ptr<Connection> connection, std::shared_ptr<Connection> next) {
  connections_.insert(std::move(next));
  let_go(std::move(connection));
}

void IoThread::let_go(std::shared_ptr<Connection> connection) {
  connections_.erase(connection);
  // Deferred: the connection's coroutine is still on the stack.
  asio::post(context(), [last = std::move(connection)] {});
}

void IoThread::sweep() {
  sweeping_ = !connections_.empty();
  if (!sweeping_) return;
  sweeper_.expires_after(kSweepEvery);
  sweeper_.async_wait([this](const error_code& error) {
    if (error) return;
    const Steady now = clock_.steady();
    for_all([now](Connection& connection) { connection.check(now); });
    sweep();
  });
}

}  // namespace millrace::net
