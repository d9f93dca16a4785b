// The figures read at each scrape: jobs, queues, the shard, the process.
#pragma once

#include "server/metrics/metric_families.h"
#include "server/metrics/metrics.h"

namespace millrace::server {

// The most queues and limits with figures of their own.
inline constexpr std::size_t kMaxNamedQueues = 128;
inline constexpr std::size_t kMaxNamedLimits = 128;
// The queues with the most unfinished jobs, most first; at most kMaxNamedQueues. The pointers refer
// to `all`.
std::vector<const core::Queue*> fullest(const std::vector<core::Queue>& all);

void add_snapshot(FamilyList& out, const Metrics::Sources& sources, const QueueSample& sample);

}  // namespace millrace::server
