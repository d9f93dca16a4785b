// What the micro-benchmarks have in common: how a job's share of the work is shown, and timing with
// a preparation that does not count.
#pragma once

#include <benchmark/benchmark.h>
#include <time.h>

#include <cstdint>
#include <string>
#include <vector>

namespace millrace::bench {

// Adds the column `per_<what>`: the time that one of `count` things an iteration takes.
inline void show_time_per(benchmark::State& state, const std::string& what, std::int64_t count) {
  using benchmark::Counter;
  state.counters["per_" + what] =
      Counter(static_cast<double>(count), Counter::kIsIterationInvariantRate | Counter::kInvert);
}

// Of this thread: what else runs on the machine does not count.
inline double cpu_seconds() {
  timespec now{};
  ::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// The time of an iteration is that of `work` alone. For benchmarks with UseManualTime(), and work
// of some microseconds: to ask for the time takes a tenth of one or more.
template <typename Work>
auto timed(benchmark::State& state, Work&& work) {
  const double begin = cpu_seconds();
  auto made = work();
  state.SetIterationTime(cpu_seconds() - begin);
  return made;
}

// The benchmarks of the machine, with so many ready jobs in it; by size, so that each machine is
// filled once.
void add_machine_benchmarks(const std::vector<std::int64_t>& ready_jobs);

}  // namespace millrace::bench
