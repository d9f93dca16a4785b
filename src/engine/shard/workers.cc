#include "engine/shard/workers.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "base/free_memory.h"
#include "engine/shard/worker_name.h"

namespace millrace::engine {
namespace {

// A worker that never polls must not pile up commands; its heartbeats report cancellations too.
constexpr std::size_t kMaxCommandsKept = 10'000;

constexpr std::size_t kStringBytes = 48;  // of an allocated string, besides its characters
constexpr std::size_t kNameBytes = 160;   // of a queue or a type, including its container slot

// A worker of the server itself, which cannot be managed: no client can take such a name.
bool is_ours(std::string_view worker) { return worker.starts_with(kOwnerMark); }

}  // namespace

Workers::Entry* Workers::find(std::string_view worker) {
  const auto found = entries_.find(worker);
  return found == entries_.end() ? nullptr : &found->second;
}

// Assumes names of queues and types of maximum length: to measure each would slow every claim.
std::size_t Workers::bytes_of(const Entry& entry) {
  const WorkerInfo& info = entry.info;
  std::size_t bytes = sizeof(Entry) + 2 * (kStringBytes + info.id.size()) + info.host.size() +
                      info.sdk.size() + info.version.size();
  for (const auto& [name, value] : info.labels) {
    bytes += 2 * kStringBytes + name.size() + value.size();
  }
  bytes += (entry.queues.size() + entry.types.size()) * kNameBytes;
  return bytes + entry.commands.size() * sizeof(WorkerCommand);
}

bool Workers::count(Entry& entry) {
  const std::size_t bytes = bytes_of(entry);
  bytes_ = bytes_ - entry.bytes + bytes;
  entry.bytes = bytes;
  return bytes_ <= max_bytes_;
}

Workers::Entry* Workers::add(std::string_view worker, Time now) {
  if (is_ours(worker) || entries_.size() >= kMaxWorkers) return nullptr;
  if (bytes_ + sizeof(Entry) + 2 * (kStringBytes + worker.size()) > max_bytes_) return nullptr;
  Entry& entry = entries_[std::string(worker)];
  entry.info.id = SharedBytes(worker);
  entry.first_seen_at = entry.last_seen_at = now;
  count(entry);
  return &entry;
}

bool Workers::seen(const WorkerInfo& info, Time now) {
  Entry* entry = find(info.id.view());
  if (entry == nullptr) entry = add(info.id.view(), now);
  if (entry == nullptr) return false;
  entry->last_seen_at = std::max(entry->last_seen_at, now);
  entry->has_left = false;
  if (says_nothing(info)) return false;
  const bool news = entry->info.version != info.version || entry->info.sdk != info.sdk;
  entry->info = info;
  if (count(*entry)) return news;
  entry->info.labels = {};
  if (count(*entry)) return news;
  entry->info = {};
  entry->info.id = info.id;
  count(*entry);
  return false;
}

void Workers::claims(const core::Claim& claim) {
  Entry* entry = find(claim.worker.view());
  if (entry == nullptr) return;
  entry->queues = claim.queues;
  entry->types = claim.types;
  if (count(*entry)) return;
  free_memory(entry->queues);
  free_memory(entry->types);
  count(*entry);
}

void Workers::alive(std::string_view worker, Time now) {
  if (Entry* entry = find(worker)) entry->last_seen_at = std::max(entry->last_seen_at, now);
}

void Workers::leaves(std::string_view worker) {
  if (Entry* entry = find(worker)) entry->has_left = true;
}

WorkerState Workers::state(std::string_view worker) const {
  const auto found = entries_.find(worker);
  return found == entries_.end() ? WorkerState::kActive : found->second.state;
}

void Workers::introduce(const SharedBytes& worker, Time since) {
  if (!knows(worker.view())) add(worker.view(), since);
}

void Workers::set_state(std::string_view worker, WorkerState state) {
  Entry* entry = find(worker);
  if (entry == nullptr || entry->state >= state) return;
  entry->state = state;
  entry->state_told = false;
}

void Workers::add_command(std::string_view worker, const WorkerCommand& command) {
  Entry* entry = find(worker);
  if (entry == nullptr || entry->commands.size() >= kMaxCommandsKept) return;
  if (bytes_ + sizeof(WorkerCommand) > max_bytes_) return;
  entry->commands.push_back(command);
  count(*entry);
}

bool Workers::has_news(std::string_view worker) const {
  const auto found = entries_.find(worker);
  return found != entries_.end() && (!found->second.commands.empty() || !found->second.state_told);
}

std::vector<WorkerCommand> Workers::take_commands(std::string_view worker) {
  Entry* entry = find(worker);
  if (entry == nullptr) return {};
  std::vector<WorkerCommand> commands = std::exchange(entry->commands, {});
  if (!commands.empty()) count(*entry);
  entry->state_told = true;
  // Repeated with every poll: an answer may be lost, but the command must not.
  if (entry->state == WorkerState::kQuiet) {
    commands.insert(commands.begin(), {WorkerCommand::Kind::kQuiet, {}, {}});
  } else if (entry->state == WorkerState::kStopping) {
    commands.insert(commands.begin(), {WorkerCommand::Kind::kStop, {}, {}});
  }
  return commands;
}

void Workers::forget_stale(const core::Machine& machine, Time now) {
  absl::flat_hash_set<std::string> holding;
  for (const SharedBytes& worker : machine.workers_with_leases()) {
    holding.emplace(worker.view());
  }
  for (auto entry = entries_.begin(); entry != entries_.end();) {
    const bool stale =
        entry->second.has_left || now - entry->second.last_seen_at > kWorkerRemembered;
    if (!stale || holding.contains(entry->first)) {
      ++entry;
      continue;
    }
    bytes_ -= entry->second.bytes;
    entry = entries_.erase(entry);
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
