// Outcomes that wait for a round trip. They are sent with the next one. The outbox decides how long
// they may wait, and how many justify a separate round trip. Not thread-safe.
#pragma once

#include <chrono>
#include <deque>
#include <vector>

#include "millrace/lease.h"

namespace millrace::sdk {

using SteadyTime = std::chrono::steady_clock::time_point;

// The approximate size that it adds to a request.
std::size_t size_of(const Ack& ack);

// An outcome to be sent. `is_substitute`: it replaces the handler's own outcome, which was refused,
// and says so.
struct OutgoingAck {
  Ack ack;
  SteadyTime since{};  // when it began to wait; if sent alone: when it may be sent
  bool is_substitute = false;
  int failures = 0;  // of requests that carried only this outcome
};

class Outbox {
 public:
  // `delay`: how long an outcome waits for others.
  explicit Outbox(Milliseconds delay) : delay_(delay) {}

  void add(OutgoingAck ack);
  // Returns outcomes that were taken but not answered; they precede the others.
  void give_back(std::vector<OutgoingAck> acks);
  // As many as fit into one round trip, oldest first.
  std::vector<OutgoingAck> take();

  // Adds an outcome that makes every request with it fail. It delays no other outcome, and take()
  // never returns it.
  void add_alone(OutgoingAck ack);
  // The first of these that is due, if any.
  std::vector<OutgoingAck> take_alone(SteadyTime now);
  // When the first of these is due; max() if there are none.
  SteadyTime due_alone() const;

  bool empty() const { return acks_.empty() && alone_.empty(); }

  // When the outcomes of take() must be sent, even if other requests are pending; max() if there
  // are none.
  SteadyTime due() const;
  // The same without waiting for further outcomes.
  SteadyTime due_without_delay() const;

 private:
  Milliseconds delay_;
  std::deque<OutgoingAck> acks_;
  std::vector<OutgoingAck> alone_;
};

}  // namespace millrace::sdk
