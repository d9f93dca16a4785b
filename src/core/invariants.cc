// The invariants of a shard's state, recomputed from its jobs, and its digest. For tests and the
// simulator.

#include <algorithm>
#include <bit>
#include <string>
#include <type_traits>
#include <vector>

#include "base/check.h"
#include "core/bounds.h"
#include "core/catalog/catalog_fields.h"
#include "core/changes_fields.h"
#include "core/describe.h"
#include "core/flow/limit_fields.h"
#include "core/flow/share_fields.h"
#include "core/jobs/job_fields.h"
#include "core/operations/operation_fields.h"
#include "core/queues/queue_fields.h"
#include "core/schedules/schedule_fields.h"
#include "core/shard_state.h"
#include "core/workflows/workflow_fields.h"
#include "digest/fingerprint.h"

namespace millrace::core {
namespace {

// Content as unambiguous bytes.
class Canonical {
 public:
  void add(std::uint64_t value) {
    for (int shift = 0; shift < 64; shift += 8) bytes_.push_back(static_cast<char>(value >> shift));
  }
  template <typename T>
    requires std::is_integral_v<T> || std::is_enum_v<T>
  void add(T value) {
    add(static_cast<std::uint64_t>(value));
  }
  void add(double value) { add(std::bit_cast<std::uint64_t>(value)); }
  void add(Time time) { add(to_ms(time)); }
  void add(Duration duration) { add(std::int64_t{duration.count()}); }
  void add(std::string_view text) {
    add(static_cast<std::uint64_t>(text.size()));
    bytes_.append(text);
  }
  void add(const SharedBytes& text) { add(text.view()); }
  void add(const StateSet& states) { add(states.left_out); }
  void add(const JobId& id) {
    bytes_.append(reinterpret_cast<const char*>(id.bytes.data()), id.bytes.size());
  }
  void add(const Fingerprint& f) {
    bytes_.append(reinterpret_cast<const char*>(f.bytes.data()), f.bytes.size());
  }
  template <typename T, std::size_t Size>
  void add(const std::array<T, Size>& values) {
    for (const T& value : values) add(value);
  }
  template <typename T>
  void add(const std::optional<T>& value) {
    add(value.has_value());
    if (value) add(*value);
  }
  template <typename T>
  void add(const std::shared_ptr<const T>& value) {
    add(value != nullptr);
    if (value != nullptr) add(*value);
  }
  template <typename T>
  void add(const std::vector<T>& values) {
    add(static_cast<std::uint64_t>(values.size()));
    for (const T& value : values) add(value);
  }
  template <Described T>
  void add(const T& record) {
    for_each_field<T>([&](auto constant) { add(record.*constant.value.member); });
  }

  Fingerprint fingerprint() const { return millrace::fingerprint(bytes_); }

 private:
  std::string bytes_;
};

// Live jobs in order of submission, since the hash map's order must not matter.
std::vector<SlotIndex> live_jobs(const ShardState& state) {
  std::vector<SlotIndex> live;
  for (const auto& [id, index] : state.by_id) {
    if (!is_terminal(state.slots.at(index).state)) live.push_back(index);
  }
  std::sort(live.begin(), live.end(), [&](SlotIndex a, SlotIndex b) {
    return state.slots.at(a).ord < state.slots.at(b).ord;
  });
  return live;
}

// Whether an unfinished job with an order key is among the ready jobs. At most one job of a key is,
// and it is the first that is not passed.
bool is_offered(const ShardState& state, const JobSlot& slot, SlotIndex index) {
  const OrderLine* const line =
      state.orders.find(slot.lane->queue->name.view(), slot.extras->order_key.view());
  const bool is_passed = slot.state == State::kRetrying && slot.extras->order_passes;
  if (is_passed) return false;
  MILLRACE_CHECK(line != nullptr);
  MILLRACE_CHECK(line->jobs.at({*slot.extras->place, slot.ord}) == index);
  MILLRACE_CHECK((line->running == index) == (slot.state == State::kRunning));
  const bool is_first = line->running == kNoSlot && line->jobs.begin()->second == index;
  MILLRACE_CHECK((line->offered == index) == (is_first && slot.state == State::kReady));
  return line->offered == index;
}

void check_job(const ShardState& state, SlotIndex index) {
  const JobSlot& slot = state.slots.at(index);
  MILLRACE_CHECK(slot.ord > 0 && slot.ord < state.facts.next_ord);
  MILLRACE_CHECK(state.find(slot.id) == index);
  MILLRACE_CHECK(slot.attempt <= slot.max_attempts);
  MILLRACE_CHECK(!slot.payload_taken || state.changes.in_flight);
  const bool ready = slot.lane->queue->ready.contains(*slot.lane, ready_key(slot, index));
  const bool offered =
      !slot.is_ordered() || (!is_terminal(slot.state) && is_offered(state, slot, index));
  MILLRACE_CHECK(ready == (slot.state == State::kReady && offered));
  const bool due = state.due.contains({slot.run_at, slot.ord, index});
  MILLRACE_CHECK(due == (slot.state == State::kScheduled || slot.state == State::kRetrying));
  if (slot.state == State::kRunning) {
    const Activity& activity = *slot.activity;
    MILLRACE_CHECK(state.leases.contains({lease_end(activity), slot.ord, index}));
    MILLRACE_CHECK(to_number(activity.token) < state.facts.next_token &&
                   activity.token != kNoToken);
    MILLRACE_CHECK(activity.holder->by_token.at(to_number(activity.token)) == index);
    MILLRACE_CHECK(!activity.deadline || activity.lease_expires_at <= *activity.deadline);
  } else {
    MILLRACE_CHECK(slot.activity == nullptr || slot.activity->token == kNoToken);
  }
}

// A workflow that can't change any more may be in memory or not.
void add_workflow(Canonical& canonical, const WorkflowEntry& entry) {
  if (!may_change(entry.record())) return;
  canonical.add(entry.record());
  for (std::uint32_t i = 0; i < entry.members.size(); ++i) {
    canonical.add(entry.spec_of(MemberNumber{i}));
    canonical.add(entry.fate_of(MemberNumber{i}));
  }
}

// The bytes of the definitions.
std::size_t check_workflows(const ShardState& state) {
  std::size_t bytes = 0;
  std::uint64_t active = 0;
  for (const auto& [id, entry] : state.workflows.all()) {
    MILLRACE_CHECK(entry->workflow.id == id && entry->graph.size() == entry->members.size());
    entry->graph.check_invariants();
    bytes += entry->bytes;
    active += entry->graph.count(MemberState::kActive);
    const std::uint32_t most = entry->workflow.spec.max_active;
    MILLRACE_CHECK(most == 0 || entry->graph.count(MemberState::kActive) <= most);
    const bool goes_on =
        entry->graph.count(MemberState::kBlocked) + entry->graph.count(MemberState::kActive) > 0;
    MILLRACE_CHECK(!terms::has_ended(entry->workflow.state) || !goes_on);
  }
  MILLRACE_CHECK(active == state.workflows_active);
  return bytes;
}

void check_schedules(const ShardState& state) {
  std::size_t schedules = 0, waiting = 0;
  state.schedules.walk({}, [&](const ScheduleEntry& entry) {
    const ScheduleProgress& progress = entry.schedule.progress;
    ++schedules;
    waiting += progress.waiting.has_value();
    // A job that ended for a waiting instant may have been retried since.
    const bool lives = state.lives(progress.last_job);
    const auto ended = ScheduleIndex::wakes_at(entry.schedule, false);
    MILLRACE_CHECK(entry.wakes == ScheduleIndex::wakes_at(entry.schedule, lives) ||
                   (progress.waiting && entry.wakes == ended));
    MILLRACE_CHECK(std::ranges::is_sorted(progress.owed) && progress.owed.size() <= kMaxOwed);
    MILLRACE_CHECK(progress.owed.empty() || progress.owed.back() <= progress.done_until);
    MILLRACE_CHECK(!progress.next || *progress.next > progress.done_until ||
                   std::ranges::binary_search(progress.owed, *progress.next));
    MILLRACE_CHECK(!progress.waiting || progress.last_scheduled_at);
    return true;
  });
  MILLRACE_CHECK(schedules == state.schedules.size());
  MILLRACE_CHECK(waiting == state.schedules.awaited().size());
}

// Adds the state that gates keep. A gate without any is equal to one that was never used.
void add_limit(Canonical& canonical, const LimitEntry& entry, Time now) {
  const auto add_memory = [&](const Gate& gate) {
    const BucketRow memory = memory_of(gate, now);
    if (!memory.is_idle()) canonical.add(memory);
  };
  canonical.add(entry.limit);
  add_memory(*entry.whole);
  for (const auto& [key, gate] : entry.keys) add_memory(*gate);
}

// The counts of a gate, computed from the jobs.
struct GateCounts {
  std::uint64_t in_use = 0;
  std::uint64_t ready = 0;
  std::uint64_t unfinished = 0;
  std::uint64_t probing = 0;
};

void check_gates(const ShardState& state) {
  absl::flat_hash_map<const Gate*, GateCounts> counts;
  for (const auto& [id, index] : state.by_id) {
    const JobSlot& slot = state.slots.at(index);
    const auto count = [&](const Gate* gate) {
      if (gate == nullptr) return;
      counts[gate].in_use += slot.state == State::kRunning;
      counts[gate].ready += slot.lane->ready.contains(ready_key(slot, index));
      counts[gate].unfinished += !is_terminal(slot.state);
      counts[gate].probing += slot.state == State::kRunning && gate->breaker() != nullptr &&
                              gate->breaker()->is_probe(slot.activity->latest.started_at);
    };
    const TypeLane* pair = slot.lane;
    if (slot.lane->limited != nullptr) {
      for (const LaneGate& at : slot.lane->limited->gates) count(at.gate);
      pair = slot.lane->limited->pair;
      MILLRACE_CHECK(slot.lane->gated &&
                     (slot.lane->limited->group == nullptr) == slot.lane->ready.empty());
    }
    count(pair->type_gate);
    count(slot.lane->queue->gate);
    MILLRACE_CHECK(slot.lane->gated ==
                   (slot.lane->limited != nullptr || pair->type_gate != nullptr ||
                    slot.lane->queue->gate != nullptr));
  }
  state.gates.each([&](const LimitEntry& entry) {
    const bool named = entry.limit.kind == LimitKind::kNamed;
    const auto check = [&](const Gate& gate) {
      const GateCounts counted = counts[&gate];
      MILLRACE_CHECK(gate.in_use == counted.in_use && gate.ready == counted.ready);
      MILLRACE_CHECK(!named || gate.unfinished == counted.unfinished);
      MILLRACE_CHECK(gate.breaker() == nullptr || gate.breaker()->probing() == counted.probing);
      return &gate;
    };
    const auto check_both = [&](const Gate& gate) {
      if (check(gate)->retries() != nullptr) check(*gate.retries());
    };
    check_both(*entry.whole);
    for (const auto& [key, gate] : entry.keys) check_both(*gate);
  });
  state.gates.check();
}

// Compares the counts of fair keys with the jobs.
void check_fair(const ShardState& state) {
  struct Counts {
    std::uint32_t ready = 0, running = 0, unfinished = 0, due = 0;
  };
  absl::flat_hash_map<const FairKey*, Counts> keys;
  absl::flat_hash_map<const FairFlow*, Counts> flows;
  for (const auto& [id, index] : state.by_id) {
    const JobSlot& slot = state.slots.at(index);
    const LimitedLane* const limited = slot.lane->limited;
    const FairKey* const key = limited == nullptr ? nullptr : limited->fair();
    MILLRACE_CHECK((slot.lane->queue->fair == nullptr) == (key == nullptr));
    if (key == nullptr) continue;
    MILLRACE_CHECK(key->name == (slot.extras ? slot.extras->fair_key : SharedBytes()));
    const bool ready = slot.lane->ready.contains(ready_key(slot, index));
    const bool running = slot.state == State::kRunning;
    const auto count = [&](Counts& counts) {
      counts.ready += ready;
      counts.running += running;
    };
    count(keys[key]);
    keys[key].unfinished += !is_terminal(slot.state);
    keys[key].due += slot.state == State::kReady;
    if (!ready && !running) continue;
    MILLRACE_CHECK(key->flow(slot.priority) != nullptr);
    count(flows[key->flow(slot.priority)]);
  }
  state.queues.each([&](const QueueEntry& queue) {
    MILLRACE_CHECK((queue.fair != nullptr) == queue.settings.fair.has_value());
    if (queue.fair == nullptr) return;
    state.gates.check(queue.fair->open);
    std::size_t of_levels = 0, of_keys = 0;
    for (const auto& [priority, level] : queue.fair->levels()) of_levels += level.flows;
    queue.fair->walk(std::nullopt, [&](const FairKey& key) {
      const Counts counted = keys[&key];
      MILLRACE_CHECK(key.ready == counted.ready && key.running == counted.running);
      MILLRACE_CHECK(key.unfinished == counted.unfinished && key.due == counted.due);
      for (const auto& flow : key.flows) {
        ++of_keys;
        MILLRACE_CHECK(flow->ready == flows[flow.get()].ready);
        MILLRACE_CHECK(flow->running == flows[flow.get()].running);
        MILLRACE_CHECK(!flow->idle || flow->level->idle.contains({flow->tag, flow.get()}));
      }
      for (const auto& [group, stand] : key.stands) {
        MILLRACE_CHECK(stand->group == group && stand->listed);
        MILLRACE_CHECK(group->stands->contains({*stand->listed, nullptr}));
      }
      return true;
    });
    MILLRACE_CHECK(of_levels == of_keys);
  });
}

// Leaves out flows that the next event drops: a key may have had ready jobs only while loading.
void add_fair(Canonical& canonical, const FairQueue& fair) {
  const auto stays = [](const FairFlow& flow) {
    return flow.ready > 0 || flow.running > 0 || flow.tag > flow.level->now;
  };
  absl::btree_map<std::int16_t, std::uint64_t> levels;
  canonical.add(fair.mean());
  fair.walk(std::nullopt, [&](const FairKey& key) {
    if (key.mean > 0) {
      canonical.add(key.name);
      canonical.add(key.mean);
      canonical.add(key.used_at);
    }
    for (const auto& flow : key.flows) {
      if (!stays(*flow)) continue;
      levels[flow->priority] = flow->level->now;
      canonical.add(key.name);
      canonical.add(flow->priority);
      canonical.add(flow->tag);
    }
    return true;
  });
  for (const auto& [priority, now] : levels) {
    canonical.add(priority);
    canonical.add(now);
  }
}

}  // namespace

Fingerprint digest(const ShardState& state) {
  Canonical canonical;
  canonical.add(state.facts.at);
  canonical.add(state.facts.epoch);
  canonical.add(state.facts.next_token);
  canonical.add(state.facts.next_ord);
  canonical.add(state.audited);
  canonical.add(std::string_view(reinterpret_cast<const char*>(state.audit_head.data()),
                                 state.audit_head.size()));
  state.queues.each([&](const QueueEntry& queue) {
    canonical.add(queue.name.view());
    canonical.add(queue.settings);
    canonical.add(queue.paused);
    canonical.add(queue.version);
    for (const std::uint64_t count : queue.counts) canonical.add(count);
    canonical.add(queue.created);
    canonical.add(queue.pruned);
    if (queue.fair != nullptr) add_fair(canonical, *queue.fair);
  });
  for (const SlotIndex index : live_jobs(state)) {
    Job job = to_job(state.slots.at(index));
    job.payload = {};  // memory may have dropped it
    canonical.add(job);
  }
  for (const auto& [at, key] : state.keys.by_expiry()) {
    const KeyRow& row = state.keys.at(key);
    canonical.add(at);
    canonical.add(key);
    canonical.add(row.key.body);
    canonical.add(row.job);
  }
  std::vector<std::string> names;
  for (const auto& [name, holder] : state.uniques.holders()) names.push_back(name);
  std::sort(names.begin(), names.end());
  for (const std::string& name : names) {
    const UniqueIndex::Holder& holder = state.uniques.holders().at(name);
    canonical.add(std::string_view(name));
    canonical.add(holder.job);
    canonical.add(holder.released_at);
  }
  for (std::size_t i = 0; i < state.ended_leases.size(); ++i) {
    canonical.add(state.ended_leases.nth(i));
  }
  state.schedules.walk({}, [&](const ScheduleEntry& entry) {
    canonical.add(entry.schedule);
    return true;
  });
  state.catalog.walk({}, [&](const CatalogEntry& entry) {
    canonical.add(entry);
    return true;
  });
  for (const auto& [id, part] : state.operations) canonical.add(part);
  for (const auto& [id, entry] : state.workflows.all()) add_workflow(canonical, *entry);
  state.gates.each([&](const LimitEntry& entry) { add_limit(canonical, entry, state.facts.at); });
  return canonical.fingerprint();
}

void check_invariants(const ShardState& state) {
  absl::flat_hash_map<const QueueEntry*, StateCounts> counts;
  std::uint64_t bytes = 0;
  std::size_t ready = 0, waiting_for_time = 0, running = 0;
  for (const auto& [id, index] : state.by_id) {
    check_job(state, index);
    const JobSlot& slot = state.slots.at(index);
    ++counts[slot.lane->queue][static_cast<std::size_t>(slot.state)];
    bytes += slot.payload.size() + (slot.activity == nullptr ? 0 : slot.activity->result.size());
    ready += slot.lane->ready.contains(ready_key(slot, index));
    waiting_for_time += slot.state == State::kScheduled || slot.state == State::kRetrying;
    running += slot.state == State::kRunning;
  }
  for (const SlotIndex index : state.retired_slots) {
    const JobSlot& slot = state.slots.at(index);
    bytes += slot.payload.size() + (slot.activity == nullptr ? 0 : slot.activity->result.size());
  }
  bytes += check_workflows(state);
  MILLRACE_CHECK(bytes == state.bytes_held);
  MILLRACE_CHECK(waiting_for_time == state.due.size());
  MILLRACE_CHECK(running == state.leases.size());
  std::size_t ready_indexed = 0, leased_by_workers = 0;
  for (const auto& [name, leases] : state.workers) {
    MILLRACE_CHECK(!leases->by_token.empty());
    leased_by_workers += leases->by_token.size();
  }
  MILLRACE_CHECK(running == leased_by_workers);
  std::size_t queues = 0;
  state.queues.each([&](const QueueEntry& queue) {
    ++queues;
    ready_indexed += queue.ready.size();
    std::uint64_t kept = 0;
    for (std::size_t i = 0; i < kStateCount; ++i) {
      kept += queue.counts[i];
      const std::uint64_t in_memory = counts[&queue][i];
      // Only the tables may hold an ended job.
      MILLRACE_CHECK(is_terminal(static_cast<State>(i)) ? in_memory <= queue.counts[i]
                                                        : in_memory == queue.counts[i]);
    }
    MILLRACE_CHECK(queue.created == kept + queue.pruned);
  });
  // Every job's queue exists.
  for (const auto& [queue, of_states] : counts) {
    MILLRACE_CHECK(state.queues.find(queue->name.view()) == queue);
  }
  MILLRACE_CHECK(queues == state.queues.size());
  MILLRACE_CHECK(ready == ready_indexed);
  check_schedules(state);
  MILLRACE_CHECK(state.catalog.consistent());
  check_gates(state);
  check_fair(state);
}

}  // namespace millrace::core
