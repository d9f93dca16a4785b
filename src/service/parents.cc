#include "service/parents.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "service/convert.h"

namespace millrace::service {
namespace {

// Each may be as large as a result can be.
constexpr std::size_t kParentsAtOnce = 64;

using Results = absl::flat_hash_map<JobId, ParentInput>;  // by the job

const core::Membership* membership_of(const core::Job& job) {
  return job.extras == nullptr ? nullptr : job.extras->member.get();
}

bool has_result(const core::Parent& parent) {
  return parent.state == core::MemberState::kSucceeded && parent.job != core::kNoJob;
}

// From the tables; jobs that they show otherwise than as succeeded are not there yet.
Task<Answered<>> read_stored(Caller& caller, const std::vector<JobId>& wanted, Results& results) {
  auto read = [&](const std::stop_token&) { return caller.services.reads.fetch(wanted); };
  auto jobs = co_await caller.read(Lane::kClaims, read);
  if (!jobs) co_return refused(jobs);
  for (const core::Job& job : *jobs) {
    if (job.state == core::State::kSucceeded) results[job.id] = {job.result};
  }
  co_return Answered<>();
}

std::vector<JobId> missing_of(const std::vector<JobId>& wanted, const Results& results) {
  std::vector<JobId> missing;
  for (const JobId& id : wanted) {
    if (!results.contains(id)) missing.push_back(id);
  }
  return missing;
}

// What the tables don't have is in memory, or went from there to the tables meanwhile, or is gone.
Task<void> ask_memory(Caller& caller, const std::vector<JobId>& missing, Results& results) {
  std::vector<engine::Request> requests;
  requests.reserve(missing.size());
  for (const JobId& id : missing) requests.emplace_back(core::GetJob{id});
  std::vector<engine::Answer> answers = co_await caller.answers_to(std::move(requests));
  std::vector<JobId> moved;
  for (std::size_t i = 0; i < missing.size(); ++i) {
    const auto* const reply = reply_in<core::JobReply>(answers[i]);
    if (reply == nullptr) {
      results[missing[i]].omitted = "unreachable";
    } else if (reply->job != nullptr) {
      results[missing[i]].result = reply->job->job.result;
      if (reply->job->job.result.empty()) moved.push_back(missing[i]);  // none, or dropped
    } else if (reply->deleted) {
      results[missing[i]].omitted = "pruned";
    } else {
      moved.push_back(missing[i]);
    }
  }
  if (moved.empty()) co_return;
  auto read = co_await read_stored(caller, moved, results);
  for (const JobId& id : moved) {
    if (!results.contains(id)) results[id].omitted = read ? "pruned" : "unreachable";
  }
}

Task<void> load(Caller& caller, const std::vector<JobId>& wanted, Results& results) {
  // If the tables can't be read, memory may have the results.
  (void)co_await read_stored(caller, wanted, results);
  const std::vector<JobId> missing = missing_of(wanted, results);
  if (!missing.empty()) co_await ask_memory(caller, missing, results);
}

}  // namespace

Task<void> read_parents(Caller& caller, Claimed& claimed) {
  Results results;
  std::size_t all_bytes = 0;
  for (const core::ClaimReply::Item& item : claimed.claim.jobs) {
    const core::Membership* const member = membership_of(item.job);
    if (member == nullptr) continue;
    std::size_t bytes = 0;
    const std::vector<core::Parent>& parents = member->parents;
    for (std::size_t begin = 0; begin < parents.size(); begin += kParentsAtOnce) {
      const std::size_t end = std::min(parents.size(), begin + kParentsAtOnce);
      std::vector<JobId> wanted;
      for (std::size_t i = begin; i < end; ++i) {
        const JobId& job = parents[i].job;
        if (has_result(parents[i]) && !results.contains(job)) wanted.push_back(job);
      }
      const bool full = bytes >= kMaxParentBytes || all_bytes >= caller.services.page_bytes;
      if (!wanted.empty() && !full) co_await load(caller, wanted, results);
      for (std::size_t i = begin; i < end; ++i) {
        if (!has_result(parents[i])) continue;
        const auto found = results.find(parents[i].job);
        ParentInput input{{}, "size"};
        if (!full && found != results.end()) input = found->second;
        if (bytes + input.result.size() > kMaxParentBytes) input = {{}, "size"};
        bytes += input.result.size();
        all_bytes += input.result.size();
        claimed.parents.emplace(std::pair(item.job.id, parents[i].job), std::move(input));
      }
    }
  }
}

api::ClaimedJob shape_of(const Claimed& claimed, const core::Job& job) {
  api::ClaimedJob shape = service::claimed(job);
  const core::Membership* const member = membership_of(job);
  if (member == nullptr) return shape;
  for (const core::Parent& parent : member->parents) {
    api::Parent& shown = shape.parents.emplace_back();
    shown.ref = parent.ref.view();
    if (parent.job != core::kNoJob) shown.id = parent.job;
    shown.state = parent.state;
    shown.reason = parent.reason;
    const auto found = claimed.parents.find({job.id, parent.job});
    if (found == claimed.parents.end()) continue;
    shown.omitted = found->second.omitted;
    if (shown.omitted.empty()) shown.result = found->second.result.view();
  }
  return shape;
}

}  // namespace millrace::service
