// The fences of jobs, in a store whose users may finish jobs in transactions of their own
// (store/inbox.h). A job's fence says which generation of the job a transaction may still finish,
// and whether one has been finished.
#pragma once

#include <span>
#include <vector>

#include "base/ids.h"
#include "base/result.h"

namespace millrace::store {

// Thread-safe.
class Fences {
 public:
  virtual ~Fences() = default;
  // Raises the jobs' fences to `token`, which is above all tokens issued before. Returns the jobs
  // whose fences are now at `token`: no transaction with a lower token can finish them any more,
  // and one with `token` can. Leaves out a job that was finished, or whose fence is above `token`,
  // while an inbox holds a finish or fence row of that job. Raises none if the caller no longer
  // leads the shard. A transaction that is about to finish one of the jobs delays the call for a
  // moment; if it takes longer, the call fails.
  virtual Result<std::vector<JobId>> raise(std::span<const JobId> jobs, LeaseToken token) = 0;
};

}  // namespace millrace::store
