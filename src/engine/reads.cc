#include "engine/reads.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "absl/container/flat_hash_map.h"

namespace millrace::engine {
namespace {

// Both in order of `number`; rows with the same number are equal.
template <typename Row, typename Number>
void merge_rows(std::vector<Row>& rows, std::vector<Row> older, Number number) {
  std::vector<Row> merged;
  merged.reserve(rows.size() + older.size());
  std::ranges::set_union(std::make_move_iterator(rows.begin()), std::make_move_iterator(rows.end()),
                         std::make_move_iterator(older.begin()),
                         std::make_move_iterator(older.end()), std::back_inserter(merged), {},
                         number, number);
  rows = std::move(merged);
}

// The tables hold a job's first marks, memory its last ones: they may overlap, and nothing else
// numbers them.
void merge_marks(std::vector<core::Mark>& marks, std::vector<core::Mark> older) {
  const auto same = [](const core::Mark& a, const core::Mark& b) {
    return a.kind == b.kind && a.at == b.at && a.attempt == b.attempt && a.reason == b.reason;
  };
  std::size_t overlap = std::min(marks.size(), older.size());
  while (overlap > 0 && !std::equal(older.end() - static_cast<std::ptrdiff_t>(overlap), older.end(),
                                    marks.begin(), same)) {
    --overlap;
  }
  older.insert(older.end(), marks.begin() + static_cast<std::ptrdiff_t>(overlap), marks.end());
  marks = std::move(older);
}

}  // namespace

Result<JobPage> Reads::list(const JobQuery& query) const { return tables_.list(query); }

Result<IdPage> Reads::select_ids(const JobFilter& filter, std::optional<std::uint64_t> after_ord,
                                 std::uint32_t limit, std::chrono::milliseconds budget) const {
  return tables_.select_ids(filter, after_ord, limit, budget);
}

Result<std::uint64_t> Reads::count(const JobFilter& filter, std::uint64_t limit,
                                   std::chrono::milliseconds budget) const {
  return tables_.count(filter, limit, budget);
}

Result<std::vector<core::Job>> Reads::fetch(const std::vector<JobId>& ids) const {
  return tables_.fetch(ids);
}

Result<std::optional<core::JobView>> Reads::job(const JobId& id, const core::JobReply& memory,
                                                History history) const {
  if (memory.job == nullptr) {
    if (memory.deleted) return std::nullopt;
    Result<std::vector<core::Job>> found = tables_.fetch({id});
    if (!found) return std::unexpected(found.error());
    if (found->empty()) return std::nullopt;
    core::JobView view;
    view.job = std::move(found->front());
    return completed(view, history);
  }
  return completed(*memory.job, history);
}

Result<core::JobView> Reads::completed(const core::JobView& memory, History history) const {
  core::JobView view = memory;
  if (view.job.payload.empty()) {  // let go of under memory pressure
    Result<std::vector<core::Job>> found = tables_.fetch({view.job.id});
    if (!found) return std::unexpected(found.error());
    const bool same = !found->empty() && found->front().ord == view.job.ord;
    if (same) view.job.payload = found->front().payload;
  }
  if (history == History::kWhole) {
    Result<JobHistory> older = tables_.history(view.job.id);
    if (!older) return std::unexpected(older.error());
    merge_history(view, std::move(*older));
  }
  return view;
}

Status Reads::complete(core::ClaimReply& claimed) const {
  std::vector<JobId> ids;
  for (const auto& item : claimed.jobs) {
    if (item.job.payload.empty()) ids.push_back(item.job.id);
  }
  if (ids.empty()) return {};
  Result<std::vector<core::Job>> stored = tables_.fetch(ids);
  if (!stored) return std::unexpected(stored.error());
  // By their order of submission: an id that was deleted may stand for another job by now.
  absl::flat_hash_map<std::uint64_t, SharedBytes> payloads;
  for (core::Job& job : *stored) payloads.emplace(job.ord, std::move(job.payload));
  std::erase_if(claimed.jobs, [&](core::ClaimReply::Item& item) {
    if (!item.job.payload.empty()) return false;
    const auto found = payloads.find(item.job.ord);
    if (found != payloads.end()) item.job.payload = found->second;
    return found == payloads.end();
  });
  return {};
}

void merge_history(core::JobView& view, JobHistory older) {
  merge_rows(view.attempts, std::move(older.attempts), &core::Attempt::n);
  merge_rows(view.logs, std::move(older.logs), &core::LogLine::seq);
  for (const core::JobView::LogTrim& trim : view.log_trims) {
    std::erase_if(view.logs, [&](const core::LogLine& line) {
      return line.n == trim.n && line.seq < trim.below;
    });
  }
  merge_marks(view.marks, std::move(older.marks));
}

}  // namespace millrace::engine
