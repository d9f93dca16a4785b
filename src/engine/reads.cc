#include "engine/reads.h"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "base/check.h"

namespace millrace::engine {
namespace {

// Merges rows in order of `number`; rows with the same number are equal.
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

constexpr std::uint32_t kAllLines = std::numeric_limits<std::uint32_t>::max();

// Leaves out lines that the tables still have, but that were dropped from the attempt's log.
void merge_logs(std::vector<core::LogLine>& lines, std::vector<core::LogLine> older,
                const std::vector<core::JobView::LogTrim>& trims) {
  merge_rows(lines, std::move(older), &core::LogLine::seq);
  for (const core::JobView::LogTrim& trim : trims) {
    std::erase_if(lines, [&](const core::LogLine& line) {
      return line.n == trim.n && line.seq < trim.below;
    });
  }
}

// The tables hold a job's first marks, memory its last ones. They may overlap, and marks have no
// number.
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

// One shard's jobs for a list.
class JobStream {
 public:
  JobStream(store::Tables& tables, std::uint64_t below) : tables_(tables), below_(below) {}

  bool has_jobs() const { return next_ < jobs_.size(); }
  const core::Job& head() const { return jobs_[next_]; }
  core::Job take() { return std::move(jobs_[next_++]); }
  // No jobs are left, and the tables may have more.
  bool must_read() const { return !has_jobs() && below_ != JobCursor::kEnded; }
  // Its last read ended early, because of time or bytes.
  bool cut_short() const { return cut_short_; }
  // The jobs still to come have lower ords.
  std::uint64_t below() const { return has_jobs() ? head().ord + 1 : below_; }

  Status read(const JobQuery& query, std::uint32_t limit, ReadBudget budget, std::size_t bytes) {
    Result<store::JobPage> page =
        tables_.list({query.filter, after_ord(below_), limit, query.columns, budget, bytes});
    if (!page) return std::unexpected(std::move(page.error()));
    jobs_ = std::move(page->jobs);
    next_ = 0;
    below_ = page->next_after_ord.value_or(JobCursor::kEnded);
    cut_short_ = page->next_after_ord && jobs_.size() < limit;
    return {};
  }

  static std::optional<std::uint64_t> after_ord(std::uint64_t below) {
    return below == JobCursor::kFromNewest ? std::nullopt : std::optional(below);
  }

 private:
  store::Tables& tables_;
  std::uint64_t below_;  // the next jobs to read have lower ords
  std::vector<core::Job> jobs_;
  std::size_t next_ = 0;
  bool cut_short_ = false;
};

std::optional<JobCursor> unless_ended(JobCursor cursor) {
  const auto ended = [](std::uint64_t below) { return below == JobCursor::kEnded; };
  if (std::ranges::all_of(cursor.below, ended)) return std::nullopt;
  return cursor;
}

}  // namespace

JobCursor Reads::begun(const JobCursor& after) const {
  if (after.below.empty()) return {std::vector(tables_.size(), JobCursor::kFromNewest)};
  MILLRACE_CHECK(after.below.size() == tables_.size());
  return after;
}

Result<JobPage> Reads::list(const JobQuery& query) const {
  // Each shard reads its share of the page, and reads again if it turns out to have more of the
  // page. A shard that was too slow for its share of the time reads no more; it ends the page when
  // its next job would be needed. So all shards together take roughly no longer than the budget.
  // The same applies to bytes.
  const auto share =
      static_cast<std::uint32_t>((query.limit + tables_.size() - 1) / tables_.size());
  const auto budget = query.budget.divided_by(tables_.size());
  const std::size_t bytes = query.bytes / tables_.size();
  const JobCursor begin = begun(query.after);
  std::vector<JobStream> streams;
  for (ShardNumber shard = 0; shard < shards(); ++shard) {
    streams.emplace_back(*tables_[shard], begin.below[shard]);
  }

  JobPage page;
  while (page.jobs.size() < query.limit) {
    const auto left = query.limit - static_cast<std::uint32_t>(page.jobs.size());
    for (JobStream& stream : streams) {
      if (!stream.must_read() || stream.cut_short()) continue;
      const Status read = stream.read(query, std::min(share, left), budget, bytes);
      if (!read) return std::unexpected(read.error());
    }
    if (std::ranges::any_of(streams, &JobStream::must_read)) break;
    JobStream* newest = nullptr;
    for (JobStream& stream : streams) {
      if (!stream.has_jobs()) continue;
      const bool newer = newest == nullptr || stream.head().created_at > newest->head().created_at;
      if (newer) newest = &stream;
    }
    if (newest == nullptr) break;
    page.jobs.push_back(newest->take());
  }
  JobCursor next;
  for (const JobStream& stream : streams) next.below.push_back(stream.below());
  page.next = unless_ended(std::move(next));
  return page;
}

Result<IdPage> Reads::select_ids(const JobFilter& filter, const JobCursor& after,
                                 std::uint32_t limit, ReadBudget budget) const {
  JobCursor cursor = begun(after);
  IdPage page;
  for (ShardNumber shard = 0; shard < shards() && page.ids.size() < limit; ++shard) {
    std::uint64_t& below = cursor.below[shard];
    if (below == JobCursor::kEnded) continue;
    auto found = tables_[shard]->select_ids(filter, JobStream::after_ord(below),
                                            limit - static_cast<std::uint32_t>(page.ids.size()),
                                            budget.divided_by(tables_.size()));
    if (!found) return std::unexpected(std::move(found.error()));
    std::ranges::move(found->ids, std::back_inserter(page.ids));
    below = found->next_after_ord.value_or(JobCursor::kEnded);
    if (below != JobCursor::kEnded) break;
  }
  page.next = unless_ended(std::move(cursor));
  return page;
}

Result<std::uint64_t> Reads::count(const JobFilter& filter, std::uint64_t limit,
                                   ReadBudget budget) const {
  std::uint64_t found = 0;
  for (store::Tables* const tables : tables_) {
    const auto more = tables->count(filter, limit - found, budget.divided_by(tables_.size()));
    if (!more) return more;
    found += *more;
  }
  return found;
}

Status Reads::fetch_into(ShardNumber shard, const std::vector<JobId>& ids, Jobs& found) const {
  if (ids.empty()) return {};
  Result<Jobs> more = tables_[shard]->fetch(ids);
  if (!more) return std::unexpected(std::move(more.error()));
  std::ranges::move(*more, std::back_inserter(found));
  return {};
}

Status Reads::fetch_foreign(std::vector<JobId> ids, Jobs& found) const {
  for (ShardNumber shard = 0; shard < shards() && !ids.empty(); ++shard) {
    std::vector<JobId> wanted;
    const auto is_foreign = [&](const JobId& id) { return shard_of(id, shards()) != shard; };
    std::ranges::copy_if(ids, std::back_inserter(wanted), is_foreign);
    const std::size_t before = found.size();
    if (Status done = fetch_into(shard, wanted, found); !done) return done;
    absl::flat_hash_set<JobId> there;
    for (std::size_t i = before; i < found.size(); ++i) there.insert(found[i].id);
    std::erase_if(ids, [&](const JobId& id) { return there.contains(id); });
  }
  return {};
}

Result<std::vector<core::Job>> Reads::fetch(const std::vector<JobId>& ids) const {
  if (tables_.size() == 1) return tables_.front()->fetch(ids);
  std::vector<std::vector<JobId>> by_shard(tables_.size());
  for (const JobId& id : ids) by_shard[shard_of(id, shards())].push_back(id);
  Jobs found;
  for (ShardNumber shard = 0; shard < shards(); ++shard) {
    Status done = fetch_into(shard, by_shard[shard], found);
    if (!done) return std::unexpected(std::move(done.error()));
  }
  absl::flat_hash_set<JobId> there;
  for (const core::Job& job : found) there.insert(job.id);
  std::vector<JobId> missing;
  std::ranges::copy_if(ids, std::back_inserter(missing),
                       [&](const JobId& id) { return !there.contains(id); });
  Status done = fetch_foreign(std::move(missing), found);
  if (!done) return std::unexpected(std::move(done.error()));
  return found;
}

store::Tables& Reads::tables_of(const core::Job& job) const {
  return *tables_[shard_of(job.queue.view(), shards())];
}

Result<std::optional<core::JobView>> Reads::job(const JobId& id, const core::JobReply& memory,
                                                History history, Lookup lookup) const {
  if (memory.job != nullptr) return completed(*memory.job, history);
  if (memory.deleted) return std::nullopt;
  Jobs found;
  const Status done = lookup == Lookup::kItsShard ? fetch_into(shard_of(id, shards()), {id}, found)
                                                  : fetch_foreign({id}, found);
  if (!done) return std::unexpected(done.error());
  if (found.empty()) return std::nullopt;
  core::JobView view;
  view.job = std::move(found.front());
  return completed(view, history);
}

Result<core::JobView> Reads::completed(const core::JobView& memory, History history) const {
  core::JobView view = memory;
  store::Tables& tables = tables_of(view.job);
  if (view.job.payload.empty()) {  // dropped under memory pressure
    Result<Jobs> found = tables.fetch({view.job.id});
    if (!found) return std::unexpected(found.error());
    const bool same = !found->empty() && found->front().ord == view.job.ord;
    if (same) view.job.payload = found->front().payload;
  }
  if (history != History::kNone) {
    store::HistoryParts parts;
    if (history == History::kWithoutLogs) parts.most_logs = 0;
    Result<JobHistory> older = tables.history(view.job.id, parts);
    if (!older) return std::unexpected(older.error());
    merge_history(view, std::move(*older));
  }
  return view;
}

Result<std::vector<core::AuditRow>> Reads::audit(ShardNumber shard,
                                                 const store::AuditQuery& query) const {
  return tables_[shard]->audit(query);
}

Result<std::vector<core::ScheduleRunRow>> Reads::schedule_runs(const SharedBytes& schedule) const {
  return tables_[shard_of(schedule.view(), shards())]->schedule_runs(schedule);
}

Result<std::optional<core::WorkflowImage>> Reads::workflow(const JobId& id, std::uint32_t first,
                                                           std::uint32_t count) const {
  return tables_[shard_of(id, shards())]->workflow(id, first, count);
}

Result<store::WorkflowPage> Reads::list_workflows(const store::WorkflowQuery& query) const {
  const auto place_of = [](const core::Workflow& workflow) {
    return store::WorkflowCursor{workflow.created_at, workflow.id};
  };
  store::WorkflowQuery wanted = query;
  wanted.budget = query.budget.divided_by(tables_.size());
  store::WorkflowPage page;
  std::vector<core::Workflow>& found = page.workflows;
  for (store::Tables* const tables : tables_) {
    auto more = tables->list_workflows(wanted);
    if (!more) return more;
    std::ranges::move(more->workflows, std::back_inserter(found));
    // A shard may have more of them beyond this place.
    if (more->next_after && (!page.next_after || *more->next_after > *page.next_after)) {
      page.next_after = more->next_after;
    }
  }
  std::ranges::sort(found, std::greater{}, place_of);
  if (page.next_after) {
    std::erase_if(found,
                  [&](const core::Workflow& each) { return place_of(each) < *page.next_after; });
  }
  if (found.size() > query.limit) {
    found.resize(query.limit);
    page.next_after = place_of(found.back());
  }
  return page;
}

Status Reads::complete(core::ClaimReply& claimed) const {
  // By shard.
  std::vector<std::vector<JobId>> ids(tables_.size());
  const auto shard_of_item = [&](const core::ClaimReply::Item& item) {
    return shard_of(item.job.queue.view(), shards());
  };
  bool complete = true;
  for (const auto& item : claimed.jobs) {
    if (!item.job.payload.empty()) continue;
    ids[shard_of_item(item)].push_back(item.job.id);
    complete = false;
  }
  if (complete) return {};
  // By order of submission, since a deleted id may have been reused.
  std::vector<absl::flat_hash_map<std::uint64_t, SharedBytes>> payloads(tables_.size());
  for (ShardNumber shard = 0; shard < shards(); ++shard) {
    Jobs stored;
    if (Status done = fetch_into(shard, ids[shard], stored); !done) return done;
    for (core::Job& job : stored) payloads[shard].emplace(job.ord, std::move(job.payload));
  }
  std::erase_if(claimed.jobs, [&](core::ClaimReply::Item& item) {
    if (!item.job.payload.empty()) return false;
    const auto& of_shard = payloads[shard_of_item(item)];
    const auto found = of_shard.find(item.job.ord);
    if (found != of_shard.end()) item.job.payload = found->second;
    return found == of_shard.end();
  });
  return {};
}

Result<LogPage> Reads::logs(const core::JobView& memory, std::uint32_t after,
                            std::uint32_t limit) const {
  LogPage page;
  do {
    Result<JobHistory> stored = tables_of(memory.job).history(memory.job.id, {false, after, limit});
    if (!stored) return std::unexpected(stored.error());
    page.more = stored->more_logs;
    // Memory's lines are the newest; those beyond what was read wait for a later page.
    const std::uint32_t until = page.more ? stored->logs.back().seq : kAllLines;
    page.lines.clear();
    for (const core::LogLine& line : memory.logs) {
      if (line.seq > after && line.seq <= until) page.lines.push_back(line);
    }
    merge_logs(page.lines, std::move(stored->logs), memory.log_trims);
    after = until;
  } while (page.lines.empty() && page.more);  // all of these lines were dropped
  if (page.lines.size() > limit) {
    page.lines.resize(limit);
    page.more = true;
  }
  return page;
}

void merge_history(core::JobView& view, JobHistory older) {
  merge_rows(view.attempts, std::move(older.attempts), &core::Attempt::n);
  merge_logs(view.logs, std::move(older.logs), view.log_trims);
  merge_marks(view.marks, std::move(older.marks));
}

}  // namespace millrace::engine
