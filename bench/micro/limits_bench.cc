// The machine with limits: their cost for jobs that pass them, for claims that they hold back, and
// in memory.
#include <malloc.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/check.h"
#include "machine_driver.h"
#include "micro.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kBatch = 100;
constexpr std::int64_t kKeys = 1'000'000;

void set_limit(MachineDriver& driver, const std::string& name, core::Bounds bounds,
               bool per_key = false) {
  core::SetLimit set;
  set.name = SharedBytes(name);
  set.settings.bounds = std::move(bounds);
  set.settings.per_key = per_key;
  driver.step(set);
}

std::shared_ptr<const core::JobExtras> naming(core::JobLimits limits) {
  core::JobExtras extras;
  extras.limits = std::move(limits);
  return std::make_shared<const core::JobExtras>(std::move(extras));
}

core::JobLimit of(const std::string& name, const std::string& key = {}) {
  return {SharedBytes(name), SharedBytes(key), 1, 0};
}

// Sets one limit of each kind that is never reached.
void set_wide_limits(MachineDriver& driver) {
  set_limit(driver, "slots", {1'000'000, {}});
  set_limit(driver, "rate", {{}, core::Rate{1'000'000'000, Duration{1}, {}}});
}

// The lease outlasts the benchmark, each step of which takes a millisecond.
core::ClaimReply claimed(MachineDriver& driver) {
  core::Claim claim = MachineDriver::claim(kBatch);
  claim.lease = core::kMaxLease;
  return std::get<core::ClaimReply>(driver.step(claim));
}

// Submits, claims, completes and projects: jobs without limits, and jobs that pass one limit of
// slots and one of tokens.
void lifecycle(benchmark::State& state) {
  const bool limited = state.range(0) != 0;
  MachineDriver driver;
  set_wide_limits(driver);
  const auto extras = naming({of("slots"), of("rate")});
  for (auto _ : state) {
    core::Enqueue jobs = driver.new_jobs(kBatch);
    if (limited) {
      for (core::JobSpec& spec : jobs.jobs) spec.extras = extras;
    }
    driver.step(jobs);
    core::ClaimReply reply = claimed(driver);
    MILLRACE_CHECK(reply.jobs.size() == kBatch);
    driver.step(MachineDriver::succeeded(reply));
    driver.project_if_due();
  }
  show_time_per(state, "job", kBatch);
}
BENCHMARK(lifecycle)->Name("limits/lifecycle")->ArgName("limited")->Arg(0)->Arg(1);

// Each job has its own key of one limit, and all name another limit, which is closed.
std::unique_ptr<MachineDriver> filled_with_keys(std::int64_t keys) {
  auto driver = std::make_unique<MachineDriver>();
  set_limit(*driver, "account", {1, {}}, true);
  set_limit(*driver, "closed", {1, {}});
  for (std::int64_t made = 0; made < keys;) {
    core::Enqueue jobs = driver->new_jobs(1'000);
    for (core::JobSpec& spec : jobs.jobs) {
      spec.extras = naming({of("account", std::to_string(made++)), of("closed")});
    }
    driver->step(jobs);
    driver->project_if_due();
    if (made == 1'000) MILLRACE_CHECK(claimed(*driver).jobs.size() == 1);
  }
  driver->machine().take_changes();
  driver->machine().changes_stored();
  return driver;
}

// Claims from an empty queue, and from one whose jobs are all behind a closed gate.
void claim_in_vain(benchmark::State& state) {
  const auto driver = filled_with_keys(state.range(0));
  for (auto _ : state) {
    const auto reply = timed(state, [&] { return claimed(*driver); });
    MILLRACE_CHECK(reply.jobs.empty());
  }
}
BENCHMARK(claim_in_vain)
    ->Name("limits/claim_in_vain")
    ->ArgName("ready")
    ->Arg(0)
    ->Arg(kKeys)
    ->UseManualTime();

// One slot with many lanes behind it: when the job with the slot ends, the next one begins.
void pass_the_slot_on(benchmark::State& state) {
  MachineDriver driver;
  set_limit(driver, "account", {1, {}}, true);
  set_limit(driver, "slot", {1, {}});
  std::int64_t made = 0;
  const auto add = [&](std::size_t count) {
    core::Enqueue jobs = driver.new_jobs(count);
    for (core::JobSpec& spec : jobs.jobs) {
      spec.extras = naming({of("account", std::to_string(made++)), of("slot")});
    }
    driver.step(jobs);
    driver.project_if_due();
  };
  while (made < state.range(0)) add(1'000);
  core::ClaimReply running = claimed(driver);
  for (auto _ : state) {
    MILLRACE_CHECK(running.jobs.size() == 1);
    timed(state, [&] {
      driver.step(MachineDriver::succeeded(running));
      running = claimed(driver);
      return 0;
    });
    add(1);
    driver.project_if_due();
  }
}
BENCHMARK(pass_the_slot_on)
    ->Name("limits/pass_the_slot_on")
    ->ArgName("ready")
    ->Arg(1'000)
    ->Arg(kKeys)
    ->UseManualTime();

// The memory of a key, excluding its job and the names held by the job.
void memory_of_a_key(benchmark::State& state) {
  const auto heap = [] {
    const struct mallinfo2 use = ::mallinfo2();
    return static_cast<double>(use.uordblks + use.hblkhd);
  };
  for (auto _ : state) {
    const double empty = heap();
    auto plain = std::make_unique<MachineDriver>();
    plain->fill(kKeys);
    std::vector<std::shared_ptr<const core::JobExtras>> names(kKeys);
    const double jobs = heap() - empty - static_cast<double>(kKeys * sizeof(names[0]));
    for (std::int64_t i = 0; i < kKeys; ++i) {
      names[static_cast<std::size_t>(i)] = naming({of("account", std::to_string(i)), of("closed")});
    }
    const double whole = heap() - empty - static_cast<double>(kKeys * sizeof(names[0]));
    state.counters["bytes_of_names"] = (whole - jobs) / static_cast<double>(kKeys);
    names = {};
    plain.reset();
    const double before = heap();
    const auto keys = filled_with_keys(kKeys);
    state.counters["bytes_per_key"] = (heap() - before - whole) / static_cast<double>(kKeys);
  }
}
BENCHMARK(memory_of_a_key)
    ->Name("limits/memory_of_a_key/ready:1000000")
    ->Iterations(1)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace millrace::bench
