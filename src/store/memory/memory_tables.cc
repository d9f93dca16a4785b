#include "store/memory/memory_tables.h"

#include <fmt/format.h>

#include <algorithm>
#include <ranges>
#include <set>

#include "base/check.h"
#include "base/mutant.h"
#include "core/bounds.h"
#include "store/job_match.h"
#include "store/page_budget.h"
#include "store/workflow_rows.h"

namespace millrace::store {
namespace {

core::Job with_columns(core::Job job, Columns columns) {
  if (!columns.payload) job.payload = SharedBytes();
  if (!columns.result) job.result = SharedBytes();
  return job;
}

bool same_mark(const core::Mark& a, const core::Mark& b) {
  return a.kind == b.kind && a.at == b.at && a.attempt == b.attempt && a.reason == b.reason;
}

template <typename Rows, typename Member, typename Value>
bool holds(const Rows& rows, Member member, const Value& value) {
  return std::ranges::find(rows, value, member) != rows.end();
}

}  // namespace

Status MemoryTables::flush(const core::Changes& changes, FlushBase since, const Progress& to) {
  const MutexLock lock(mutex_);
  MILLRACE_CHECK(since.base <= since.from);
  if (progress_.seq != since.from && !mutated(Mutant::kFlushUnfenced)) {
    return failure(fmt::format("the tables are at row {}, not at row {}", to_number(progress_.seq),
                               to_number(since.from)));
  }
  for (const JobId& id : changes.deleted) delete_job(id);
  for (const core::Job& job : changes.jobs) upsert_job(job);
  if (since.overlaps()) take_back(changes, since.base);
  write_history(changes, since, to.seq);
  for (const SharedBytes& queue : changes.deleted_queues) {
    queues_.erase(std::string(queue.view()));
  }
  for (const core::Queue& queue : changes.queues) {
    core::Queue& stored =
        queues_.insert_or_assign(std::string(queue.name.view()), queue).first->second;
    stored.oldest_ready_at.reset();
  }
  write_keys(changes);
  write_schedules(changes);
  write_catalog(changes);
  write_operations(changes);
  workflows_.write(changes);
  write_limits(changes);
  write_audit(changes);
  for (const core::EndedLease& lease : changes.ended_leases) ended_leases_.push_back(lease);
  while (ended_leases_.size() > core::kEndedLeasesRemembered) ended_leases_.pop_front();
  progress_ = to;
  return {};
}

void MemoryTables::take_back(const core::Changes& changes, Seq base) {
  for (const auto& row : changes.marks) {
    const auto found = histories_.find(row.ord);
    if (found == histories_.end()) continue;
    std::erase_if(found->second.marks, [&](const StoredMark& stored) {
      return stored.flush > base && same_mark(stored.mark, row.mark);
    });
  }
  std::set<LeaseToken> again;
  for (const core::EndedLease& lease : changes.ended_leases) again.insert(lease.token);
  std::erase_if(ended_leases_,
                [&](const core::EndedLease& lease) { return again.contains(lease.token); });
}

void MemoryTables::delete_job(const JobId& id) {
  const auto found = ords_.find(id);
  if (found == ords_.end()) return;
  jobs_.erase(found->second);
  histories_.erase(found->second);
  ords_.erase(found);
}

void MemoryTables::upsert_job(const core::Job& job) {
  ords_[job.id] = job.ord;
  core::Job& stored = jobs_[job.ord];
  const SharedBytes payload = job.payload.empty() ? stored.payload : job.payload;
  stored = job;
  stored.payload = payload;
}

void MemoryTables::write_history(const core::Changes& changes, FlushBase since, Seq to) {
  const bool again = since.overlaps();
  for (const auto& row : changes.attempts) {
    auto& attempts = histories_[row.ord].attempts;
    if (again && holds(attempts, &core::Attempt::n, row.attempt.n)) continue;
    attempts.push_back(row.attempt);
  }
  for (const auto& row : changes.logs) {
    auto& logs = histories_[row.ord].logs;
    if (again && holds(logs, &core::LogLine::seq, row.line.seq)) continue;
    logs.push_back(row.line);
  }
  for (const auto& trim : changes.log_trims) {
    std::erase_if(histories_[trim.ord].logs, [&](const core::LogLine& line) {
      return line.n == trim.n && line.seq < trim.seq;
    });
  }
  for (const auto& row : changes.marks) histories_[row.ord].marks.push_back({to, row.mark});
}

void MemoryTables::write_keys(const core::Changes& changes) {
  for (const core::KeyRow& row : changes.keys) {
    keys_.insert_or_assign({row.key.expires_at, row.key.key}, row);
  }
  if (const auto until = changes.keys_expired_until) {
    std::erase_if(keys_, [&](const auto& entry) { return entry.first.first <= *until; });
  }
  for (const core::HeldUnique& unique : changes.held_uniques) {
    const std::pair key(std::string(unique.queue.view()), std::string(unique.key.view()));
    if (unique.until) {
      uniques_.insert_or_assign(key, unique);
    } else {
      uniques_.erase(key);
    }
  }
  if (const auto until = changes.uniques_released_until) {
    std::erase_if(uniques_, [&](const auto& entry) { return *entry.second.until <= *until; });
  }
}

void MemoryTables::write_catalog(const core::Changes& changes) {
  for (const core::CatalogKey& key : changes.deleted_catalog) catalog_.remove(key);
  for (const core::CatalogEntry& entry : changes.catalog) catalog_.put(entry);
}

void MemoryTables::write_operations(const core::Changes& changes) {
  for (const JobId& id : changes.deleted_operations) operations_.erase(id);
  for (const core::OperationPart& part : changes.operations) operations_[part.id] = part;
}

void MemoryTables::write_limits(const core::Changes& changes) {
  for (const auto& gone : changes.deleted_limits) {
    limits_.erase({gone.kind, std::string(gone.name.view())});
    std::erase_if(buckets_, [&](const auto& stored) {
      return stored.second.kind == gone.kind && stored.second.name == gone.name;
    });
  }
  for (const core::Limit& limit : changes.limits) {
    limits_[{limit.kind, std::string(limit.name.view())}] = limit;
  }
  for (const core::BucketRow& row : changes.buckets) {
    const std::tuple place(row.kind, std::string(row.name.view()), std::string(row.key.view()));
    if (!row.is_idle()) {
      buckets_[place] = row;
    } else {
      buckets_.erase(place);
    }
  }
}

void MemoryTables::write_audit(const core::Changes& changes) {
  for (const core::AuditRow& row : changes.audit) audit_.emplace(row.entry.n, row);
  if (!changes.audit_until) return;
  while (audit_.size() > 1 && audit_.begin()->second.at < *changes.audit_until) {
    audit_.erase(audit_.begin());
  }
}

void MemoryTables::write_schedules(const core::Changes& changes) {
  for (const SharedBytes& name : changes.deleted_schedules) {
    schedules_.erase(std::string(name.view()));
  }
  for (const core::Schedule& schedule : changes.schedules) {
    schedules_[std::string(schedule.name.view())].schedule = schedule;
  }
  for (const core::ScheduleRunRow& row : changes.schedule_runs) {
    auto& runs = schedules_[std::string(row.schedule.view())].runs;
    runs.insert_or_assign(row.n, row);
    while (runs.size() > core::kRunsKept) runs.erase(runs.begin());
  }
}

Result<Seq> MemoryTables::sync() {
  const MutexLock lock(mutex_);
  return progress_.seq;
}

Status MemoryTables::load(StateVisitor& visitor) {
  const MutexLock lock(mutex_);
  visitor.progress(progress_);
  for (const auto& [name, queue] : queues_) visitor.queue(queue);
  for (const auto& [name, limit] : limits_) visitor.limit(limit);
  for (const auto& [name, row] : buckets_) visitor.bucket(row);
  for (const auto& [ord, job] : jobs_) {
    if (!core::is_terminal(job.state)) visitor.job(job);
  }
  for (const auto& [place, row] : keys_) visitor.key(row);
  for (const auto& [place, unique] : uniques_) visitor.held_unique(unique);
  for (const core::EndedLease& lease : ended_leases_) visitor.ended_lease(lease);
  for (const auto& [name, stored] : schedules_) visitor.schedule(stored.schedule);
  for (const auto& [id, part] : operations_) visitor.operation(part);
  catalog_.walk({}, [&](const core::CatalogEntry& entry) {
    visitor.catalog_entry(entry);
    return true;
  });
  if (!audit_.empty()) visitor.audited(audit_.rbegin()->second);
  return workflows_.load(visitor);
}

Result<Progress> MemoryTables::progress() {
  const MutexLock lock(mutex_);
  return progress_;
}

Result<std::vector<core::Job>> MemoryTables::fetch(const std::vector<JobId>& ids) {
  const MutexLock lock(mutex_);
  std::vector<core::Job> found;
  for (const JobId& id : ids) {
    if (const auto ord = ords_.find(id); ord != ords_.end()) found.push_back(jobs_.at(ord->second));
  }
  return found;
}

Result<JobHistory> MemoryTables::history(const JobId& id, const HistoryParts& parts) {
  const MutexLock lock(mutex_);
  const auto ord = ords_.find(id);
  if (ord == ords_.end()) return JobHistory{};
  const auto found = histories_.find(ord->second);
  if (found == histories_.end()) return JobHistory{};
  JobHistory history;
  std::size_t bytes = 0;
  for (const core::LogLine& line : found->second.logs) {
    if (line.seq <= parts.logs_after || parts.most_logs == 0) continue;
    history.more_logs = history.logs.size() == parts.most_logs || bytes >= kMaxPageBytes;
    if (history.more_logs) break;
    bytes += line.message.size();
    history.logs.push_back(line);
  }
  if (!parts.attempts_and_marks) return history;
  history.attempts = found->second.attempts;
  for (const StoredMark& stored : found->second.marks) history.marks.push_back(stored.mark);
  return history;
}

void MemoryTables::scan(const core::JobFilter& filter, std::optional<Ord> after_ord,
                        const std::function<bool(const core::Job&)>& visit) {
  auto place = after_ord ? jobs_.lower_bound(*after_ord) : jobs_.end();
  while (place != jobs_.begin()) {
    --place;
    if (matches(filter, place->second) && !visit(place->second)) return;
  }
}

Result<JobPage> MemoryTables::list(const JobQuery& query) {
  const MutexLock lock(mutex_);
  JobPage page;
  PageBudget left(query);
  scan(query.filter, query.after_ord, [&](const core::Job& job) {
    core::Job shown = with_columns(job, query.columns);
    if (query.budget.gone.stop_requested() || !left.take(shown)) {
      page.next_after_ord = page.jobs.empty() ? job.ord + 1 : page.jobs.back().ord;
      return false;
    }
    page.jobs.push_back(std::move(shown));
    return true;
  });
  return page;
}

Result<Tables::IdPage> MemoryTables::select_ids(const core::JobFilter& filter,
                                                std::optional<std::uint64_t> after_ord,
                                                std::uint32_t limit, ReadBudget) {
  JobQuery query;
  query.filter = filter;
  query.after_ord = after_ord;
  query.limit = limit;
  const auto page = list(query);
  IdPage ids;
  for (const core::Job& job : page->jobs) {
    ids.ids.push_back(job.id);
    ids.ords.push_back(job.ord);
  }
  ids.next_after_ord = page->next_after_ord;
  return ids;
}

Result<std::uint64_t> MemoryTables::count(const core::JobFilter& filter, std::uint64_t limit,
                                          ReadBudget) {
  const MutexLock lock(mutex_);
  std::uint64_t found = 0;
  if (limit > 0) scan(filter, std::nullopt, [&](const core::Job&) { return ++found < limit; });
  return found;
}

std::map<std::pair<Time, MemoryTables::Ord>, JobId> MemoryTables::finished(const SharedBytes& queue,
                                                                           core::State state) {
  std::map<std::pair<Time, Ord>, JobId> found;
  for (const auto& [ord, job] : jobs_) {
    if (job.queue == queue && job.state == state && job.finished_at && !is_kept(job)) {
      found.emplace(std::pair(*job.finished_at, ord), job.id);
    }
  }
  return found;
}

Result<std::vector<JobId>> MemoryTables::finished_until(const SharedBytes& queue, core::State state,
                                                        Time until, std::uint32_t limit) {
  const MutexLock lock(mutex_);
  std::vector<JobId> ids;
  for (const auto& [place, id] : finished(queue, state)) {
    if (place.first > until || ids.size() == limit) break;
    ids.push_back(id);
  }
  return ids;
}

Result<std::optional<Time>> MemoryTables::oldest_finished(const SharedBytes& queue,
                                                          core::State state) {
  const MutexLock lock(mutex_);
  const auto found = finished(queue, state);
  if (found.empty()) return std::nullopt;
  return found.begin()->first.first;
}

Result<std::optional<core::WorkflowImage>> MemoryTables::workflow(const JobId& id,
                                                                  std::uint32_t first,
                                                                  std::uint32_t count) {
  const MutexLock lock(mutex_);
  return workflows_.image(id, first, count);
}

Result<WorkflowPage> MemoryTables::list_workflows(const WorkflowQuery& query) {
  const MutexLock lock(mutex_);
  return workflows_.list(query);
}

Result<std::vector<JobId>> MemoryTables::finished_workflows_until(const SharedBytes& queue,
                                                                  core::State retained_as,
                                                                  Time until, std::uint32_t limit) {
  const MutexLock lock(mutex_);
  std::vector<JobId> ids;
  for (const auto& [place, id] : workflows_.finished(queue, retained_as)) {
    if (place.first > until || ids.size() == limit) break;
    ids.push_back(id);
  }
  return ids;
}

Result<std::optional<Time>> MemoryTables::oldest_finished_workflow(const SharedBytes& queue,
                                                                   core::State retained_as) {
  const MutexLock lock(mutex_);
  const auto found = workflows_.finished(queue, retained_as);
  if (found.empty()) return std::nullopt;
  return found.begin()->first.first;
}

std::unique_ptr<MemoryTables> MemoryTables::copy() {
  const MutexLock lock(mutex_);
  auto copy = std::make_unique<MemoryTables>();
  const MutexLock copy_lock(copy->mutex_);
  copy->progress_ = progress_;
  copy->jobs_ = jobs_;
  copy->ords_ = ords_;
  copy->histories_ = histories_;
  copy->queues_ = queues_;
  copy->schedules_ = schedules_;
  copy->catalog_ = catalog_;
  copy->operations_ = operations_;
  copy->workflows_ = workflows_;
  copy->limits_ = limits_;
  copy->buckets_ = buckets_;
  copy->keys_ = keys_;
  copy->uniques_ = uniques_;
  copy->ended_leases_ = ended_leases_;
  copy->audit_ = audit_;
  copy->blobs_ = blobs_;
  return copy;
}

Result<std::vector<core::ScheduleRunRow>> MemoryTables::schedule_runs(const SharedBytes& schedule) {
  const MutexLock lock(mutex_);
  std::vector<core::ScheduleRunRow> rows;
  const auto found = schedules_.find(schedule.view());
  if (found == schedules_.end()) return rows;
  for (const auto& [n, row] : std::views::reverse(found->second.runs)) rows.push_back(row);
  return rows;
}

Result<std::vector<core::AuditRow>> MemoryTables::audit(const AuditQuery& query) {
  const MutexLock lock(mutex_);
  std::vector<core::AuditRow> rows;
  if (query.oldest_first) {
    for (auto at = audit_.upper_bound(query.after.value_or(0));
         at != audit_.end() && rows.size() < query.limit; ++at) {
      rows.push_back(at->second);
    }
    return rows;
  }
  auto at = query.after ? audit_.lower_bound(*query.after) : audit_.end();
  while (at != audit_.begin() && rows.size() < query.limit) rows.push_back((--at)->second);
  return rows;
}

Result<bool> MemoryTables::put_blobs(const std::vector<NamedBlob>& blobs, const NamedBlob& guard) {
  const MutexLock lock(mutex_);
  if (!guard.name.empty()) {
    const auto found = blobs_.find(guard.name);
    const auto stands = found == blobs_.end() ? std::nullopt : std::optional(found->second);
    if (stands != guard.content) return false;
  }
  for (const NamedBlob& blob : blobs) {
    if (blob.content) {
      blobs_[blob.name] = *blob.content;
    } else {
      blobs_.erase(blob.name);
    }
  }
  return true;
}

Result<std::vector<NamedBlob>> MemoryTables::get_blobs(const std::string& first,
                                                       const std::string& end) {
  const MutexLock lock(mutex_);
  std::vector<NamedBlob> found;
  for (auto at = blobs_.lower_bound(first); at != blobs_.end() && at->first < end; ++at) {
    found.push_back({at->first, at->second});
  }
  return found;
}

}  // namespace millrace::store
