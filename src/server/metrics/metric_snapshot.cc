#include "server/metrics/metric_snapshot.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "api/error_group.h"
#include "core/jobs/job.h"
#include "core/schedules/schedule.h"
#include "server/metrics/process_figures.h"

namespace millrace::server {
namespace {

constexpr std::array<std::pair<engine::CountedEvent, const char*>, engine::kCountedEvents>
    kCountedEventNames = {{
        {engine::CountedEvent::kSubmitted, "jobs_submitted_total"},
        {engine::CountedEvent::kStarted, "jobs_started_total"},
        {engine::CountedEvent::kSucceeded, "jobs_succeeded_total"},
        {engine::CountedEvent::kFailed, "jobs_failed_total"},
        {engine::CountedEvent::kDead, "jobs_dead_total"},
    }};

// The value of the metric memory_short.
double memory_short(engine::MemoryRoom room) {
  switch (room) {
    case engine::MemoryRoom::kWide:
      return 0;
    case engine::MemoryRoom::kTight:
    case engine::MemoryRoom::kScarce:
      return 1;
    case engine::MemoryRoom::kNone:
      break;
  }
  return 2;
}

void add_latency(FamilyList& out, const engine::SeriesTotals& series,
                 const engine::LatencyTotals& totals) {
  static const std::array<double, engine::kLatencyBoundsMs.size()> kBounds = [] {
    std::array<double, engine::kLatencyBoundsMs.size()> bounds{};
    for (std::size_t i = 0; i < bounds.size(); ++i) {
      bounds[i] = static_cast<double>(engine::kLatencyBoundsMs[i]) / 1000;
    }
    return bounds;
  }();
  out.buckets(kBounds, totals.buckets, static_cast<double>(totals.sum_ms) / 1000,
              {{"queue", series.queue}, {"type", series.type}});
}

void add_jobs(FamilyList& out, const std::vector<engine::SeriesTotals>& all,
              const core::StateCounts& counts) {
  out.gauge("jobs", "Jobs by state, including ended jobs that the store still keeps.");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    out.value(static_cast<double>(counts[i]),
              {{"state", std::string(name_of(static_cast<core::State>(i)))}});
  }
  for (const auto& [counted_event, name] : kCountedEventNames) {
    out.counter(name,
                "Total since the start, by queue and type; pairs beyond the cap count as (other).");
    for (const engine::SeriesTotals& series : all) {
      out.value(static_cast<double>(series.counts[static_cast<std::size_t>(counted_event)]),
                {{"queue", series.queue}, {"type", series.type}});
    }
  }
  out.histogram("job_wait_seconds", "Time from when a job was due to its start.");
  for (const engine::SeriesTotals& series : all) add_latency(out, series, series.wait);
  out.histogram("job_run_seconds", "Time from the start to the end of an attempt.");
  for (const engine::SeriesTotals& series : all) add_latency(out, series, series.run);
}

// The fullest queues by name, and the sum of the others under (other).
void add_queues(FamilyList& out, const std::vector<core::Queue>& all, Time now) {
  const std::vector<const core::Queue*> queues = fullest(all);
  core::StateCounts rest{};
  for (const core::Queue& queue : all) {
    for (std::size_t state = 0; state < rest.size(); ++state) rest[state] += queue.counts[state];
  }
  for (const core::Queue* queue : queues) {
    for (std::size_t state = 0; state < rest.size(); ++state) rest[state] -= queue->counts[state];
  }
  const auto add_counts = [&](std::string_view name, const core::StateCounts& counts) {
    for (std::size_t i = 0; i < counts.size(); ++i) {
      out.value(static_cast<double>(counts[i]),
                {{"queue", std::string(name)},
                 {"state", std::string(name_of(static_cast<core::State>(i)))}});
    }
  };
  out.gauge("queue_jobs",
            "Jobs of the fullest queues, by queue and state; other queues count as (other).");
  for (const core::Queue* queue : queues) add_counts(queue->name.view(), queue->counts);
  if (all.size() > queues.size()) add_counts(engine::kOtherSeries, rest);
  out.gauge("queue_oldest_ready_seconds",
            "Time since when the oldest ready job of these queues is ready; 0: none is.");
  for (const core::Queue* queue : queues) {
    const auto since = queue->oldest_ready_at;
    const Duration age = since ? std::max(now - *since, Duration{0}) : Duration{0};
    out.value(std::chrono::duration<double>(age).count(),
              {{"queue", std::string(queue->name.view())}});
  }
}

void add_desired_slots(FamilyList& out,
                       const std::vector<std::pair<std::string, std::int64_t>>& all) {
  out.gauge("queue_desired_slots",
            "Slots of workers that start the jobs of these queues within 10 seconds.");
  for (const auto& [queue, slots] : all) {
    out.value(static_cast<double>(slots), {{"queue", queue}});
  }
}

double state_number(core::BreakerState state) {
  switch (state) {
    case core::BreakerState::kClosed:
      return 0;
    case core::BreakerState::kHalfOpen:
      return 1;
    case core::BreakerState::kOpen:
      return 2;
  }
  return 0;
}

// The limits with the most waiting or running jobs. For a limit by key, only pauses are shown.
void add_limits(FamilyList& out, const std::vector<core::LimitView>& all) {
  // Several shards may report the same limit.
  std::map<std::pair<core::LimitKind, std::string_view>, core::LimitView> sums;
  for (const core::LimitView& view : all) {
    const auto [sum, is_new] = sums.try_emplace({view.limit.kind, view.limit.name.view()}, view);
    if (is_new) continue;
    sum->second.use.in_use += view.use.in_use;
    sum->second.use.waiting += view.use.waiting;
  }
  std::vector<const core::LimitView*> limits;
  for (const auto& [name, sum] : sums) limits.push_back(&sum);
  const auto jobs = [](const core::LimitView* limit) {
    return limit->use.waiting + limit->use.in_use;
  };
  const std::size_t named = std::min(limits.size(), kMaxNamedLimits);
  std::ranges::partial_sort(limits, limits.begin() + static_cast<std::ptrdiff_t>(named),
                            std::ranges::greater(), jobs);
  limits.resize(named);
  const auto add = [&](std::string_view name, std::string_view help, const auto& value) {
    out.gauge(name, help);
    for (const core::LimitView* limit : limits) {
      const bool is_type = limit->limit.kind == core::LimitKind::kType;
      out.value(value(*limit), {{"limit", std::string(limit->limit.name.view())},
                                {"kind", is_type ? "type" : "limit"}});
    }
  };
  using View = core::LimitView;
  add("limit_in_use", "Jobs that run, of those that must pass the limit.",
      [](const View& view) { return static_cast<double>(view.use.in_use); });
  add("limit_waiting", "Ready jobs that must pass the limit.",
      [](const View& view) { return static_cast<double>(view.use.waiting); });
  add("limit_concurrency",
      "How many jobs may run together, by key where it counts by key; 0: no bound.",
      [](const View& view) {
        return static_cast<double>(view.limit.settings.bounds.concurrency.value_or(0));
      });
  add("limit_paused", "1 while the limit as a whole is paused.",
      [](const View& view) { return view.use.pause ? 1.0 : 0.0; });
  std::erase_if(limits, [](const View* limit) { return !limit->use.breaker; });
  add("limit_breaker_state", "The limit's breaker: 0 closed, 1 half open, 2 open.",
      [](const View& view) { return state_number(*view.use.breaker); });
}

// Several shards may report the same key.
void add_limit_keys(FamilyList& out,
                    const std::vector<std::pair<std::string, core::GateUse>>& keys) {
  std::map<std::pair<std::string_view, std::string_view>, core::GateUse> sums;
  for (const auto& [limit, use] : keys) {
    core::GateUse& sum = sums[{limit, use.key.view()}];
    sum.in_use += use.in_use;
    sum.waiting += use.waiting;
  }
  const auto add = [&](std::string_view name, std::string_view help, const auto& value) {
    out.gauge(name, help);
    for (const auto& [key, sum] : sums) {
      out.value(static_cast<double>(value(sum)),
                {{"limit", std::string(key.first)}, {"key", std::string(key.second)}});
    }
  };
  add("limit_key_in_use", "Jobs that run, of the keys of limits for which most jobs wait.",
      [](const core::GateUse& use) { return use.in_use; });
  add("limit_key_waiting", "Ready jobs of these keys.",
      [](const core::GateUse& use) { return use.waiting; });
}

using Reports = std::vector<ShardReport>;

// One value per shard led by this node, labelled if there are several shards.
template <typename Value>
void of_each(FamilyList& out, const Reports& shards, Value value) {
  for (const ShardReport& shard : shards) {
    if (!shard.driver) continue;
    Labels labels;
    if (shards.size() > 1) labels.emplace_back("shard", std::to_string(shard.shard));
    out.value(static_cast<double>(value(*shard.driver)), std::move(labels));
  }
}

double rows_between(Seq behind, Seq ahead) {
  return static_cast<double>(to_number(ahead)) - static_cast<double>(to_number(behind));
}

void add_memory(FamilyList& out, const Reports& shards) {
  using Status = DriverStatus;
  out.gauge("jobs_in_memory", "Jobs that the shard holds.");
  of_each(out, shards, [](const Status& s) { return s.figures.jobs_in_memory; });
  out.gauge("payload_bytes", "Bytes of payloads and results in memory.");
  of_each(out, shards, [](const Status& s) { return s.figures.payload_bytes; });
  // Figures of the process, which are the same for every shard.
  const auto led =
      std::ranges::find_if(shards, [](const ShardReport& s) { return s.driver.has_value(); });
  if (led != shards.end()) {
    out.gauge("memory_budget_bytes", "Memory that the process may use: --memory.")
        .value(static_cast<double>(led->driver->memory_budget));
    out.gauge("memory_short",
              "1: the server drops payloads from memory early; 2: it refuses new jobs.")
        .value(memory_short(led->driver->memory_room));
  }
  out.gauge("leases", "Live leases.");
  of_each(out, shards, [](const Status& s) { return s.figures.live_leases; });
  out.gauge("claims_waiting", "Claims that wait in a long poll.");
  of_each(out, shards, [](const Status& s) { return s.figures.waiting_claims; });
  out.gauge("idempotency_keys", "Idempotency keys that the shard holds.");
  of_each(out, shards, [](const Status& s) { return s.figures.keys; });
}

// Every shard has a part of each operation; the first shard's part ends last.
void add_operations(FamilyList& out, const Reports& shards) {
  std::array<std::size_t, core::kOperationStates> counts{};
  std::uint64_t changed = 0, failed = 0;
  for (const ShardReport& shard : shards) {
    if (!shard.driver) continue;
    const engine::Shard::Figures& figures = shard.driver->figures;
    changed += figures.operation_jobs_changed;
    failed += figures.operation_jobs_failed;
    if (shard.shard == 0) counts = figures.operations;
  }
  out.gauge("operations", "Operations on many jobs, by state; the leader of shard 0 tells.");
  for (std::size_t i = 0; i < counts.size(); ++i) {
    const auto state = name_of(static_cast<core::OperationState>(i));
    out.value(static_cast<double>(counts[i]), {{"state", std::string(state)}});
  }
  out.counter("operation_jobs_total", "Jobs that operations have touched, by outcome.");
  out.value(static_cast<double>(changed), {{"outcome", "changed"}});
  out.value(static_cast<double>(failed), {{"outcome", "failed"}});
}

void add_workflows(FamilyList& out, const Reports& shards) {
  core::WorkflowTotals sums;
  for (const ShardReport& shard : shards) {
    if (!shard.driver) continue;
    const core::WorkflowTotals& own = shard.driver->figures.workflows;
    for (std::size_t i = 0; i < own.workflows.size(); ++i) sums.workflows[i] += own.workflows[i];
    for (std::size_t i = 0; i < own.members.size(); ++i) sums.members[i] += own.members[i];
  }
  out.gauge("workflows",
            "Workflows in memory, by state; of ended ones, those that can still change.");
  for (std::size_t i = 0; i < sums.workflows.size(); ++i) {
    const auto state = name_of(static_cast<core::WorkflowState>(i));
    out.value(static_cast<double>(sums.workflows[i]), {{"state", std::string(state)}});
  }
  out.gauge("workflow_members", "Members of these workflows, by state.");
  for (std::size_t i = 0; i < sums.members.size(); ++i) {
    const auto state = name_of(static_cast<core::MemberState>(i));
    out.value(static_cast<double>(sums.members[i]), {{"state", std::string(state)}});
  }
}

void add_schedules(FamilyList& out, const Reports& shards) {
  std::size_t schedules = 0, broken = 0;
  std::optional<Time> due;
  Duration late{0};
  std::array<std::uint64_t, 5> runs{};
  for (const ShardReport& shard : shards) {
    if (!shard.driver) continue;
    const engine::Shard::Figures& figures = shard.driver->figures;
    schedules += figures.schedules;
    broken += figures.broken_schedules;
    for (std::size_t i = 0; i < runs.size(); ++i) runs[i] += figures.schedule_runs[i];
    if (!figures.schedule_due) continue;
    due = std::min(due.value_or(*figures.schedule_due), *figures.schedule_due);
    late = std::max(late, shard.now - *figures.schedule_due);
  }
  out.gauge("schedules", "Schedules.").value(static_cast<double>(schedules));
  out.gauge("schedules_broken", "Schedules whose instants the server can't compute.")
      .value(static_cast<double>(broken));
  out.gauge("schedule_next_due_timestamp_seconds",
            "The Unix time when the next schedule is due; 0: no schedule is due.")
      .value(static_cast<double>(due ? to_ms(*due) : 0) / 1000);
  out.gauge("schedule_late_seconds", "Delay of the schedule that has been due longest.")
      .value(static_cast<double>(late.count()) / 1000);
  out.counter("schedule_runs_total", "Instants of schedules, by outcome.");
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const auto outcome = name_of(static_cast<core::RunOutcome>(i));
    out.value(static_cast<double>(runs[i]), {{"outcome", std::string(outcome)}});
  }
}

void add_store(FamilyList& out, const Reports& shards) {
  using Status = DriverStatus;
  out.gauge("journal_seq", "The newest durable row of the journal.");
  of_each(out, shards, [](const Status& s) { return to_number(s.figures.durable); });
  out.gauge("journal_lag_rows", "Rows that the shard has decided and that are not yet durable.");
  of_each(out, shards,
          [](const Status& s) { return rows_between(s.figures.durable, s.figures.applied); });
  out.gauge("projection_lag_rows", "Durable rows that are not yet in the tables.");
  of_each(out, shards,
          [](const Status& s) { return rows_between(s.figures.projected, s.figures.durable); });
  out.gauge("projection_lag_jobs", "Changed jobs that are not yet in the tables.");
  of_each(out, shards, [](const Status& s) { return s.figures.unprojected; });
  out.gauge("projection_lag_seconds",
            "Age of the oldest durable row that is not yet in the tables.");
  for (const ShardReport& shard : shards) {
    if (!shard.driver) continue;
    Labels labels;
    if (shards.size() > 1) labels.emplace_back("shard", std::to_string(shard.shard));
    const Duration lag = shard.driver->figures.projection_lag(shard.now);
    out.value(std::chrono::duration<double>(lag).count(), std::move(labels));
  }
  out.counter("audit_entries_total", "Entries of the audit since the store was made.");
  of_each(out, shards, [](const Status& s) { return s.figures.audited; });
  out.gauge("synced_seq", "The last row whose effect on the tables would survive a power failure.");
  of_each(out, shards, [](const Status& s) { return to_number(s.synced); });
}

void add_state(FamilyList& out, const Reports& shards) {
  using Status = DriverStatus;
  out.gauge("epoch", "The shard's term.");
  of_each(out, shards, [](const Status& s) { return to_number(s.figures.epoch); });
  out.gauge("draining", "1 while the server is stopping.");
  of_each(out, shards, [](const Status& s) { return s.draining ? 1 : 0; });
  out.gauge("journal_failing", "1 while the server can't write the journal.");
  of_each(out, shards, [](const Status& s) { return s.journal_failing ? 1 : 0; });
  out.gauge("archive_failing", "1 while the server can't write its archive.");
  of_each(out, shards, [](const Status& s) { return s.archive_failing ? 1 : 0; });
  out.gauge("tables_failing", "1 while the server can't write the tables.");
  of_each(out, shards, [](const Status& s) { return s.tables_failing ? 1 : 0; });
  out.gauge("wall_clock_ahead_seconds", "Wall clock minus the shard's time.");
  of_each(out, shards,
          [](const Status& s) { return std::chrono::duration<double>(s.wall_ahead).count(); });
}

core::StateCounts sum_of_counts(const Reports& shards) {
  core::StateCounts sum{};
  for (const ShardReport& shard : shards) {
    if (!shard.driver) continue;
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += shard.driver->figures.counts[i];
  }
  return sum;
}

void add_process(FamilyList& out, const Metrics::Sources& sources) {
  const ProcessFigures figures = read_process_figures();
  const auto number = [](auto n) { return static_cast<double>(n); };
  out.gauge("build_info", "Always 1.")
      .value(1, {{"version", sources.version}, {"commit", sources.commit}});
  out.gauge("start_time_seconds", "Start of the process, since the Unix epoch.")
      .value(number(to_ms(sources.started_at)) / 1000);
  out.counter("process_cpu_seconds_total", "Processor time.").value(figures.cpu_seconds);
  out.gauge("process_resident_memory_bytes", "Resident memory.")
      .value(number(figures.resident_bytes));
  out.gauge("process_open_fds", "Open file descriptors.").value(number(figures.open_files));
  out.gauge("process_max_fds", "Maximum number of open file descriptors.")
      .value(number(figures.max_open_files));
  out.gauge("process_threads", "Threads.").value(number(figures.threads));
}

void add_models(FamilyList& out, const Metrics::Sources& sources) {
  const auto figures = sources.models.figures();
  const auto number = [](auto n) { return static_cast<double>(n); };
  out.gauge("read_models_lag_seconds",
            "Age of the oldest row of the journal that statistics and groups of errors lack.")
      .value(std::chrono::duration<double>(figures.lag).count());
  out.gauge("read_models_jobs",
            "Jobs that read models remember: failed ones that wait, ones with keys or tags.")
      .value(number(figures.models.failed_jobs), {{"kind", "failed"}})
      .value(number(figures.models.labelled_jobs), {{"kind", "labelled"}});
  out.counter("read_models_jobs_passed_over_total", "Jobs beyond that bound.")
      .value(number(figures.models.passed_over));
  out.counter("read_models_gaps_total", "Times that the journal lacked rows they still needed.")
      .value(number(figures.models.gaps));
  out.counter("error_groups_evicted_total", "Groups of errors that made room for others.")
      .value(number(figures.models.evicted_groups));
  if (!sources.error_groups) return;
  out.gauge("error_groups", "Groups of errors, by status; told by the node of the first shard.");
  for (const auto status :
       {api::ErrorStatus::kOpen, api::ErrorStatus::kMuted, api::ErrorStatus::kResolved}) {
    out.value(number((*sources.error_groups)[static_cast<std::size_t>(status)]),
              {{"status", std::string(api::name_of(status))}});
  }
}

}  // namespace

std::vector<const core::Queue*> fullest(const std::vector<core::Queue>& all) {
  const auto live = [](const core::Queue* queue) {
    std::uint64_t jobs = 0;
    for (std::size_t i = 0; i < core::kStateCount; ++i) {
      if (!core::is_terminal(static_cast<core::State>(i))) jobs += queue->counts[i];
    }
    return jobs;
  };
  // Many queues with all their settings are expensive to copy and sort.
  std::vector<const core::Queue*> queues;
  queues.reserve(all.size());
  for (const core::Queue& queue : all) queues.push_back(&queue);
  const std::size_t named = std::min(queues.size(), kMaxNamedQueues);
  std::ranges::partial_sort(queues, queues.begin() + static_cast<std::ptrdiff_t>(named),
                            std::ranges::greater(), live);
  queues.resize(named);
  return queues;
}

void add_snapshot(FamilyList& out, const Metrics::Sources& sources, const QueueSample& sample) {
  add_process(out, sources);
  add_jobs(out, sources.models.totals(), sum_of_counts(sources.shards));
  Time now{};
  for (const ShardReport& shard : sources.shards) now = std::max(now, shard.now);
  add_queues(out, sample.queues, now);
  add_desired_slots(out, sample.desired_slots);
  add_limits(out, sample.limits);
  add_limit_keys(out, sample.limit_keys);
  add_memory(out, sources.shards);
  add_schedules(out, sources.shards);
  add_operations(out, sources.shards);
  add_workflows(out, sources.shards);
  add_store(out, sources.shards);
  add_state(out, sources.shards);
  add_models(out, sources);
}

}  // namespace millrace::server
