#include "http/io_thread.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <utility>

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/post.hpp>

#include "base/thread_name.h"
#include "http/peer_session.h"
#include "http/session.h"

namespace millrace::http {
namespace {

// Deadlines are looked at this often while there are connections: far below any of them, and
// cheaper than a timer each.
constexpr std::chrono::milliseconds kSweepEvery{250};

}  // namespace

IoThread::IoThread(Services& services, engine::Gateway& gateway, Observer& observer,
                   ConnectionGate& gate, const SessionOptions& options, std::uint64_t seed)
    : services_(services),
      observer_(observer),
      gate_(gate),
      options_(options),
      ids_(seed),
      port_(gateway, [this] { boost::asio::post(context_, [this] { port_.run(); }); }),
      context_(1),
      work_(context_.get_executor()),
      sweeper_(context_) {}

IoThread::~IoThread() {
  stop();
  sessions_.clear();
  peers_.clear();
}

void IoThread::start() {
  thread_ = std::thread([this] {
    name_this_thread("http");
    context_.run();
  });
}

void IoThread::adopt(Socket socket, std::string peer) {
  boost::asio::post(context_, [this, socket = std::move(socket), peer = std::move(peer)]() mutable {
    observer_.connection(Observer::Connection::kOpened);
    auto session = std::make_shared<Session>(*this, std::move(socket), std::move(peer));
    sessions_.insert(session);
    session->start();
    if (!sweeping_) sweep();
  });
}

void IoThread::drain() {
  boost::asio::post(context_, [this] {
    const std::vector<std::shared_ptr<Session>> all(sessions_.begin(), sessions_.end());
    for (const auto& session : all) session->drain();
    const std::vector<std::shared_ptr<PeerSession>> peers(peers_.begin(), peers_.end());
    for (const auto& peer : peers) peer->drain();
  });
}

void IoThread::stop() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

void IoThread::retire(std::shared_ptr<Session> session) {
  forget(session->peer());
  sessions_.erase(session);
  // Its coroutine is still on the stack.
  boost::asio::post(context_, [last = std::move(session)] {});
}

void IoThread::upgrade(std::shared_ptr<Session> session, Socket socket, std::string_view received,
                       engine::PeerLevel level) {
  const auto peer = std::make_shared<PeerSession>(*this, std::move(socket), session->peer(), level);
  peers_.insert(peer);
  peer->start(received);
  sessions_.erase(session);
  boost::asio::post(context_, [last = std::move(session)] {});
}

void IoThread::retire(std::shared_ptr<PeerSession> session) {
  forget(session->peer());
  peers_.erase(session);
  boost::asio::post(context_, [last = std::move(session)] {});
}

void IoThread::forget(const std::string& peer) {
  observer_.connection(Observer::Connection::kClosed);
  gate_.leave(peer);
}

void IoThread::sweep() {
  sweeping_ = !sessions_.empty() || !peers_.empty();
  if (!sweeping_) return;
  sweeper_.expires_after(kSweepEvery);
  sweeper_.async_wait([this](const boost::system::error_code& error) {
    if (error) return;
    const Steady now = services_.clock.steady();
    for (const auto& session : sessions_) session->check_deadline(now);
    for (const auto& peer : peers_) peer->check(now);
    sweep();
  });
}

std::string_view IoThread::date() {
  const std::int64_t second = to_ms(services_.clock.now()) / 1000;
  if (second != date_second_) {
    date_second_ = second;
    date_ =
        fmt::format("{:%a, %d %b %Y %H:%M:%S} GMT", fmt::gmtime(static_cast<std::time_t>(second)));
  }
  return date_;
}

}  // namespace millrace::http
