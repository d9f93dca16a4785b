// Outcomes that wait for a round trip. They go with the next one. The outbox decides how long they
// may wait, and how many justify a round trip of their own. Not thread-safe.
#pragma once

#include <chrono>
#include <deque>
#include <vector>

#include "millrace/lease.h"

namespace millrace::sdk {

using SteadyTime = std::chrono::steady_clock::time_point;

// When this many wait, they are sent without waiting for more.
constexpr std::size_t kEnoughAcks = 64;

// The approximate bytes that it adds to a request.
std::size_t size_of(const Ack& ack);

// An outcome to be sent. `is_substitute`: it replaces the handler's own outcome, which was refused,
// and says so.
struct OutgoingAck {
  Ack ack;
  SteadyTime since{};  // when it began to wait; if it goes alone: when it may go
  bool is_substitute = false;
  int failures = 0;  // of requests that carried nothing else
};

class Outbox {
 public:
  // `delay`: how long an outcome waits for others.
  explicit Outbox(Milliseconds delay) : delay_(delay) {}

  void add(OutgoingAck ack);
  // Outcomes that were taken but not answered; they go in front of the others.
  void give_back(std::vector<OutgoingAck> acks);
  // As many as fit into one round trip, oldest first.
  std::vector<OutgoingAck> take();

  // Adds an outcome that makes every request fail that carries it. It delays no other outcome, and
  // take() never returns it.
  void add_alone(OutgoingAck ack);
  // The first of these whose time has come, if there is one.
  std::vector<OutgoingAck> take_alone(SteadyTime now);
  // When the first of these may go; max(): there are none.
  SteadyTime due_alone() const;

  bool empty() const { return acks_.empty() && alone_.empty(); }

  // When the outcomes of take() must go, whatever else is under way; max(): there are none.
  SteadyTime due() const;
  // The same without waiting for further outcomes.
  SteadyTime due_without_delay() const;

 private:
  Milliseconds delay_;
  std::deque<OutgoingAck> acks_;
  std::vector<OutgoingAck> alone_;
};

}  // namespace millrace::sdk
