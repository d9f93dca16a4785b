// The machine with commands of 100 jobs, and with many more ready jobs than a command touches: the
// cost of a job should hardly depend on their number. Jobs are handed out oldest first, so the
// touched ones are in the processor's caches only by chance. Nothing is encoded, written or sent.
#include <fmt/format.h>
#include <malloc.h>
#include <unistd.h>

#include <fstream>
#include <functional>
#include <memory>
#include <utility>

#include "base/check.h"
#include "machine_driver.h"
#include "micro.h"

namespace millrace::bench {
namespace {

constexpr std::size_t kBatch = 100;

struct MemoryUse {
  double heap = 0;      // allocated bytes, with the allocator's overhead
  double resident = 0;  // the process's resident memory
};

MemoryUse memory_use() {
  const struct mallinfo2 heap = ::mallinfo2();
  std::size_t pages = 0;
  std::size_t resident_pages = 0;
  std::ifstream("/proc/self/statm") >> pages >> resident_pages;
  return {static_cast<double>(heap.uordblks + heap.hblkhd),
          static_cast<double>(resident_pages) * static_cast<double>(::sysconf(_SC_PAGESIZE))};
}

// One machine at a time, since the largest take gigabytes.
struct Filled {
  std::unique_ptr<MachineDriver> driver;
  std::int64_t ready_jobs = 0;
};

Filled& filled() {
  static Filled filled;
  return filled;
}

MachineDriver& driver_with(std::int64_t ready_jobs) {
  Filled& held = filled();
  if (held.driver == nullptr || held.ready_jobs != ready_jobs) {
    held.driver.reset();
    held.driver = std::make_unique<MachineDriver>();
    held.driver->fill(ready_jobs);
    held.ready_jobs = ready_jobs;
  }
  return *held.driver;
}

// From an empty machine: the time per ready job, including the making of its command, and the
// memory, including its payload. For few jobs, the resident memory is what the allocator already
// had.
void fill(benchmark::State& state) {
  MemoryUse before;
  for (auto _ : state) {
    state.PauseTiming();
    filled().driver.reset();
    ::malloc_trim(0);
    before = memory_use();
    state.ResumeTiming();
    driver_with(state.range(0));
  }
  const MemoryUse after = memory_use();
  const auto jobs = static_cast<double>(state.range(0));
  show_time_per(state, "job", state.range(0));
  state.counters["heap_bytes_per_job"] = (after.heap - before.heap) / jobs;
  state.counters["resident_bytes_per_job"] = (after.resident - before.resident) / jobs;
}

core::ClaimReply claimed(MachineDriver& driver) {
  auto reply = std::get<core::ClaimReply>(driver.step(MachineDriver::claim(kBatch)));
  MILLRACE_CHECK(reply.jobs.size() == kBatch);
  return reply;
}

// Each benchmark leaves the machine with as many ready jobs as it found.

void enqueue(benchmark::State& state) {
  MachineDriver& driver = driver_with(state.range(0));
  for (auto _ : state) {
    const core::Command command = driver.new_jobs(kBatch);
    const auto reply = timed(state, [&] { return driver.step(command); });
    benchmark::DoNotOptimize(&reply);
    driver.step(MachineDriver::succeeded(claimed(driver)));
    driver.project_if_due();
  }
  show_time_per(state, "job", kBatch);
}

void claim_by(benchmark::State& state, MachineDriver& driver, const core::Command& command) {
  for (auto _ : state) {
    driver.step(driver.new_jobs(kBatch));
    const auto reply = timed(state, [&] { return driver.step(command); });
    driver.step(MachineDriver::succeeded(std::get<core::ClaimReply>(reply)));
    driver.project_if_due();
  }
  show_time_per(state, "job", kBatch);
}

void claim(benchmark::State& state) {
  claim_by(state, driver_with(state.range(0)), MachineDriver::claim(kBatch));
}

// For a worker that looks into many queues before it finds jobs.
void claim_naming(benchmark::State& state) {
  const auto queues = static_cast<std::size_t>(state.range(0));
  MachineDriver driver;
  driver.add_empty_queues(queues);
  driver.fill(1'000);
  claim_by(state, driver, MachineDriver::claim_naming(queues, kBatch));
}

void ack(benchmark::State& state) {
  MachineDriver& driver = driver_with(state.range(0));
  for (auto _ : state) {
    driver.step(driver.new_jobs(kBatch));
    const core::Command command = MachineDriver::succeeded(claimed(driver));
    const auto reply = timed(state, [&] { return driver.step(command); });
    benchmark::DoNotOptimize(&reply);
    driver.project_if_due();
  }
  show_time_per(state, "job", kBatch);
}

// Submits, claims, completes and projects, including the making of the commands.
void lifecycle(benchmark::State& state) {
  MachineDriver& driver = driver_with(state.range(0));
  for (auto _ : state) {
    driver.step(driver.new_jobs(kBatch));
    driver.step(MachineDriver::succeeded(claimed(driver)));
    driver.project_if_due();
  }
  show_time_per(state, "job", kBatch);
}

}  // namespace

void add_machine_benchmarks(const std::vector<std::int64_t>& ready_jobs) {
  benchmark::RegisterBenchmark("machine/claim_naming", claim_naming)
      ->ArgName("queues")
      ->Arg(1)
      ->Arg(10)
      ->Arg(100)
      ->UseManualTime()
      ->Unit(benchmark::kMicrosecond);
  for (const std::int64_t ready : ready_jobs) {
    const auto add = [ready](const char* name, void (*function)(benchmark::State&)) {
      return benchmark::RegisterBenchmark(fmt::format("machine/{}", name).c_str(), function)
          ->ArgName("ready")
          ->Arg(ready);
    };
    add("fill", fill)->Iterations(1)->Unit(benchmark::kMillisecond);
    add("enqueue", enqueue)->UseManualTime()->Unit(benchmark::kMicrosecond);
    add("claim", claim)->UseManualTime()->Unit(benchmark::kMicrosecond);
    add("ack", ack)->UseManualTime()->Unit(benchmark::kMicrosecond);
    add("lifecycle", lifecycle)->Unit(benchmark::kMicrosecond);
  }
}

}  // namespace millrace::bench
