// Which answers a request may get: what comes from another node is held against it before anyone
// reads it as what it should be.
#pragma once

#include <array>
#include <cstddef>

#include "engine/request.h"

namespace millrace::engine {

class ExpectedAnswer {
 public:
  explicit ExpectedAnswer(const Request& request);

  // Of the right kind, an answer to each item; or none of it was done.
  bool fits(const Answer& answer) const;

 private:
  struct Of;
  using Counts = std::array<std::size_t, 3>;
  ExpectedAnswer(std::size_t kind, std::size_t reply, Counts items)
      : kind_(kind), reply_(reply), items_(items) {}

  std::size_t kind_ = 0;   // the index in Answer
  std::size_t reply_ = 0;  // the index in core::Reply, where it is one
  // How many items are answered; a poll's acks, heartbeats and logs.
  Counts items_{};
};

}  // namespace millrace::engine
