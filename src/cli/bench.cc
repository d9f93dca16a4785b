// millrace bench: measures a server.
#include <fmt/format.h>

#include "cli/bench_commands.h"
#include "cli/bench_run.h"
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
      "Without --url and MILLRACE_URL a bench starts a server of its own, with its defaults, and\n"
      "removes it and its store at the end. Queues are new ones, named bench-...; what waits in\n"
      "them at the end is purged. Client and server share the machine's cores, if it is the same.\n"
      "Plain HTTP only.\n\n"
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
