#include "core/shard_state.h"

#include <algorithm>
#include <ranges>

#include "base/check.h"
#include "base/mutant.h"

namespace millrace::core {

SlotIndex ShardState::find_leased(const JobId& id, LeaseToken token) const {
  const SlotIndex index = find(id);
  if (index == kNoSlot || token == kNoToken) return kNoSlot;
  const JobSlot& slot = slots.at(index);
  const bool live = slot.state == State::kRunning && slot.activity->token == token;
  if (mutated(Mutant::kTokenUnchecked) && slot.state == State::kRunning) return index;
  return live ? index : kNoSlot;
}

ReadyKey ready_key(const JobSlot& slot, SlotIndex index) {
  if (const std::int64_t ageing_ms = slot.lane->queue->ageing_ms; ageing_ms > 0) {
    const std::int64_t rank = slot.priority * ageing_ms + to_ms(ready_since(slot));
    return {0, index, time_from_ms(rank), slot.ord};
  }
  return {slot.priority, index, slot.run_at, slot.ord};
}

Time lease_end(const Activity& activity) {
  const Time expires_at = activity.lease_expires_at.value();
  return activity.deadline ? std::min(expires_at, *activity.deadline) : expires_at;
}

JobRef to_ref(const JobSlot& slot) {
  return {slot.id, slot.lane->queue->name, slot.lane->type, slot.attempt};
}

JobRef to_ref(const Job& job) { return {job.id, job.queue, job.type, job.attempt}; }

Job to_job(const JobSlot& slot) {
  Job job;
  job.id = slot.id;
  job.ord = slot.ord;
  job.queue = slot.lane->queue->name;
  job.type = slot.lane->type;
  job.payload = slot.payload;
  job.state = slot.state;
  job.priority = slot.priority;
  job.attempt = slot.attempt;
  job.max_attempts = slot.max_attempts;
  job.crashes = slot.crashes;
  job.generation = slot.generation;
  job.version = slot.version;
  job.created_at = slot.created_at;
  job.run_at = slot.run_at;
  job.cancel_requested = slot.cancel_requested;
  job.lease = Duration{slot.lease_ms};
  job.retry = slot.retry;
  job.extras = slot.extras;
  if (slot.activity != nullptr) static_cast<JobCold&>(job) = *slot.activity;
  return job;
}

std::shared_ptr<const JobView> to_view(const ShardState& state, const JobSlot& slot) {
  auto view = std::make_shared<JobView>();
  view->job = to_job(slot);
  const auto add = [&](const PendingHistories& histories) {
    const auto found = histories.find(slot.ord);
    if (found == histories.end()) return;
    const PendingHistory& history = found->second;
    view->attempts.insert(view->attempts.end(), history.attempts.begin(), history.attempts.end());
    view->logs.insert(view->logs.end(), history.logs.begin(), history.logs.end());
    view->marks.insert(view->marks.end(), history.marks.begin(), history.marks.end());
    for (const Changes::LogTrim& trim : history.trims) {
      view->log_trims.push_back({trim.n, trim.seq});
    }
  };
  if (state.changes.in_flight) add(state.changes.in_flight->histories);
  add(state.changes.histories);
  for (const JobView::LogTrim& trim : view->log_trims) {
    std::erase_if(view->logs,
                  [&](const LogLine& line) { return line.n == trim.n && line.seq < trim.below; });
  }
  return view;
}

void load_workflow(ShardState& state, const WorkflowImage& whole) {
  WorkflowEntry& entry = state.workflows.set(whole.workflow);
  entry.add(whole.members);
  entry.rebuild(whole.fates);
  entry.unstored = static_cast<std::uint32_t>(entry.members.size());
  state.workflows.touch(entry);
  entry.active = entry.graph.count(MemberState::kActive);
  state.workflows_active += entry.active;
  state.bytes_held += entry.bytes;
}

namespace {

// In order, each name once.
std::vector<SharedBytes> take_names(std::vector<SharedBytes>& names) {
  const auto by_name = [](const SharedBytes& name) { return name.view(); };
  std::ranges::sort(names, {}, by_name);
  const auto again = std::ranges::unique(names, {}, by_name);
  names.erase(again.begin(), again.end());
  return std::exchange(names, {});
}

// The deleted queues that were not created again.
void take_deleted_queues(ShardState& state, Changes& changes) {
  std::vector<SharedBytes>& names = state.changes.deleted_queues;
  std::erase_if(names,
                [&](const SharedBytes& name) { return state.find_queue(name.view()) != nullptr; });
  changes.deleted_queues = take_names(names);
}

// A schedule that was deleted and set again is also among the deleted ones: its old runs are
// removed.
void take_schedules(ShardState& state, Changes& changes) {
  ChangeLog& log = state.changes;
  changes.deleted_schedules = take_names(log.deleted_schedules);
  for (ScheduleEntry* entry : log.schedules) {
    entry->dirty = false;
    changes.schedules.push_back(entry->schedule);
  }
  std::ranges::sort(changes.schedules, {}, [](const Schedule& s) { return s.name.view(); });
  log.schedules.clear();
  changes.schedule_runs = std::exchange(log.schedule_runs, {});
  log.in_flight->schedule_runs = changes.schedule_runs;
}

void take_catalog(ShardState& state, Changes& changes) {
  for (const CatalogKey& key : std::exchange(state.changes.catalog, {})) {
    if (const CatalogEntry* const entry = state.catalog.find(key)) {
      changes.catalog.push_back(*entry);
    } else {
      changes.deleted_catalog.push_back(key);
    }
  }
}

void take_operations(ShardState& state, Changes& changes) {
  for (const JobId& id : std::exchange(state.changes.operations, {})) {
    const auto found = state.operations.find(id);
    if (found != state.operations.end()) {
      changes.operations.push_back(found->second);
    } else {
      changes.deleted_operations.push_back(id);
    }
  }
}

void take_workflows(ShardState& state, Changes& changes) {
  ChangeLog& log = state.changes;
  std::ranges::sort(log.workflows);
  for (const JobId& id : log.workflows) {
    WorkflowEntry& entry = *state.workflows.find(id);
    entry.dirty = false;
    changes.workflows.push_back(entry.record());
    const auto members = static_cast<std::uint32_t>(entry.members.size());
    for (std::uint32_t first = entry.unstored; first < members; first += kMembersPerChunk) {
      WorkflowImage image = entry.image(first, kMembersPerChunk);
      changes.member_chunks.push_back({id, first, std::move(image.members)});
    }
    entry.unstored = members;
    for (const std::uint32_t first : entry.changed_pages) {
      changes.fate_pages.push_back({id, first, entry.image(first, kFatesPerPage).fates});
    }
    entry.changed_pages.clear();
  }
  log.in_flight->workflows = std::exchange(log.workflows, {});
  changes.deleted_workflows.assign(log.deleted_workflows.begin(), log.deleted_workflows.end());
  log.in_flight->deleted_workflows = std::exchange(log.deleted_workflows, {});
}

// Each once, in order.
std::vector<std::pair<LimitKind, SharedBytes>> take_limit_names(
    std::vector<std::pair<LimitKind, SharedBytes>>& names) {
  const auto by_name = [](const auto& name) { return std::pair(name.first, name.second.view()); };
  std::ranges::sort(names, {}, by_name);
  const auto again = std::ranges::unique(names, {}, by_name);
  names.erase(again.begin(), again.end());
  return std::exchange(names, {});
}

void take_limits(ShardState& state, Changes& changes) {
  for (auto& [kind, name] : take_limit_names(state.changes.deleted_limits)) {
    changes.deleted_limits.push_back({kind, std::move(name)});
  }
  for (const auto& [kind, name] : take_limit_names(state.changes.limits)) {
    const LimitEntry* const entry = state.gates.find(kind, name.view());
    if (entry == nullptr) continue;
    changes.limits.push_back(entry->limit);
    if (mutated(Mutant::kLimitPauseForgotten)) changes.limits.back().pauses.clear();
  }
  changes.buckets = state.gates.take_buckets(state.facts.at);
  if (mutated(Mutant::kFairTagForgotten)) return;
  state.gates.take_fair(state.facts.at, changes.buckets);
}

}  // namespace

std::unique_ptr<Changes> take_changes(ShardState& state) {
  ChangeLog& log = state.changes;
  MILLRACE_CHECK(!log.in_flight);
  MILLRACE_CHECK(state.retired.empty());
  auto changes = std::make_unique<Changes>();
  auto& in_flight = log.in_flight.emplace();
  changes->facts = state.facts;

  changes->jobs.reserve(log.changed_jobs());
  for (const auto& [index, ord] : log.jobs) {
    JobSlot& slot = state.slots.at(index);
    if (slot.ord != ord || !slot.dirty) continue;  // deleted since, perhaps reused; or listed twice
    slot.dirty = false;
    slot.stored = true;
    Job& job = changes->jobs.emplace_back(to_job(slot));
    if (slot.payload_stored) {
      job.payload = {};  // the tables already have it
    } else {
      slot.payload_taken = true;
    }
    if (is_terminal(slot.state)) {
      in_flight.ended_jobs.emplace_back(index, ord);
    } else if (slot.payload_taken) {
      in_flight.payloads.emplace_back(index, ord);
    }
  }
  std::sort(changes->jobs.begin(), changes->jobs.end(),
            [](const Job& a, const Job& b) { return a.ord < b.ord; });
  log.jobs.clear();
  log.jobs_freed = 0;

  in_flight.histories = std::exchange(log.histories, {});
  for (const auto& [ord, history] : in_flight.histories) {
    for (const Attempt& attempt : history.attempts) changes->attempts.push_back({ord, attempt});
    for (const LogLine& line : history.logs) changes->logs.push_back({ord, line});
    for (const Mark& mark : history.marks) changes->marks.push_back({ord, mark});
    changes->log_trims.insert(changes->log_trims.end(), history.trims.begin(), history.trims.end());
  }

  for (QueueEntry* queue : log.queues) {
    queue->dirty = false;
    const bool paused = queue->paused && !mutated(Mutant::kPauseForgotten);
    changes->queues.push_back({queue->name, queue->settings, paused, queue->pause_reason,
                               queue->version, queue->counts, queue->created, queue->pruned,
                               std::nullopt});
  }
  std::sort(changes->queues.begin(), changes->queues.end(),
            [](const Queue& a, const Queue& b) { return a.name.view() < b.name.view(); });
  log.queues.clear();
  if (!mutated(Mutant::kDeletedQueueKept)) take_deleted_queues(state, *changes);

  take_schedules(state, *changes);
  take_catalog(state, *changes);
  take_limits(state, *changes);
  take_operations(state, *changes);
  take_workflows(state, *changes);
  changes->deleted = std::exchange(log.deleted, {});
  in_flight.deleted = changes->deleted;
  changes->keys = std::exchange(log.keys, {});
  changes->keys_expired_until = std::exchange(log.keys_expired_until, std::nullopt);
  changes->uniques_released_until = std::exchange(log.uniques_released_until, std::nullopt);
  changes->held_uniques = std::exchange(log.held_uniques, {});
  changes->ended_leases = std::exchange(log.ended_leases, {});
  changes->audit = std::exchange(log.audit, {});
  return changes;
}

void changes_stored(ShardState& state, std::uint64_t keep_bytes) {
  MILLRACE_CHECK(state.changes.in_flight);
  const ChangeLog::InFlight stored = std::move(*state.changes.in_flight);
  state.changes.in_flight.reset();
  for (const auto& [index, ord] : stored.ended_jobs) {
    JobSlot& slot = state.slots.at(index);
    if (slot.ord != ord) continue;
    if (!slot.dirty && is_terminal(slot.state)) {
      evict(state, index);
    } else if (slot.payload_taken) {  // a committed finish has since ended it differently
      slot.payload_taken = false;
      slot.payload_stored = true;
    }
  }
  // From the end: early jobs will be claimed first.
  for (const auto& [index, ord] : std::views::reverse(stored.payloads)) {
    JobSlot& slot = state.slots.at(index);
    if (slot.ord != ord || !slot.payload_taken) continue;  // gone, or changed since
    slot.payload_taken = false;
    slot.payload_stored = true;
    if (state.bytes_held > keep_bytes) let_go_of_payload(state, slot);
  }
  for (const JobId& id : stored.workflows) {
    WorkflowEntry* const entry = state.workflows.find(id);
    if (entry == nullptr || entry->dirty || may_change(entry->record())) continue;
    state.bytes_held -= entry->bytes;
    state.workflows.remove(*entry);
  }
  for (const JobId& id : stored.deleted) state.changes.tombstones.erase(id);
  for (const JobId& id : state.changes.deleted)
    state.changes.tombstones.insert(id);  // deleted again since
}

}  // namespace millrace::core
