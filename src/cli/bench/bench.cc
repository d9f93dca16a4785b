// millrace bench: measures a server.
#include <fmt/format.h>

#include "cli/bench/commands.h"
#include "cli/bench/run.h"
#include "cli/commands.h"
#include "cli/options.h"

namespace millrace::cli {
namespace {

constexpr std::uint64_t kMostJobs = 10'000'000'000;

}  // namespace

void JobsOrDuration::apply(LoadPlan& plan) const {
  plan.jobs = jobs.value_or(duration ? kMostJobs : default_jobs);
  plan.submit_for = duration;
}

void add_amount(CLI::App& command, JobsOrDuration& amount) {
  command
      .add_option("--jobs", amount.jobs,
                  fmt::format("Jobs in all (default: {}, without --duration)", amount.default_jobs))
      ->check(up_to(kMostJobs));
  add_duration(command, "--duration", amount.duration, "Submit for so long, or until --jobs");
}

void add_bench(CLI::App& app, Session& session) {
  CLI::App& bench = *app.add_subcommand("bench", "Measure a server")->require_subcommand(1);
  bench.footer(
      "Without --url a bench starts a server of its own, with its defaults, and removes it and\n"
      "its store at the end. MILLRACE_URL does not name one: nobody is to load the server that\n"
      "others use because of a setting. Queues are new ones, named bench-..., and deleted at the\n"
      "end. Client and server share the machine's cores, if it is the same. Plain HTTP only.\n\n"
      "Examples:\n"
      "  millrace bench roundtrip\n"
      "  millrace bench latency --rate 1000 --duration 30s\n"
      "  millrace bench submit --url http://queue.internal:7600 -o json");
  add_bench_submit(bench, session);
  add_bench_roundtrip(bench, session);
  add_bench_latency(bench, session);
  add_bench_delayed(bench, session);
  add_bench_idle(bench, session);
}

}  // namespace millrace::cli
