// Parts of limits that several decoders read. Only for the sources of this room.
#pragma once

#include <vector>

#include "api/decode.h"
#include "api/job.h"

namespace millrace::api {

bool read_rate(Decode& decode, const Path& path, Rate& out);
bool read_breaker(Decode& decode, const Path& path, BreakerRule& out);
// The limits that a job names.
bool read_job_limits(Decode& decode, const Path& path, std::vector<JobLimit>& out);
// The limits that each job of a queue gets. A limit's key may be the job's fair_key.
bool read_queue_limits(Decode& decode, const Path& path, std::vector<JobLimit>& out);

}  // namespace millrace::api
