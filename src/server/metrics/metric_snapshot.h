// The figures that are read when somebody asks for them: jobs, queues, the shard, the process.
#pragma once

#include "server/metrics/metric_families.h"
#include "server/metrics/metrics.h"

namespace millrace::server {

void add_snapshot(FamilyList& out, const Metrics::Sources& sources);

}  // namespace millrace::server
