// Which answers a request may get. An answer that comes from another node is checked against it
// before it is used.
#pragma once

#include <array>
#include <cstddef>

#include "engine/request.h"

namespace millrace::engine {

class ExpectedAnswer {
 public:
  explicit ExpectedAnswer(const Request& request);

  // Whether the answer has the right kind and one item for each item asked, or says that nothing
  // was done.
  bool fits(const Answer& answer) const;

 private:
  struct Of;
  using Counts = std::array<std::size_t, 3>;
  ExpectedAnswer(std::size_t kind, std::size_t reply, Counts items)
      : kind_(kind), reply_(reply), items_(items) {}

  std::size_t kind_ = 0;   // the index in Answer
  std::size_t reply_ = 0;  // the index in core::Reply, if the answer is one
  // The number of items to be answered; for a poll, of its acks, heartbeats and logs.
  Counts items_{};
};

}  // namespace millrace::engine
