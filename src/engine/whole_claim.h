// Whether a claim can be handed out as it is.
#pragma once

#include <algorithm>

#include "core/reply.h"

namespace millrace::engine {

// False: memory has dropped a job's payload, so that Reads::complete() must read it.
inline bool is_whole(const core::ClaimReply& claim) {
  return std::ranges::none_of(
      claim.jobs, [](const core::ClaimReply::Item& item) { return item.job.payload.empty(); });
}

}  // namespace millrace::engine
