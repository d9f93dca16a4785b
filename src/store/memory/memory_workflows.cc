#include "store/memory/memory_workflows.h"

#include <limits>

#include "store/workflow_rows.h"

namespace millrace::store {

void MemoryWorkflows::write(const core::Changes& changes) {
  for (const JobId& id : changes.deleted_workflows) stored_.erase(id);
  for (const core::Workflow& workflow : changes.workflows) {
    stored_[workflow.id].workflow = workflow;
  }
  for (const core::MemberChunk& chunk : changes.member_chunks) {
    stored_[chunk.workflow].chunks[chunk.first] = chunk;
  }
  for (const core::FatePage& page : changes.fate_pages) {
    stored_[page.workflow].pages[page.first] = page;
  }
}

Result<std::optional<core::WorkflowImage>> MemoryWorkflows::image(const JobId& id,
                                                                  std::uint32_t first,
                                                                  std::uint32_t count) const {
  const auto found = stored_.find(id);
  if (found == stored_.end()) return std::nullopt;
  const Stored& stored = found->second;
  ImageRows rows(stored.workflow, first, count);
  for (auto at = stored.chunks.lower_bound(first_chunk_for(rows.first()));
       at != stored.chunks.end() && at->first < rows.end(); ++at) {
    rows.take(at->second);
  }
  for (auto at = stored.pages.lower_bound(first_page_for(rows.first()));
       at != stored.pages.end() && at->first < rows.end(); ++at) {
    rows.take(at->second);
  }
  auto made = rows.finish();
  if (!made) return std::unexpected(made.error());
  return std::move(*made);
}

Status MemoryWorkflows::load(StateVisitor& visitor) const {
  for (const auto& [id, stored] : stored_) {
    if (!core::may_change(stored.workflow)) continue;
    const auto whole = image(id, 0, std::numeric_limits<std::uint32_t>::max());
    if (!whole) return std::unexpected(whole.error());
    visitor.workflow(**whole);
  }
  return {};
}

WorkflowPage MemoryWorkflows::list(const WorkflowQuery& query) const {
  std::map<WorkflowCursor, const core::Workflow*> by_age;
  for (const auto& [id, stored] : stored_) {
    by_age.emplace(place_of(stored.workflow), &stored.workflow);
  }
  WorkflowPage page;
  for (auto at = by_age.lower_bound(list_begin(query)); at != by_age.begin();) {
    const core::Workflow& workflow = *(--at)->second;
    if (!matches(query, workflow)) continue;
    if (query.budget.gone.stop_requested() || page.workflows.size() == query.limit) {
      page.next_after =
          page.workflows.empty() ? list_begin(query) : place_of(page.workflows.back());
      break;
    }
    page.workflows.push_back(workflow);
  }
  return page;
}

std::map<std::pair<Time, JobId>, JobId> MemoryWorkflows::finished(const SharedBytes& queue,
                                                                  core::State retained_as) const {
  std::map<std::pair<Time, JobId>, JobId> found;
  for (const auto& [id, stored] : stored_) {
    const core::Workflow& workflow = stored.workflow;
    const auto over = over_since(workflow);
    if (over && workflow.spec.queue == queue && core::retained_as(workflow.state) == retained_as) {
      found.emplace(std::pair(*over, id), id);
    }
  }
  return found;
}

}  // namespace millrace::store
