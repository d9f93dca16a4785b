// Outcomes that wait for a round trip. They go with the next one; how long they may wait for it,
// and how many of them are worth one of their own, is said here. Not thread-safe.
#pragma once

#include <chrono>
#include <deque>
#include <vector>

#include "millrace/lease.h"

namespace millrace::sdk {

using SteadyTime = std::chrono::steady_clock::time_point;

// So many wait for no more.
constexpr std::size_t kEnoughAcks = 64;

// About how much it adds to a request.
std::size_t size_of(const Ack& ack);

// An outcome on its way. `is_substitute`: the handler's own was refused, this says so instead.
struct OutgoingAck {
  Ack ack;
  SteadyTime since{};  // when it began to wait; of one that goes alone: when it may go
  bool is_substitute = false;
  int failures = 0;  // of requests that carried nothing else
};

class Outbox {
 public:
  // `delay`: for so long an outcome waits for others.
  explicit Outbox(Milliseconds delay) : delay_(delay) {}

  void add(OutgoingAck ack);
  // They were taken and not answered: in front of the others.
  void give_back(std::vector<OutgoingAck> acks);
  // As many as go into one round trip, the oldest first.
  std::vector<OutgoingAck> take();

  // One that makes every request fail that carries it: it holds up no other, and is never among
  // those of take().
  void add_alone(OutgoingAck ack);
  // The first whose time has come, if there is one.
  std::vector<OutgoingAck> take_alone(SteadyTime now);
  // When the first of them may go; max() if there are none.
  SteadyTime due_alone() const;

  bool empty() const { return acks_.empty() && alone_.empty(); }

  // When those of take() must go, whatever else is under way; max() if there are none.
  SteadyTime due() const;
  // The same if no others are to be waited for.
  SteadyTime due_without_delay() const;

 private:
  Milliseconds delay_;
  std::deque<OutgoingAck> acks_;
  std::vector<OutgoingAck> alone_;
};

}  // namespace millrace::sdk
