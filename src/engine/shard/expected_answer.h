// The valid answers to a request. An answer from another node is checked against them before use.
#pragma once

#include <array>
#include <cstddef>

#include "engine/request.h"

namespace millrace::engine {

class ExpectedAnswer {
 public:
  explicit ExpectedAnswer(const Request& request);

  // Whether the answer has the right kind and one item per requested item, or says that nothing was
  // done.
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
