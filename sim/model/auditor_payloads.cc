// Payloads evicted from memory must be in the tables.

#include "sim/model/auditor.h"
#include "sim/violation.h"

namespace millrace::sim {

core::Job Auditor::whole(const core::Job& is, const core::Job& should_be) const {
  core::Job job = is;
  if (!job.payload.empty()) return job;
  const auto rows = stored_.fetch({job.id});
  demand(rows.has_value(), "H11", "the payload of {} can't be read", to_string(job.id));
  if (rows->empty() || rows->front().ord != should_be.ord) {  // deleted, its id perhaps used again
    payloads_gone_.push_back({job.id, should_be.ord});
  } else {
    // A change made after this answer may already be in the tables.
    const core::Job& row = rows->front();
    demand(row.payload == should_be.payload || row.version > should_be.version, "H11",
           "memory has let go of the payload of {}, and the tables have '{}' for '{}'",
           to_string(job.id), row.payload.view(), should_be.payload.view());
  }
  marks_.hit(Mark::kPayloadFromTables);
  job.payload = should_be.payload;
  return job;
}

// The tables lacked their rows, so the jobs must have been deleted by now.
void Auditor::check_payloads_gone() {
  for (const auto& [id, ord] : payloads_gone_) {
    const core::Job* job = model_.find(id);
    demand(job == nullptr || job->ord != ord, "H1", "the payload of {} is nowhere", to_string(id));
  }
  payloads_gone_.clear();
}

}  // namespace millrace::sim
