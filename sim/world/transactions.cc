#include "sim/world/transactions.h"

#include <algorithm>
#include <utility>

#include "engine/routing/scatter_gather.h"
#include "sim/violation.h"

namespace millrace::sim {
namespace {

// Small enough that pages are cut.
constexpr std::size_t kRowsOfAPage = 4;

}  // namespace

// --- Users' calls.

Transactions::Xid Transactions::begin() {
  const Xid xid{++xids_};
  open_[xid].began = ++moments_;
  return xid;
}

void Transactions::enqueue(Xid xid, core::Enqueue command) {
  core::JobSpec& job = command.jobs.front();
  Written written;
  written.shard = engine::shard_of(job.queue.view(), static_cast<std::uint32_t>(rows_.size()));
  written.row.key = next_key(xid);
  written.row.kind = store::InboxKind::kEnqueue;
  written.row.at = now_();
  written.row.job = job.id;
  // Relative times count from the call.
  if (job.delay > Duration{} && !job.run_at) {
    job.run_at = add_saturating(written.row.at, std::exchange(job.delay, {}));
  }
  if (job.expires_in) {
    job.expires_at = add_saturating(written.row.at, *std::exchange(job.expires_in, std::nullopt));
  }
  submissions_.written(written.row, std::move(command));
  open_.at(xid).rows.push_back(std::move(written));
}

bool Transactions::is_locked(const JobId& job, std::optional<Xid> but_by) const {
  return std::ranges::any_of(open_, [&](const auto& entry) {
    return entry.first != but_by && entry.second.fences.contains(job);
  });
}

Transactions::Said Transactions::raise_fence(Xid xid, const JobId& job, Fence to) {
  if (is_locked(job, xid)) return Said::kLocked;
  Open& open = open_.at(xid);
  const auto own = open.fences.find(job);
  const auto standing = fences_.find(job);
  const Fence* const fence = own != open.fences.end()    ? &own->second
                             : standing != fences_.end() ? &standing->second
                                                         : nullptr;
  if (fence != nullptr && fence->finished) return Said::kFinished;
  if (fence != nullptr && fence->token > to.token) return Said::kOutOfDate;
  open.fences[job] = to;
  return Said::kDone;
}

Transactions::Said Transactions::finish(Xid xid, const JobId& job, LeaseToken token) {
  const Said said = raise_fence(xid, job, {token, true, true});
  if (said == Said::kDone) write_of_lease(xid, store::InboxKind::kFinish, job, token);
  return said;
}

Transactions::Said Transactions::fence(Xid xid, const JobId& job, LeaseToken token) {
  const Said said = raise_fence(xid, job, {token, false, true});
  if (said == Said::kDone) write_of_lease(xid, store::InboxKind::kFence, job, token);
  return said;
}

void Transactions::write_of_lease(Xid xid, store::InboxKind kind, const JobId& job,
                                  LeaseToken token) {
  Written written;
  written.shard = engine::shard_of(job, static_cast<std::uint32_t>(rows_.size()));
  written.row.key = next_key(xid);
  written.row.kind = kind;
  written.row.at = now_();
  written.row.job = job;
  written.row.token = token;
  if (kind == store::InboxKind::kFinish)
    written.row.payload = fmt::format("[{}]", to_number(token));
  open_.at(xid).rows.push_back(std::move(written));
}

store::InboxKey Transactions::next_key(Xid xid) {
  return {static_cast<std::uint64_t>(xid), ++row_ids_};
}

void Transactions::commit(Xid xid) {
  const Open done = std::move(open_.extract(xid).mapped());
  for (const auto& [job, fence] : done.fences) fences_[job] = fence;
  const std::uint64_t ended = ++moments_;
  for (const Written& written : done.rows) {
    if (written.row.kind == store::InboxKind::kEnqueue) {
      submissions_.committed(written.row.key, done.began, ended);
    } else if (written.row.kind == store::InboxKind::kFinish) {
      finishes_.committed(written.row.job, written.row.token);
    }
    rows_[written.shard].emplace(written.row.key, written.row);
  }
}

void Transactions::roll_back(Xid xid) {
  for (const Written& written : open_.at(xid).rows) {
    marks_.hit(written.row.kind == store::InboxKind::kEnqueue ? Mark::kSubmissionRolledBack
                                                              : Mark::kFinishRolledBack);
  }
  open_.erase(xid);
}

std::vector<Transactions::Xid> Transactions::open() const {
  std::vector<Xid> xids;
  for (const auto& [xid, open] : open_) xids.push_back(xid);
  return xids;
}

// --- Leaders' calls.

bool Transactions::lies_in_an_inbox(const JobId& job) const {
  return std::ranges::any_of(rows_, [&](const auto& rows) {
    return std::ranges::any_of(rows, [&](const auto& entry) {
      return entry.second.kind != store::InboxKind::kEnqueue && entry.second.job == job;
    });
  });
}

// Raises all fences or, if one is locked, none. A finished job may be retried only when no part of
// its finish is pending; the same holds if its fence is above all tokens.
Result<std::vector<JobId>> Transactions::raise(std::span<const JobId> jobs, LeaseToken token) {
  for (const JobId& job : jobs) {
    if (is_locked(job, std::nullopt)) return failure("a transaction holds a fence");
  }
  std::vector<JobId> raised;
  for (const JobId& job : jobs) {
    const auto [entry, made] = fences_.try_emplace(job, Fence{token, false, false});
    Fence& fence = entry->second;
    if (!made && (fence.finished || fence.token > token) && lies_in_an_inbox(job)) continue;
    fence = {token, false, false};
    raised.push_back(job);
  }
  return raised;
}

store::InboxPage Transactions::read(const store::InboxReader& reader) const {
  store::InboxPage page;
  page.shard = reader.shard;
  page.snapshot.next = xids_ + 1;
  for (const auto& [xid, open] : open_) {
    page.snapshot.in_progress.push_back(static_cast<std::uint64_t>(xid));
  }
  for (const auto& [key, row] : rows_.at(reader.shard)) {
    const bool late = std::ranges::any_of(reader.place.open(), [&](const store::InboxKey& open) {
      return key.xid == open.xid && key.id > open.id;
    });
    if (key <= reader.place.after() && !late) continue;
    page.cut = page.rows.size() == kRowsOfAPage;
    if (page.cut) break;
    page.rows.push_back(row);
  }
  return page;
}

std::vector<store::InboxRow> Transactions::finishes(std::uint32_t shard) const {
  marks_.hit(Mark::kFinishesAlone);
  std::vector<store::InboxRow> finishes;
  for (const auto& [key, row] : rows_.at(shard)) {
    if (finishes.size() == kRowsOfAPage) break;
    if (row.kind != store::InboxKind::kEnqueue) finishes.push_back(row);
  }
  return finishes;
}

// Rows that do not fit the answer are left out.
store::FetchedRows Transactions::fetch(std::uint32_t shard,
                                       std::span<const store::InboxKey> keys) const {
  store::FetchedRows fetched;
  for (const store::InboxKey& key : keys) {
    const auto row = rows_.at(shard).find(key);
    if (row == rows_.at(shard).end()) {
      fetched.gone.push_back(key);
    } else if (fetched.rows.size() == kRowsOfAPage) {
      fetched.left.push_back(key);
    } else {
      fetched.rows.push_back(row->second);
    }
  }
  marks_.hit_if(!fetched.left.empty(), Mark::kSubmissionLeft);
  return fetched;
}

std::optional<store::InboxRow> Transactions::take(std::uint32_t shard, const store::InboxKey& key) {
  auto row = rows_.at(shard).extract(key);
  return row.empty() ? std::nullopt : std::optional(std::move(row.mapped()));
}

void Transactions::drop(std::uint32_t shard, std::span<const store::InboxKey> keys) {
  for (const store::InboxKey& key : keys) {
    const auto row = take(shard, key);
    if (!row) continue;
    if (row->kind == store::InboxKind::kEnqueue) {
      submissions_.dropped(key);
    } else if (row->kind == store::InboxKind::kFinish) {
      finishes_.dropped(row->job, row->token);
    }
  }
}

void Transactions::reject(std::uint32_t shard, std::span<const store::RejectedRow> rows) {
  for (const store::RejectedRow& rejected : rows) {
    const auto row = take(shard, rejected.key);
    if (!row) continue;
    if (row->kind == store::InboxKind::kEnqueue) {
      submissions_.rejected(rejected.key);
      continue;
    }
    const bool finished = row->kind == store::InboxKind::kFinish;
    if (finished) {
      finishes_.rejected(row->job, row->token, rejected.fence);
    } else {
      finishes_.fence_rejected(row->job, row->token);
    }
    Fence& fence = fences_.at(row->job);
    if (rejected.fence == store::FenceOfRejected::kReopened && fence.finished == finished &&
        fence.token == row->token) {
      fence = {rejected.open_to, false, false};
    }
  }
}

void Transactions::check_fences(const std::function<bool(const JobId&)>& exists) const {
  for (const auto& [job, fence] : fences_) {
    if (fence.told && exists(job)) finishes_.check_fence(job, fence.token, fence.finished);
  }
}

void Transactions::move(std::uint32_t shard, const store::InboxKey& key, std::uint32_t to) {
  auto row = take(shard, key);
  if (!row) return;
  marks_.hit(Mark::kFinishAstray);
  row->key = next_key(Xid{++xids_});
  ++row->moves;
  rows_.at(to).emplace(row->key, std::move(*row));
}

std::string Transactions::describe_rows() const {
  std::string text;
  for (std::size_t shard = 0; shard < rows_.size(); ++shard) {
    for (const auto& [key, row] : rows_[shard]) {
      text += fmt::format(" {} with token {}, of transaction {}, on shard {};", to_string(row.job),
                          to_number(row.token), key.xid, shard);
    }
  }
  return text;
}

std::size_t Transactions::rows() const {
  std::size_t all = 0;
  for (const auto& rows : rows_) all += rows.size();
  return all;
}

}  // namespace millrace::sim
