#include "engine/workers.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace millrace::engine {
namespace {

// A worker that never polls must not pile up orders; its heartbeats tell it of cancellations too.
constexpr std::size_t kMaxOrdersKept = 10'000;

// A worker of the server's own, which nobody manages: no client can take such a name.
bool is_ours(std::string_view worker) { return worker.starts_with('~'); }

}  // namespace

Workers::Entry* Workers::find(std::string_view worker) {
  const auto found = entries_.find(worker);
  return found == entries_.end() ? nullptr : &found->second;
}

void Workers::seen(const WorkerInfo& info, Time now) {
  if (is_ours(info.id.view())) return;
  Entry* entry = find(info.id.view());
  if (entry == nullptr) {
    if (entries_.size() >= kMaxWorkers) return;
    entry = &entries_[std::string(info.id.view())];
    entry->first_seen_at = now;
  }
  entry->info = info;
  entry->last_seen_at = std::max(entry->last_seen_at, now);
}

void Workers::claims(const core::Claim& claim) {
  if (Entry* entry = find(claim.worker.view())) {
    entry->queues = claim.queues;
    entry->types = claim.types;
  }
}

void Workers::alive(std::string_view worker, Time now) {
  if (Entry* entry = find(worker)) entry->last_seen_at = std::max(entry->last_seen_at, now);
}

WorkerState Workers::state(std::string_view worker) const {
  const auto found = entries_.find(worker);
  return found == entries_.end() ? WorkerState::kActive : found->second.state;
}

void Workers::introduce(const SharedBytes& worker, Time since) {
  if (is_ours(worker.view()) || knows(worker.view()) || entries_.size() >= kMaxWorkers) return;
  Entry& entry = entries_[std::string(worker.view())];
  entry.info.id = worker;
  entry.first_seen_at = entry.last_seen_at = since;
}

void Workers::set_state(std::string_view worker, WorkerState state) {
  Entry* entry = find(worker);
  if (entry == nullptr || entry->state >= state) return;
  entry->state = state;
  entry->state_told = false;
}

void Workers::order(std::string_view worker, const WorkerOrder& order) {
  Entry* entry = find(worker);
  if (entry != nullptr && entry->orders.size() < kMaxOrdersKept) entry->orders.push_back(order);
}

bool Workers::has_news(std::string_view worker) const {
  const auto found = entries_.find(worker);
  return found != entries_.end() && (!found->second.orders.empty() || !found->second.state_told);
}

std::vector<WorkerOrder> Workers::take_orders(std::string_view worker) {
  Entry* entry = find(worker);
  if (entry == nullptr) return {};
  std::vector<WorkerOrder> orders = std::exchange(entry->orders, {});
  entry->state_told = true;
  // Said again with every poll: an answer may get lost, and the order must not.
  if (entry->state == WorkerState::kQuiet) {
    orders.insert(orders.begin(), {WorkerOrder::Kind::kQuiet, {}, {}});
  } else if (entry->state == WorkerState::kStopping) {
    orders.insert(orders.begin(), {WorkerOrder::Kind::kStop, {}, {}});
  }
  return orders;
}

void Workers::forget_stale(const core::Machine& machine, Time now) {
  absl::flat_hash_set<std::string> holding;
  for (const SharedBytes& worker : machine.workers_with_leases()) {
    holding.emplace(worker.view());
  }
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const bool stale = now - entry->second.last_seen_at > kWorkerRemembered;
    entry = stale && !holding.contains(entry->first) ? entries_.erase(entry) : std::next(entry);
  }
}

std::vector<WorkerView> Workers::list(const core::Machine& machine, Time now) {
  forget_stale(machine, now);
  for (const SharedBytes& worker : machine.workers_with_leases()) {
    if (knows(worker.view())) continue;
    const std::vector<core::JobView> running = machine.running_jobs(worker);
    introduce(worker, running.empty() ? now : running.front().job.latest.started_at);
  }
  std::vector<WorkerView> views;
  views.reserve(entries_.size());
  for (const auto& [name, entry] : entries_) views.push_back(view(name, machine));
  return views;
}

WorkerView Workers::view(std::string_view worker, const core::Machine& machine) const {
  const Entry& entry = entries_.find(worker)->second;
  return {entry.info,
          entry.state,
          entry.queues,
          entry.types,
          entry.first_seen_at,
          entry.last_seen_at,
          machine.running_jobs(entry.info.id)};
}

}  // namespace millrace::engine
