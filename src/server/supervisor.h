// What systemd, or whoever else started the server, is told by its protocol of readiness: see
// sd_notify(3). Without $NOTIFY_SOCKET nobody is told anything.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace millrace::server {

// One thread.
class Supervisor {
 public:
  using Steady = std::chrono::steady_clock::time_point;

  // Reads NOTIFY_SOCKET, WATCHDOG_USEC and WATCHDOG_PID.
  static Supervisor from_environment();

  void ready() const { tell("READY=1"); }
  void stopping() const { tell("STOPPING=1"); }

  // The supervisor kills a server that lets the watchdog's time go by without alive(): whether it
  // is time to say so again.
  bool awaits_sign_of_life(Steady now) const { return next_sign_ && now >= *next_sign_; }
  void alive(Steady now);

 private:
  // Lost where nobody listens: a server does not depend on who watches it.
  void tell(std::string_view message) const;

  std::string socket_;                 // a path, or "@" and an abstract name; empty: none
  std::chrono::microseconds every_{};  // half of the watchdog's time
  std::optional<Steady> next_sign_;    // none: there is no watchdog
};

}  // namespace millrace::server
