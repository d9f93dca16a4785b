// The figures of trace export.
#pragma once

#include <cstdint>

#include "server/metrics/metric_families.h"

namespace millrace::server {

struct TraceCounts {
  std::uint64_t queued = 0;  // now
  std::uint64_t exported = 0;
  std::uint64_t dropped_full = 0;     // the queue was full
  std::uint64_t dropped_refused = 0;  // the collector refused them for good
  std::uint64_t dropped_late = 0;     // the collector took nothing for too long, or until the end
  std::uint64_t dropped_unknown = 0;  // their jobs are no longer known
  std::uint64_t requests = 0;
  std::uint64_t failures = 0;  // requests without a successful answer
};

void add_traces(FamilyList& out, const TraceCounts& counts);

}  // namespace millrace::server
