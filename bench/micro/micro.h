// Shared by the micro-benchmarks: reporting the time per job, and timing that excludes the
// preparation.
#pragma once

#include <benchmark/benchmark.h>
#include <time.h>

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::bench {

// Adds the column `per_<what>`: the time for each of an iteration's `count` items.
inline void show_time_per(benchmark::State& state, const std::string& what, std::int64_t count) {
  using benchmark::Counter;
  state.counters["per_" + what] =
      Counter(static_cast<double>(count), Counter::kIsIterationInvariantRate | Counter::kInvert);
}

// The CPU time of this thread, so that other load on the machine does not count.
inline double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Counts only the time of `work` in an iteration. For benchmarks with UseManualTime(), and work of
// some microseconds: reading the clock takes a tenth of a microsecond or more.
template <typename Work>
auto timed(benchmark::State& state, Work&& work) {
  const double begin = cpu_seconds();
  auto made = work();
  state.SetIterationTime(cpu_seconds() - begin);
  return made;
}

// Registers the benchmarks of a machine with these numbers of ready jobs, ordered by size, so that
// each machine is filled only once.
void add_machine_benchmarks(const std::vector<std::int64_t>& ready_jobs);

}  // namespace millrace::bench
