// The results of members that claimed jobs' members need.
#pragma once

#include <cstddef>
#include <map>
#include <string_view>
#include <utility>

#include "api/worker_reply.h"
#include "core/reply.h"
#include "service/caller.h"

namespace millrace::service {

// The most bytes of results with one job; those of a whole claim have the bound of a page.
inline constexpr std::size_t kMaxParentBytes = std::size_t{1} << 20;

struct ParentInput {
  SharedBytes result;             // empty: null
  std::string_view omitted = {};  // why the result is; empty: it is not
};
struct Claimed {
  core::ClaimReply claim;
  // Of members that succeeded, by the claimed job and by their own job.
  std::map<std::pair<JobId, JobId>, ParentInput> parents = {};
};

// Reads them, from the tables if they have them, else from memory. A result that can't be read now
// is left out, and the claim says so.
Task<void> read_parents(Caller& caller, Claimed& claimed);

// Views of both.
api::ClaimedJob shape_of(const Claimed& claimed, const core::Job& job);

}  // namespace millrace::service
