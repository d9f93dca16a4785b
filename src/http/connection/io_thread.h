// An I/O thread that speaks HTTP, with its connections and the port for the engine's answers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>

#include "http/call.h"
#include "http/observer.h"
#include "net/io_thread.h"

namespace millrace::http {

class Session;

struct SessionOptions {
  Duration header_timeout{5'000};
  Duration idle_timeout{60'000};
  // The time allowed for a body to arrive, or for a client to read an answer: this, plus a second
  // for every transfer_bytes_per_s bytes. A client that reads nothing for this long is taken to
  // have stopped.
  Duration transfer_grace{10'000};
  std::size_t transfer_bytes_per_s = 16 * 1024;
  // How long a refused client that is still sending has to read the answer.
  Duration linger{2'000};
};

class IoThread final : net::IoThread::Protocol {
 public:
  IoThread(Services& services, engine::Gateway& gateway, Observer& observer,
           net::ConnectionGate& gate, const SessionOptions& options, std::uint64_t seed);
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  net::IoThread& io() { return io_; }

  // --- The loop's thread, for sessions.
  Services& services() { return services_; }
  service::AnswerPort& port() { return port_; }
  service::IdMaker& ids() { return ids_; }
  Observer& observer() { return observer_; }
  const SessionOptions& options() const { return options_; }
  // For the header Date: "Sun, 01 Mar 2026 09:30:00 GMT".
  std::string_view date();
  // Turns the session's connection into a link between nodes, at the newest level that both know.
  // `received`: the bytes that came after the request.
  void upgrade(std::shared_ptr<Session> session, std::unique_ptr<net::ByteStream> stream,
               std::string_view received, engine::PeerLevel level);

 private:
  std::shared_ptr<net::Connection> serve(std::unique_ptr<net::ByteStream> stream,
                                         std::string peer) override;

  Services& services_;
  Observer& observer_;
  const SessionOptions options_;
  service::IdMaker ids_;
  service::AnswerPort port_;
  std::int64_t date_second_ = -1;
  std::string date_;
  net::IoThread io_;  // last: its sessions still use `port_` when they are destroyed
};

}  // namespace millrace::http
