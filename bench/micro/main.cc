// bench_micro: times the parts that every job passes: the machine, the codec of events, the JSON
// layer, the reading of requests, a whole session; and the calendar of schedules. Each group is a
// separate file.
//
//     bench_micro                                       all; the machine with up to 1,000,000 jobs
//     bench_micro --huge --benchmark_filter=machine     and with 10,000,000: 4 GB, a minute
//     bench_micro --benchmark_filter=json/              some
//
// The other options are Google Benchmark's own: --help. Debian builds that library without NDEBUG,
// and it warns of that at each start; no code of it runs inside a measured loop.
#include <algorithm>
#include <string_view>

#include "micro.h"

int main(int argc, char** argv) {
  std::vector<std::int64_t> ready_jobs{1'000, 1'000'000};
  char** const end =
      std::remove_if(argv + 1, argv + argc, [](std::string_view word) { return word == "--huge"; });
  if (end != argv + argc) ready_jobs.push_back(10'000'000);
  argc = static_cast<int>(end - argv);

  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  millrace::bench::add_machine_benchmarks(ready_jobs);
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
}
