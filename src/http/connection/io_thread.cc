#include "http/connection/io_thread.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <ctime>
#include <utility>

#include <boost/asio/post.hpp>

#include "http/connection/session.h"
#include "http/peer/peer_session.h"

namespace millrace::http {

IoThread::IoThread(Services& services, engine::Gateway& gateway, Observer& observer,
                   net::ConnectionGate& gate, const SessionOptions& options, std::uint64_t seed)
    : services_(services),
      observer_(observer),
      options_(options),
      ids_(seed),
      port_(gateway, [this] { boost::asio::post(io_.context(), [this] { port_.run(); }); }),
      io_(*this, services.clock, gate, observer) {}

std::shared_ptr<net::Connection> IoThread::serve(std::unique_ptr<net::ByteStream> stream,
                                                 std::string peer) {
  return std::make_shared<Session>(*this, std::move(stream), std::move(peer));
}

void IoThread::upgrade(std::shared_ptr<Session> session, std::unique_ptr<net::ByteStream> stream,
                       std::string_view received, engine::PeerLevel level) {
  const auto peer = std::make_shared<PeerSession>(*this, std::move(stream), session->peer(), level);
  peer->take(received);
  io_.replace(std::move(session), peer);
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
