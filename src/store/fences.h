// Fences of jobs, where transactions of the user's own may finish them (store/inbox.h): which
// generation of a job may still be finished, and whether one has been.
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace millrace::store {

struct EndedJob {
  JobId id;
  bool succeeded = false;  // as the shard has it
};

// Any thread.
class Fences {
 public:
  virtual ~Fences() = default;
  // From its return on no transaction with a token below `token` can finish these jobs. Returns
  // those for which that is so: none that was finished and whose row lies in an inbox, or whose
  // shard does not have it as succeeded, or by a token above `token`; none at all to a former
  // leader. Waits a moment for transactions that are about to finish one of them, then it is an
  // error.
  virtual Result<std::vector<JobId>> raise(std::span<const EndedJob> jobs, LeaseToken token) = 0;
};

}  // namespace millrace::store
