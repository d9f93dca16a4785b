// Reports the server's state to systemd or another supervisor that speaks the sd_notify(3)
// protocol. Without $NOTIFY_SOCKET, all notifications are no-ops.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::server {

// For one thread.
class Supervisor {
 public:
  using Steady = std::chrono::steady_clock::time_point;

  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  static Supervisor from_environment();

  void ready() const { tell("READY=1"); }
  void stopping() const { tell("STOPPING=1"); }

  // Whether alive() is due. The supervisor kills a server that does not call it within the
  // watchdog's time.
  bool awaits_sign_of_life(Steady now) const { return next_sign_ && now >= *next_sign_; }
  void alive(Steady now);

 private:
  // The message is lost if nobody listens: the server does not depend on its supervisor.
  void tell(std::string_view message) const;

  std::string socket_;                 // a path, or "@" and an abstract name; empty: none
  std::chrono::microseconds every_{};  // half of the watchdog's time
  std::optional<Steady> next_sign_;    // none: there is no watchdog
};

}  // namespace millrace::server
