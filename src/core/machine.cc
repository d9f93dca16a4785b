#include "core/machine.h"

#include <algorithm>

#include "base/check.h"
#include "base/mutant.h"
#include "core/audit/audit_scribe.h"
#include "core/kinds.h"
#include "core/shard_state.h"
#include "core/workflows/workflow_decider.h"

namespace millrace::core {
namespace {

// Freed keys are removed in batches of this length, so that frequent expiries cause few events.
constexpr Duration kKeyExpiryGrain{1'000};
// The period between deletions of expired audit rows.
constexpr Duration kAuditPruningPause{600'000};

class Nothing final : public Prefetched {
 public:
  const Job* find(const JobId&) const override { return nullptr; }
};

// Collects the ids of jobs that memory alone cannot answer.
class NeededIds {
 public:
  NeededIds(const ShardState& state, std::vector<JobId>& out) : state_(state), out_(out) {}

  // For a job whose payload memory may have dropped.
  void add_with_payload(const JobId& id) {
    const SlotIndex index = state_.find(id);
    if (index != kNoSlot && state_.slots.at(index).payload.empty()) out_.push_back(id);
  }
  void add(const JobId& id) {
    const bool unknown = state_.find(id) == kNoSlot && !state_.changes.tombstones.contains(id);
    if (unknown || mutated(Mutant::kStalePrefetch)) out_.push_back(id);
  }
  void add(const std::vector<JobId>& ids) {
    for (const JobId& id : ids) add(id);
  }
  void add(const std::vector<JobSpec>& specs) {
    for (const JobSpec& spec : specs) {
      if (spec.id_origin != IdOrigin::kClient) continue;
      // A repeated submission is compared with the job's payload.
      add_with_payload(spec.id);
      add(spec.id);
    }
  }
  void add_workflow(const JobId&) {}  // needed_workflows()
  // Null: the operation has no part here.
  const OperationPart* part_of(const JobId& operation) const {
    const auto found = state_.operations.find(operation);
    return found == state_.operations.end() ? nullptr : &found->second;
  }

 private:
  const ShardState& state_;
  std::vector<JobId>& out_;
};

class NeededWorkflows {
 public:
  NeededWorkflows(const ShardState& state, std::vector<JobId>& out) : state_(state), out_(out) {}

  void add_workflow(const JobId& id) {
    const bool known = state_.workflows.find(id) != nullptr || state_.changes.is_forgotten(id);
    if (!known) out_.push_back(id);
  }
  // Jobs: needed().
  void add_with_payload(const JobId&) {}
  template <typename Any>
  void add(const Any&) {}
  const OperationPart* part_of(const JobId&) const { return nullptr; }

 private:
  const ShardState& state_;
  std::vector<JobId>& out_;
};

}  // namespace

struct Machine::Impl {
  MachineOptions options;
  ShardState state;
  std::uint32_t unlooked_at = 0;  // let_go_of_payloads() has yet to examine the slots below it
  std::optional<Time> audit_pruned_at;
  std::optional<Audited> late;  // Mutant::kAuditLate
  JobId turn;                   // the workflow that was served last
  std::optional<Time> stops_told_at;
};

Machine::Machine(MachineOptions options) : impl_(std::make_unique<Impl>()) {
  impl_->options = options;
  impl_->state.gates.share_with(options.shard, options.shards);
  impl_->state.shard = options.shard;
  impl_->state.shards = options.shards;
}
Machine::~Machine() = default;

void Machine::needed(const Command& command, std::vector<JobId>& out) const {
  NeededIds needed(impl_->state, out);
  std::visit([&]<typename C>(const C& given) { Kind<C>::need(given, needed); }, command);
}

std::vector<JobId> Machine::needed_workflows(const Command& command) const {
  std::vector<JobId> ids;
  NeededWorkflows needed(impl_->state, ids);
  std::visit([&]<typename C>(const C& given) { Kind<C>::need(given, needed); }, command);
  return ids;
}

Reply Machine::decide(const Command& command, Time now, const Prefetched& prefetched,
                      Admission admission, std::vector<Event>& events) {
  now = std::max(now, impl_->state.facts.at);
  WorkflowDecider decider(impl_->state, impl_->options, now, prefetched, admission, events);
  const Origin* const origin = origin_of(command);
  if (origin == nullptr) return std::visit(decider, command);
  const AuditScribe scribe(impl_->state, prefetched, command, *origin);
  const std::size_t first = events.size();
  Reply reply = std::visit(decider, command);
  std::optional<Audited> entry = scribe.entry(events, first);
  if (entry && mutated(Mutant::kAuditLate)) {
    impl_->late = std::move(entry);
  } else if (entry) {
    events.emplace_back(std::move(*entry));
    apply_event(impl_->state, events.back(), now);
  }
  return reply;
}

void Machine::tick(Time now, std::vector<Event>& events) {
  now = std::max(now, impl_->state.facts.at);
  const Nothing nothing;
  WorkflowDecider decider(impl_->state, impl_->options, now, nothing, Admission::kOpen, events);
  open_gates(impl_->state, now);
  if (impl_->late) {
    impl_->late->n = impl_->state.audited + 1;
    events.emplace_back(*std::exchange(impl_->late, std::nullopt));
    apply_event(impl_->state, events.back(), now);
  }
  std::size_t left = kMaxDuePerTick;
  left -= decider.end_leases(left);
  left -= decider.expire_jobs(left);
  decider.ready_jobs(left);
  decider.close_books(kMaxShareItems);
  decider.end_timeouts(kMaxDuePerTick);
  const std::optional<Time> keys = impl_->state.keys.earliest_expiry();
  const std::optional<Time> uniques = impl_->state.uniques.earliest_release();
  if ((keys && *keys + kKeyExpiryGrain <= now) || (uniques && *uniques + kKeyExpiryGrain <= now)) {
    decider.free_keys();
  }
}

std::size_t Machine::claimable(std::string_view queue, const std::vector<SharedBytes>& types,
                               Time now, std::size_t most) const {
  return count_claimable(impl_->state, queue, types, now, most);
}

std::optional<Time> Machine::next_timer() const {
  std::optional<Time> next;
  const auto consider = [&](Time at) { next = next ? std::min(*next, at) : at; };
  for (const Timers* timers : {&impl_->state.leases, &impl_->state.expiry, &impl_->state.due}) {
    if (!timers->empty()) consider(timers->begin()->at);
    if (mutated(Mutant::kLeaseExpiresEarly) && !timers->empty()) {
      consider(timers->begin()->at - Duration{1});
    }
  }
  if (const auto at = impl_->state.gates.next_timer()) consider(*at);
  if (const auto at = impl_->state.gates.next_book_over()) consider(*at);
  if (const auto at = impl_->state.workflows.next_timeout()) consider(*at);
  if (impl_->late) consider(impl_->state.facts.at);
  if (!impl_->state.gates.unsettled.empty()) consider(impl_->state.facts.at);
  if (const auto at = impl_->state.keys.earliest_expiry()) consider(*at + kKeyExpiryGrain);
  if (const auto at = impl_->state.uniques.earliest_release()) consider(*at + kKeyExpiryGrain);
  return next;
}

std::optional<Time> Machine::next_schedule(Time after) const {
  return impl_->state.schedules.first_due(after);
}

std::vector<SharedBytes> Machine::due_schedules(Time wall, std::size_t most) const {
  std::vector<SharedBytes> names;
  impl_->state.schedules.walk_due([&](Time at, const Schedule& schedule) {
    if (at > wall || names.size() == most) return false;
    names.push_back(schedule.name);
    return true;
  });
  return names;
}

const Schedule* Machine::schedule(std::string_view name) const {
  const ScheduleEntry* const entry = impl_->state.schedules.find(name);
  return entry == nullptr ? nullptr : &entry->schedule;
}

bool Machine::lives(const JobId& id) const { return impl_->state.lives(id); }

std::vector<SharedBytes> Machine::schedules_waiting_elsewhere() const {
  std::vector<SharedBytes> names;
  for (const auto& [job, name] : impl_->state.schedules.awaited()) {
    const Schedule& schedule = impl_->state.schedules.find(name)->schedule;
    if (schedule.progress.last_box != kNoJob && !schedule.paused) names.push_back(schedule.name);
  }
  std::ranges::sort(names, {}, [](const SharedBytes& name) { return name.view(); });
  return names;
}

void Machine::fire(const Firing& firing, Time now, Admission admission,
                   std::vector<Event>& events) {
  now = std::max(now, impl_->state.facts.at);
  const Nothing nothing;
  Decider(impl_->state, impl_->options, now, nothing, admission, events).fire(firing);
}

void Machine::report_members(Time now, std::vector<Event>& events) {
  if (impl_->state.unreported.empty() && impl_->state.wishes.empty()) return;
  now = std::max(now, impl_->state.facts.at);
  const Nothing nothing;
  WorkflowDecider(impl_->state, impl_->options, now, nothing, Admission::kOpen, events).report();
}

void Machine::advance_workflows(std::size_t limit, Time now, Admission admission,
                                std::vector<Event>& events) {
  now = std::max(now, impl_->state.facts.at);
  const Nothing nothing;
  WorkflowDecider(impl_->state, impl_->options, now, nothing, admission, events)
      .advance(limit, impl_->turn);
}

bool Machine::has_pending_workflows() const { return impl_->state.workflows.pending() > 0; }
const WorkflowIndex& Machine::workflows() const { return impl_->state.workflows; }

std::vector<ShareMessage> Machine::take_share_messages(Time now) {
  GateIndex& gates = impl_->state.gates;
  const std::uint32_t shards = impl_->options.shards;
  std::vector<ShareMessage> messages;
  for (LimitCopy& copy : gates.take_copies()) {
    messages.push_back({copy.shard, CopyLimit{copy.shard, std::move(copy.limit), copy.gone}});
  }
  std::vector<ReportShares> reports(shards);
  for (ShareReport& report : gates.take_reports(now, kMaxShareItems)) {
    reports[queue_bits(report.name.view()) % shards].items.push_back(std::move(report));
  }
  std::vector<GiveShares> gifts(shards);
  for (SharePush& push : gates.take_pushes(now, kMaxShareItems)) {
    gifts[push.shard].items.push_back(std::move(push.gift));
  }
  for (std::uint32_t shard = 0; shard < shards; ++shard) {
    reports[shard].shard = gifts[shard].shard = shard;
    reports[shard].from = impl_->options.shard;
    if (!gifts[shard].items.empty()) messages.push_back({shard, std::move(gifts[shard])});
    if (!reports[shard].items.empty()) messages.push_back({shard, std::move(reports[shard])});
  }
  if (impl_->stops_told_at && now - *impl_->stops_told_at < kStopRepeat) return messages;
  if (impl_->state.workflows.stopping().empty()) return messages;
  impl_->stops_told_at = now;
  for (CancelMembers& stop : stops_to_tell(impl_->state)) {
    const std::uint32_t shard = stop.shard;
    messages.push_back({shard, std::move(stop)});
  }
  return messages;
}

std::optional<Time> Machine::next_share_message() const {
  std::optional<Time> next = impl_->state.gates.next_share_message();
  if (impl_->state.workflows.stopping().empty() || impl_->state.shards == 1) return next;
  const Time stop =
      impl_->stops_told_at ? *impl_->stops_told_at + kStopRepeat : impl_->state.facts.at;
  return next ? std::min(*next, stop) : stop;
}

void Machine::start_epoch(Epoch epoch, Time now, std::vector<Event>& events) {
  now = std::max(now, impl_->state.facts.at);
  // The tokens of a term start above any that an earlier term can have issued, even a term lost by
  // restoring a backup.
  const auto by_time = static_cast<std::uint64_t>(std::max<std::int64_t>(to_ms(now), 0)) * 1024;
  const std::uint64_t first = std::max(impl_->state.facts.next_token, by_time);
  events.emplace_back(EpochStarted{epoch, mutated(Mutant::kTokensRestart) ? 1 : first});
  apply_event(impl_->state, events.back(), now);
}

void Machine::extend_leases(Duration by, Time now, std::vector<Event>& events) {
  if (impl_->state.leases.empty() || by.count() <= 0) return;
  now = std::max(now, impl_->state.facts.at);
  events.emplace_back(LeasesExtended{by});
  apply_event(impl_->state, events.back(), now);
}

void Machine::apply(const Event& event, Time at) {
  apply_event(impl_->state, event, at);
  // The batch has the messages.
  impl_->state.unreported.clear();
}

std::vector<SharedBytes> Machine::take_woken_queues() {
  std::vector<SharedBytes> names;
  names.reserve(impl_->state.woken.size());
  for (QueueEntry* queue : impl_->state.woken) {
    queue->woken = false;
    names.push_back(queue->name);
  }
  impl_->state.woken.clear();
  return names;
}

std::vector<Ending> Machine::take_endings() { return std::exchange(impl_->state.endings, {}); }

void Machine::end_step() {
  impl_->state.endings.clear();
  free_retired(impl_->state);
}

std::shared_ptr<const JobView> Machine::view(const JobId& id) const {
  SlotIndex index = impl_->state.find(id);
  if (index == kNoSlot) {
    const auto retired = impl_->state.retired.find(id);
    if (retired == impl_->state.retired.end()) return nullptr;
    index = retired->second;
  }
  return to_view(impl_->state, impl_->state.slots.at(index));
}

bool Machine::is_tombstone(const JobId& id) const {
  return impl_->state.changes.tombstones.contains(id);
}

std::vector<JobView> Machine::running_jobs(const SharedBytes& worker) const {
  std::vector<JobView> jobs;
  const auto found = impl_->state.workers.find(worker.view());
  if (found == impl_->state.workers.end()) return jobs;
  for (const auto& [token, index] : found->second->by_token) {
    JobView& view = jobs.emplace_back(*to_view(impl_->state, impl_->state.slots.at(index)));
    view.job.payload = view.job.result = {};
    view.job.last_error.reset();
    view.job.progress.reset();
  }
  return jobs;
}

std::vector<SharedBytes> Machine::workers_with_leases() const {
  std::vector<SharedBytes> names;
  for (const auto& [name, leases] : impl_->state.workers) names.push_back(leases->worker);
  std::sort(names.begin(), names.end(),
            [](const SharedBytes& a, const SharedBytes& b) { return a.view() < b.view(); });
  return names;
}

std::unique_ptr<const Changes> Machine::take_changes() {
  std::unique_ptr<Changes> changes = core::take_changes(impl_->state);
  const std::optional<Duration>& kept = impl_->options.audit_retention;
  const Time at = impl_->state.facts.at;
  const bool pruned = impl_->audit_pruned_at && at - *impl_->audit_pruned_at < kAuditPruningPause;
  if (kept && (kept->count() == 0 ? !changes->audit.empty() : !pruned)) {
    changes->audit_until = at - *kept + Duration{kept->count() == 0 ? 1 : 0};
    impl_->audit_pruned_at = at;
  }
  return changes;
}
void Machine::changes_stored() { core::changes_stored(impl_->state, impl_->options.keep_bytes); }
void Machine::set_keep_bytes(std::uint64_t bytes) { impl_->options.keep_bytes = bytes; }
void Machine::restart_letting_go() { impl_->unlooked_at = impl_->state.slots.size(); }

bool Machine::let_go_of_payloads(std::size_t most) {
  // From the end: the newest jobs will be claimed last.
  std::uint32_t& next = impl_->unlooked_at;
  for (; most > 0 && next > 0 && bytes_held() > impl_->options.keep_bytes; --most) {
    JobSlot& slot = impl_->state.slots.at(SlotIndex{--next});
    if (slot.payload_stored) let_go_of_payload(impl_->state, slot);
  }
  return next > 0 && bytes_held() > impl_->options.keep_bytes;
}

void Machine::follow() {
  impl_->state.following = true;
  impl_->state.gates.follow(true);
}
void Machine::lead() {
  impl_->state.following = false;
  impl_->state.gates.follow(false);
}

std::size_t Machine::unprojected() const {
  const ChangeLog& log = impl_->state.changes;
  return log.jobs.size() + log.deleted.size() + log.keys.size();
}

std::size_t Machine::rows_to_flush() const {
  const ChangeLog& log = impl_->state.changes;
  return log.changed_jobs() + log.deleted.size() + log.keys.size();
}

void Machine::load_facts(const ShardFacts& facts) { impl_->state.facts = facts; }

void Machine::load_queue(const Queue& queue) {
  QueueEntry& entry = impl_->state.queues.ensure(queue.name);
  entry.settings = queue.settings;
  set_fair(entry);
  entry.paused = queue.paused;
  entry.pause_reason = queue.pause_reason;
  entry.version = queue.version;
  entry.counts = queue.counts;
  entry.created = queue.created;
  entry.pruned = queue.pruned;
  impl_->state.gates.set_queue(entry, queue.settings.gate(), impl_->state.facts.at);
}

void Machine::load_limit(const Limit& limit) {
  set_limit(impl_->state, limit, impl_->state.facts.at);
}
void Machine::load_bucket(const BucketRow& row) {
  if (row.kind != LimitKind::kFair) return impl_->state.gates.load(row);
  QueueEntry* const queue = impl_->state.queues.find_entry(row.name.view());
  if (queue != nullptr && queue->fair != nullptr) impl_->state.gates.load_fair(*queue->fair, row);
}

void Machine::load_job(const Job& job) {
  core::load_job(impl_->state, job, impl_->options.keep_bytes);
}
void Machine::load_key(const KeyRow& row) { impl_->state.keys.insert(row); }

void Machine::load_held_unique(const HeldUnique& unique) {
  impl_->state.uniques.take(unique.queue.view(), unique.key.view(), unique.job);
  impl_->state.uniques.ended(unique.queue.view(), unique.key.view(), unique.job, unique.until);
}

void Machine::load_ended_lease(const EndedLease& lease) { impl_->state.ended_leases.add(lease); }
void Machine::load_schedule(const Schedule& schedule) {
  core::load_schedule(impl_->state, schedule);
}

void Machine::load_catalog_entry(const CatalogEntry& entry) { impl_->state.catalog.put(entry); }
void Machine::load_audited(const AuditRow& newest) {
  impl_->state.audited = newest.entry.n;
  impl_->state.audit_head = newest.hash;
}

void Machine::load_workflow(const WorkflowImage& whole) {
  core::load_workflow(impl_->state, whole);
}

void Machine::load_operation(const OperationPart& part) { impl_->state.operations[part.id] = part; }

std::optional<Machine::Miscount> Machine::miscount() const {
  std::optional<Miscount> found;
  impl_->state.queues.walk({}, [&](const QueueEntry& queue) {
    for (std::size_t i = 0; i < kStateCount && !found; ++i) {
      const auto state = static_cast<State>(i);
      if (is_terminal(state) || queue.counts[i] == queue.loaded[i]) continue;
      found = {queue.name.view(), state, queue.counts[i], queue.loaded[i]};
    }
    return !found;
  });
  return found;
}

ShardFacts Machine::facts() const { return impl_->state.facts; }
std::size_t Machine::jobs_in_memory() const { return impl_->state.by_id.size(); }
std::size_t Machine::live_leases() const { return impl_->state.leases.size(); }
std::size_t Machine::keys_held() const { return impl_->state.keys.size(); }
std::size_t Machine::queues() const { return impl_->state.queues.size(); }
std::size_t Machine::schedules() const { return impl_->state.schedules.size(); }
std::uint64_t Machine::audited() const { return impl_->state.audited; }
std::size_t Machine::broken_schedules() const { return impl_->state.schedules.broken(); }
const OperationIndex& Machine::operations() const { return impl_->state.operations; }
std::uint64_t Machine::bytes_held() const { return impl_->state.bytes_held; }

std::uint64_t Machine::bytes_to_reuse() const {
  const ShardState& state = impl_->state;
  using Entry = decltype(state.by_id)::value_type;
  return state.slots.unused() * sizeof(JobSlot) +
         (state.by_id.capacity() - state.by_id.size()) * (sizeof(Entry) + 1);
}

StateCounts Machine::counts() const {
  StateCounts total{};
  impl_->state.queues.each([&](const QueueEntry& queue) {
    for (std::size_t i = 0; i < total.size(); ++i) total[i] += queue.counts[i];
  });
  return total;
}

Fingerprint Machine::digest() const { return core::digest(impl_->state); }
void Machine::check_invariants() const { core::check_invariants(impl_->state); }

}  // namespace millrace::core
