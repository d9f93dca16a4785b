// An I/O thread: one event loop, the connections that it serves, its port for the engine's answers.
// Everything of a connection happens on its thread, so nothing in a session is locked.
#pragma once

#include <memory>
#include <string>
#include <thread>
#include <unordered_set>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>

#include "http/call.h"
#include "http/connection_gate.h"
#include "http/observer.h"

namespace millrace::http {

class PeerSession;
class Session;

struct SessionOptions {
  Duration header_timeout{5'000};
  Duration idle_timeout{60'000};
  // A body, or a reader of an answer, gets this long plus a second for every so many bytes. A
  // reader that takes nothing for so long has stopped.
  Duration transfer_grace{10'000};
  std::size_t transfer_bytes_per_s = 16 * 1024;
  // For a client that still sends while it is being refused, to read why.
  Duration linger{2'000};
};

class IoThread {
 public:
  using Executor = boost::asio::io_context::executor_type;
  using Socket = boost::asio::basic_stream_socket<boost::asio::ip::tcp, Executor>;

  IoThread(Services& services, engine::Gateway& gateway, Observer& observer, ConnectionGate& gate,
           const SessionOptions& options, std::uint64_t seed);
  ~IoThread();
  IoThread(const IoThread&) = delete;
  IoThread& operator=(const IoThread&) = delete;

  // --- Any thread.
  void start();
  // A new connection that the gate has let in. The socket was made for context().
  void adopt(Socket socket, std::string peer);
  // Idle connections are closed, the others after the answer they wait for.
  void drain();
  // Ends the loop and the thread; connections are cut.
  void stop();
  boost::asio::io_context& context() { return context_; }

  // --- The loop's thread, for sessions.
  Services& services() { return services_; }
  AnswerPort& port() { return port_; }
  IdMaker& ids() { return ids_; }
  Observer& observer() { return observer_; }
  const SessionOptions& options() const { return options_; }
  // For the header Date: "Sun, 01 Mar 2026 09:30:00 GMT".
  std::string_view date();
  // The session has come to its end; it is destroyed once nothing of it runs any more.
  void retire(std::shared_ptr<Session> session);
  // The session's connection becomes another node's, at the level that both know; `received` came
  // behind the request.
  void upgrade(std::shared_ptr<Session> session, Socket socket, std::string_view received,
               engine::PeerLevel level);
  void retire(std::shared_ptr<PeerSession> session);

 private:
  void sweep();
  void forget(const std::string& peer);

  Services& services_;
  Observer& observer_;
  ConnectionGate& gate_;
  const SessionOptions options_;
  IdMaker ids_;
  AnswerPort port_;  // before the loop: sessions in it still name their tickets when they go
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<Executor> work_;
  boost::asio::basic_waitable_timer<std::chrono::steady_clock,
                                    boost::asio::wait_traits<std::chrono::steady_clock>, Executor>
      sweeper_;
  bool sweeping_ = false;
  std::unordered_set<std::shared_ptr<Session>> sessions_;
  std::unordered_set<std::shared_ptr<PeerSession>> peers_;
  std::int64_t date_second_ = -1;
  std::string date_;
  std::thread thread_;
};

}  // namespace millrace::http
