// Fences of jobs, where transactions of the user's own may finish them (store/inbox.h): which
// generation of a job may still be finished, and whether one has been.
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace millrace::store {

// Any thread.
class Fences {
 public:
  virtual ~Fences() = default;
  // From its return on no transaction with a token below `token`, which is above all that were
  // given, can finish these jobs, and one with `token` can. Returns those for which that is so:
  // none that was finished, or whose fence stands above `token`, while a row that says so lies in
  // an inbox; none at all to a former leader. Waits a moment for transactions that are about to
  // finish one of them, then it is an error.
  virtual Result<std::vector<JobId>> raise(std::span<const JobId> jobs, LeaseToken token) = 0;
};

}  // namespace millrace::store
