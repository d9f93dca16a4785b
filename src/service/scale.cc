#include "service/scale.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "service/visibility.h"

namespace millrace::service {
namespace {

// For a queue with no recently ended attempt.
constexpr Duration kAssumedRun{1'000};

double seconds(Duration time) { return static_cast<double>(time.count()) / 1'000; }

// The slots that a gate's bounds keep busy.
std::optional<double> slots_of(std::optional<std::uint32_t> concurrency,
                               const std::optional<core::Rate>& rate, Duration run) {
  std::optional<double> slots;
  if (concurrency) slots = *concurrency;
  if (rate) {
    const double starts_per_s = rate->limit / seconds(rate->per);
    slots = std::min(slots.value_or(HUGE_VAL), std::max(1.0, starts_per_s * seconds(run)));
  }
  return slots;
}

void bound(ScaleFigures& figures, std::optional<double> slots, std::string whose) {
  if (!slots || (figures.most_slots && *figures.most_slots <= *slots)) return;
  figures.most_slots = slots;
  figures.bound_by = std::move(whose);
}

}  // namespace

api::Scale scale_of(const ScaleFigures& figures, const api::ScaleQuery& query) {
  api::Scale scale;
  scale.ready = static_cast<std::int64_t>(figures.ready);
  scale.held_back = static_cast<std::int64_t>(figures.held_back);
  scale.running = static_cast<std::int64_t>(figures.running);
  scale.run = figures.run;
  if (figures.paused) {
    scale.because = "The queue is paused, so no job starts.";
    // Running jobs need their workers until they end.
    scale.desired_slots = scale.running;
  } else {
    const Duration run = figures.run.value_or(kAssumedRun);
    const auto startable = static_cast<double>(figures.ready - figures.held_back);
    // While gates are closed, most new jobs wait at them too.
    const double arrivals = figures.held_back == 0
                                ? figures.submitted_per_s
                                : std::min(figures.submitted_per_s, figures.started_per_s);
    double slots = arrivals * seconds(run) + startable * seconds(run) / seconds(query.target_wait);
    if (startable > 0 || figures.running > 0) slots = std::max(slots, 1.0);
    scale.because = fmt::format(
        "{} ready {} could start, and {:.1f} come each second. At {} {} ms each, and a wait of {} "
        "ms, "
        "they take {} {}.",
        scale.ready - scale.held_back, scale.ready - scale.held_back == 1 ? "job" : "jobs",
        arrivals, figures.run ? "a mean of" : "an assumed", run.count(), query.target_wait.count(),
        std::ceil(slots), std::ceil(slots) == 1 ? "slot" : "slots");
    if (scale.held_back > 0) {
      scale.because += fmt::format(" {} more {} at closed gates.", scale.held_back,
                                   scale.held_back == 1 ? "waits" : "wait");
    }
    if (figures.most_slots && slots > *figures.most_slots) {
      slots = *figures.most_slots;
      scale.because += fmt::format(" {} keeps {} busy at most.", figures.bound_by,
                                   static_cast<std::int64_t>(std::ceil(slots)));
    }
    scale.desired_slots = static_cast<std::int64_t>(std::ceil(slots));
  }
  scale.desired_workers = (scale.desired_slots + query.slots - 1) / query.slots;
  return scale;
}

ScaleFigures scale_figures(const engine::ReadModels& models, const core::Queue& queue,
                           std::uint64_t held_back, const FindLimit& find_limit, Time now) {
  const engine::QueueRates rates = models.rates(queue.name.view(), now);
  ScaleFigures figures;
  figures.paused = queue.paused;
  figures.ready = queue.counts[static_cast<std::size_t>(core::State::kReady)];
  figures.held_back = std::min(held_back, figures.ready);
  figures.running = queue.counts[static_cast<std::size_t>(core::State::kRunning)];
  figures.submitted_per_s = rates.submitted;
  figures.started_per_s = rates.started;
  figures.run = models.mean_run(queue.name.view(), now);
  const Duration run = figures.run.value_or(kAssumedRun);
  bound(figures, slots_of(queue.settings.concurrency, queue.settings.rate, run),
        "The queue's own bound");
  for (const core::JobLimit& named : queue.settings.limits) {
    const core::LimitSettings* const settings = find_limit(named.name.view());
    if (settings == nullptr || settings->per_key) continue;  // each key has its own slots
    bound(figures, slots_of(settings->bounds.concurrency, settings->bounds.rate, run),
          fmt::format("The limit {}", named.name.view()));
  }
  return figures;
}

Task<Answered<api::Scale>> scale_queue(Caller& caller, std::string_view queue,
                                       const api::ScaleQuery& query) {
  auto admitted = admits_queue(caller, queue);
  if (!admitted) co_return refused(admitted);
  core::GetQueues get{SharedBytes(queue)};
  get.blocked_by = true;
  auto reply = co_await caller.ask(std::move(get));
  if (!reply) co_return refused(reply);
  if (reply->refusal || reply->queues.empty()) {
    co_return refused(api::ProblemCode::kNotFound, "there is no such queue");
  }
  co_await refresh_statistics(caller);
  const core::Queue& found = reply->queues.front();
  std::map<std::string, core::LimitSettings, std::less<>> limits;
  for (const core::JobLimit& named : found.settings.limits) {
    core::GetLimits limit;
    limit.kind = core::LimitKind::kNamed;
    limit.name = named.name;
    auto known = co_await caller.ask(std::move(limit));
    if (!known) co_return refused(known);
    if (known->limits.empty()) continue;
    limits[std::string(named.name.view())] = std::move(known->limits.front().limit.settings);
  }
  const auto find_limit = [&](std::string_view name) -> const core::LimitSettings* {
    const auto known = limits.find(name);
    return known == limits.end() ? nullptr : &known->second;
  };
  const ScaleFigures figures =
      scale_figures(caller.services.models, found, reply->held_back, find_limit, caller.now());
  co_return scale_of(figures, query);
}

}  // namespace millrace::service
