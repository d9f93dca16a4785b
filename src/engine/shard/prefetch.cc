#include "engine/shard/prefetch.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "base/mutant.h"
#include "engine/shard/row_budget.h"

namespace millrace::engine {

void Prefetch::want(const core::Machine& machine, const core::Command& command) {
  machine.needed(command, needed_);
  for (const JobId& id : machine.needed_workflows(command)) needed_workflows_.push_back(id);
  if (const auto* const retry = std::get_if<core::Retry>(&command)) {
    with_payload_.insert(retry->ids.begin(), retry->ids.end());
  } else if (const auto* const step = std::get_if<core::StepOperation>(&command)) {
    const auto part = machine.operations().find(step->id);
    const bool retries = part != machine.operations().end() &&
                         part->second.spec.action == core::OperationAction::kRetry;
    for (const core::StepOperation::Item& item : step->items) {
      if (retries) with_payload_.insert(item.id);
    }
  } else if (const auto* const member = std::get_if<core::RetryMember>(&command)) {
    with_payload_.insert(member->spec->id);
  } else if (const auto* const enqueue = std::get_if<core::Enqueue>(&command)) {
    compare_payloads(enqueue->jobs);
  } else if (const auto* const ack = std::get_if<core::Ack>(&command)) {
    for (const core::AckItem& item : ack->items) compare_payloads(item.enqueue);
  }
}

// Reads payloads of ids chosen by clients, to tell a repeated submission from a different one.
void Prefetch::compare_payloads(const std::vector<core::JobSpec>& jobs) {
  for (const core::JobSpec& spec : jobs) {
    if (spec.id_origin == core::IdOrigin::kClient) with_payload_.insert(spec.id);
  }
}

Result<std::size_t> Prefetch::load(store::Tables& tables, std::size_t at_least) {
  std::size_t settled = 0;
  std::size_t bytes = 0;
  while (settled < needed_.size() && (settled < at_least || bytes < kPrefetchBytes)) {
    const std::size_t end = std::min(needed_.size(), settled + kPrefetchChunk);
    const auto first = needed_.begin() + static_cast<std::ptrdiff_t>(settled);
    const auto last = needed_.begin() + static_cast<std::ptrdiff_t>(end);
    Result<std::vector<core::Job>> jobs = tables.fetch({first, last});
    if (!jobs) return std::unexpected(jobs.error());
    for (core::Job& job : *jobs) {
      job.result = {};
      if (!with_payload_.contains(job.id)) job.payload = {};
      bytes += row_bytes(job);
      jobs_.insert_or_assign(job.id, std::move(job));
    }
    settled = end;
  }
  return settled;
}

Status Prefetch::load_workflows(store::Tables& tables) {
  for (const JobId& id : needed_workflows_) {
    auto whole = tables.workflow(id, 0, std::numeric_limits<std::uint32_t>::max());
    if (!whole) return std::unexpected(whole.error());
    if (*whole) workflows_.insert_or_assign(id, std::move(**whole));
  }
  return {};
}

void Prefetch::raise_fences(store::Fences& fences, const std::vector<JobId>& jobs,
                            LeaseToken token) {
  if (mutated(Mutant::kRetryUnfenced)) return;
  fences_required_ = true;
  if (jobs.empty()) return;
  const Result<std::vector<JobId>> raised = fences.raise(jobs, token);
  if (raised) fenced_.insert(raised->begin(), raised->end());
}

const core::Job* Prefetch::find(const JobId& id) const {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

const core::WorkflowImage* Prefetch::workflow(const JobId& id) const {
  const auto found = workflows_.find(id);
  return found == workflows_.end() ? nullptr : &found->second;
}

}  // namespace millrace::engine
