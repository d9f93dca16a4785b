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
      .add_option(
          "--jobs", amount.jobs,
          fmt::format("Number of jobs (default: {}, without --duration)", amount.default_jobs))
      ->check(up_to(kMostJobs));
  add_duration(command, "--duration", amount.duration, "Time to submit for, or until --jobs");
}

void add_bench(CLI::App& app, Session& session) {
  CLI::App& bench = *app.add_subcommand("bench", "Measure a server")->require_subcommand(1);
  bench.footer(
      "Without --url a bench starts its own server with default settings, and removes the server "
      "and\n"
      "its store at the end. It ignores MILLRACE_URL, so that a setting can't load a server that\n"
      "others use. It creates queues named bench-..., and deletes them at the end. A client and a\n"
      "server on one machine share its cores. A bench speaks plain HTTP only.\n"
      "\n"
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
