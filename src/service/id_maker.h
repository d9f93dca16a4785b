// Makes ids for jobs submitted without one.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "base/ids.h"
#include "base/random.h"
#include "base/time.h"

namespace millrace::service {

// One for each thread.
class IdMaker {
 public:
  explicit IdMaker(std::uint64_t seed) : random_(seed) {}

  JobId make(Time now, std::string_view queue) {
    if (queue != last_queue_) {
      last_queue_ = queue;
      last_bits_ = queue_bits(queue);
    }
    return make_job_id(now, last_bits_, random_.next());
  }
  std::uint64_t random() { return random_.next(); }

 private:
  Random random_;
  std::string last_queue_;  // producers mostly use the same queue again
  std::uint16_t last_bits_ = 0;
};

}  // namespace millrace::service
