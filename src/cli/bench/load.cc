#include "cli/bench/load.h"

#include <fmt/format.h>
#include <sys/prctl.h>

#include <memory>
#include <thread>
#include <utility>

#include "base/random.h"
#include "cli/bench/producer.h"
#include "cli/bench/sdk_worker.h"
#include "cli/bench/shared.h"
#include "cli/bench/worker.h"

namespace millrace::cli {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr milliseconds kProgressEvery{250};
// The time between the workers' first claims and the first due job, so that they wait for it.
constexpr milliseconds kWorkersFirst{300};

// Returns when the load is over, something has failed, or nothing has moved for too long.
void watch(LoadShared& shared, const OnProgress& on_progress) {
  const LoadPlan& plan = shared.plan;
  std::uint64_t last = 0;
  auto last_move = steady_clock::now();
  auto stop_at = plan.submit_for ? std::optional(shared.start + *plan.submit_for) : std::nullopt;
  while (!shared.is_over) {
    auto next = steady_clock::now() + kProgressEvery;
    if (stop_at) next = std::min(next, *stop_at);
    shared.wait_until(next);
    const auto now = steady_clock::now();
    if (stop_at && now >= *stop_at) {
      stop_at.reset();
      shared.stop_taking();
    }
    const std::uint64_t submitted = shared.submitted;
    const std::uint64_t completed = shared.completed;
    on_progress(submitted, completed);
    if (std::exchange(last, submitted + completed) != submitted + completed) last_move = now;
    if (plan.stop.stop_requested()) shared.fail({"interrupted"});
    if (now - last_move > plan.patience) {
      shared.fail({fmt::format(
          "the bench made no progress for {} s; of {} jobs, {} are submitted and {} are done",
          std::chrono::ceil<std::chrono::seconds>(plan.patience).count(), shared.to_do.load(),
          submitted, completed)});
    }
  }
}

// Opens `count` producers or workers, each with its own connection.
template <typename Client>
Result<std::vector<std::unique_ptr<Client>>> open_clients(LoadShared& shared, int count) {
  std::vector<std::unique_ptr<Client>> clients;
  clients.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    clients.push_back(std::make_unique<Client>(shared, i));
    if (auto opened = clients.back()->open(); !opened) return std::unexpected(opened.error());
  }
  return clients;
}

// The thread must wake exactly when it asked to: the delay that the kernel adds by default to save
// power would be counted as the server's.
template <typename Client>
std::jthread start(Client& client) {
  return std::jthread([&client] {
    prctl(PR_SET_TIMERSLACK, 1UL);
    client.run();
  });
}

template <typename Worker>
Result<LoadResult> run_load_with(const LoadPlan& plan, const OnProgress& on_progress) {
  LoadShared shared(plan);
  const auto producers = open_clients<BenchProducer>(shared, plan.producers);
  if (!producers) return std::unexpected(producers.error());
  const auto workers = open_clients<Worker>(shared, plan.workers);
  if (!workers) return std::unexpected(workers.error());
  shared.start = steady_clock::now() + (plan.rate > 0 ? kWorkersFirst : milliseconds{0});
  {
    std::vector<std::jthread> threads;
    threads.reserve(workers->size() + producers->size());
    for (const auto& worker : *workers) threads.push_back(start(*worker));
    for (const auto& producer : *producers) threads.push_back(start(*producer));
    watch(shared, on_progress);
    // Ends the polls that still wait: no more jobs will come.
    for (const auto& producer : *producers) producer->abort();
    for (const auto& worker : *workers) worker->abort();
  }
  if (const auto error = shared.error()) return std::unexpected(*error);
  LoadResult result;
  result.submitted = shared.submitted;
  result.completed = shared.completed;
  result.submissions_refused = shared.refused;
  result.submitted_late = shared.submitted_late;
  result.submit_took = shared.submit_took();
  result.took = shared.took();
  for (const auto& producer : *producers) result.submit.merge(producer->latencies());
  for (const auto& worker : *workers) worker->report(result);
  return result;
}

}  // namespace

Time Delays::due(std::uint64_t job) const {
  const auto choices = static_cast<std::uint64_t>(span.count()) + 1;
  return first + Duration{static_cast<std::int64_t>(mix64(seed + job) % choices)};
}

Result<LoadResult> run_load(const LoadPlan& plan, const OnProgress& on_progress) {
  return plan.sdk_client == nullptr ? run_load_with<BenchWorker>(plan, on_progress)
                                    : run_load_with<BenchSdkWorker>(plan, on_progress);
}

}  // namespace millrace::cli
