#include "store/workflow_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "core/jobs/job.h"
#include "store/job_match.h"

namespace millrace::store {

bool matches(const WorkflowQuery& query, const core::Workflow& workflow) {
  const core::WorkflowSpec& spec = workflow.spec;
  if (!query.states.empty() &&
      std::ranges::find(query.states, workflow.state) == query.states.end()) {
    return false;
  }
  if (!query.queues.empty() && std::ranges::none_of(query.queues, [&](const std::string& pattern) {
        return matches_pattern(pattern, spec.queue.view());
      })) {
    return false;
  }
  if (!query.name.empty() && spec.name.view() != query.name) return false;
  if (!query.tag.empty() && std::ranges::none_of(spec.tags, [&](const SharedBytes& tag) {
        return tag.view() == query.tag;
      })) {
    return false;
  }
  if (query.created_after && workflow.created_at < *query.created_after) return false;
  return !query.created_before || workflow.created_at < *query.created_before;
}

WorkflowCursor list_begin(const WorkflowQuery& query) {
  JobId last;
  last.bytes.fill(0xff);
  WorkflowCursor begin = query.after.value_or(WorkflowCursor{Time::max(), last});
  // No id is below all zeros: a place just below this time.
  if (query.created_before) begin = std::min(begin, WorkflowCursor{*query.created_before, JobId{}});
  return begin;
}

std::optional<Time> over_since(const core::Workflow& workflow) {
  if (!terms::has_ended(workflow.state) || core::calls_back(workflow)) return std::nullopt;
  return workflow.ended_at;
}

std::optional<core::WorkflowState> kept_like(core::State state) {
  for (const auto ended : {core::WorkflowState::kSucceeded, core::WorkflowState::kFailed,
                           core::WorkflowState::kCancelled}) {
    if (core::retained_as(ended) == state) return ended;
  }
  return std::nullopt;
}

bool is_kept(const core::Job& job) {
  return job.extras != nullptr && job.extras->member != nullptr && job.extras->member->kept;
}

std::optional<std::uint32_t> member_of(const core::Job& job) {
  if (job.extras == nullptr || job.extras->member == nullptr) return std::nullopt;
  const core::Membership& member = *job.extras->member;
  return member.role == core::MemberRole::kMember ? std::optional(member.number) : std::nullopt;
}

ImageRows::ImageRows(core::Workflow workflow, std::uint32_t first, std::uint32_t count) {
  image_.first = std::min(first, workflow.members);
  count = std::min(count, workflow.members - image_.first);
  image_.workflow = std::move(workflow);
  image_.members.resize(count);
  image_.fates.resize(count);
  has_member_.resize(count);
  has_fate_.resize(count);
}

void ImageRows::take(core::MemberChunk chunk) {
  for (std::size_t i = 0; i < chunk.members.size(); ++i) {
    const std::uint64_t number = std::uint64_t{chunk.first} + i;
    if (number < image_.first || number >= end()) continue;
    image_.members[number - image_.first] = std::move(chunk.members[i]);
    has_member_[number - image_.first] = true;
  }
}

void ImageRows::take(const core::FatePage& page) {
  for (std::size_t i = 0; i < page.fates.size(); ++i) {
    const std::uint64_t number = std::uint64_t{page.first} + i;
    if (number < image_.first || number >= end()) continue;
    image_.fates[number - image_.first] = page.fates[i];
    has_fate_[number - image_.first] = true;
  }
}

Result<core::WorkflowImage> ImageRows::finish() {
  for (const auto& [what, has] :
       {std::pair("member", &has_member_), std::pair("fate of member", &has_fate_)}) {
    const auto missing = std::ranges::find(*has, false);
    if (missing == has->end()) continue;
    return failure(fmt::format("the tables are damaged: workflow {}: the {} {} is missing",
                               to_string(image_.workflow.id), what,
                               image_.first + (missing - has->begin())));
  }
  return std::move(image_);
}

bool counts_agree(const core::WorkflowImage& whole) {
  core::MemberCounts counts{};
  for (const core::MemberFate& fate : whole.fates) ++counts[static_cast<std::size_t>(fate.state)];
  return whole.fates.size() == whole.workflow.members && counts == whole.workflow.counts;
}

std::string wrong_counts(const JobId& workflow) {
  return fmt::format("workflow {}: its counts are not those of its members", to_string(workflow));
}

}  // namespace millrace::store
