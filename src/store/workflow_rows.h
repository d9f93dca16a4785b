// What the tables of every store have in common about workflows.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "base/result.h"
#include "core/workflows/workflow.h"
#include "store/tables.h"

namespace millrace::store {

// Defines the meaning of a query, but for its page.
bool matches(const WorkflowQuery& query, const core::Workflow& workflow);

inline WorkflowCursor place_of(const core::Workflow& workflow) {
  return {workflow.created_at, workflow.id};
}
// The newest place that the query's bounds allow, excluded: a list begins below it.
WorkflowCursor list_begin(const WorkflowQuery& query);

// From when on retention counts; none: it has not ended, or a callback has not.
std::optional<Time> over_since(const core::Workflow& workflow);
// The ended state that is kept like jobs of `state`; none: there is none.
std::optional<core::WorkflowState> kept_like(core::State state);
// Whether it is a job that its workflow keeps: retention leaves it alone.
bool is_kept(const core::Job& job);
// The number of a member's job in its workflow; none: it is no member's.
std::optional<std::uint32_t> member_of(const core::Job& job);

// The rows that may have the member of this number begin here or later.
constexpr std::uint32_t first_chunk_for(std::uint32_t number) {
  return number < core::kMembersPerChunk ? 0 : number - core::kMembersPerChunk + 1;
}
constexpr std::uint32_t first_page_for(std::uint32_t number) {
  return number / core::kFatesPerPage * core::kFatesPerPage;
}

// Puts an image together from its rows. Chunks may overlap, and then agree: a follower that took
// over may have written members again in other chunks.
class ImageRows {
 public:
  ImageRows(core::Workflow workflow, std::uint32_t first, std::uint32_t count);

  // The members that it is to have.
  std::uint32_t first() const { return image_.first; }
  std::uint32_t end() const {
    return image_.first + static_cast<std::uint32_t>(has_member_.size());
  }

  void take(core::MemberChunk chunk);
  void take(const core::FatePage& page);
  // An error: the rows lack a member, or its fate.
  Result<core::WorkflowImage> finish();

 private:
  core::WorkflowImage image_;
  std::vector<bool> has_member_, has_fate_;
};

// Whether the counts of a whole image are those of its fates.
bool counts_agree(const core::WorkflowImage& whole);
// The finding of a check: they do not.
std::string wrong_counts(const JobId& workflow);

}  // namespace millrace::store
