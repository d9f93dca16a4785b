// millrace bench submit: measures how many jobs a second a server accepts.
#include <fmt/format.h>

#include "cli/bench/commands.h"
#include "cli/bench/run.h"

namespace millrace::cli {
namespace {

struct Submit {
  BenchSetup setup{.producers = 64, .workers = 0, .batch = 1};
  JobsOrDuration amount{.default_jobs = 100'000};
};

std::string json_report(const Bench& bench, const LoadResult& result, const ServerFigures& before) {
  const BenchSetup& setup = bench.setup;
  sdk::JsonWriter json;
  bench.begin_report(json);
  write_number(json, "jobs_per_s", per_second(result.submitted, result.submit_took));
  write_number(json, "requests_per_s", per_second(result.submit.count(), result.submit_took));
  write_number(json, "seconds", seconds(result.submit_took));
  write_count(json, "jobs", result.submitted);
  write_count(json, "requests", result.submit.count());
  json.key("connections").integer(setup.producers);
  json.key("batch").integer(setup.batch);
  write_count(json, "payload", setup.payload);
  json.key("queues").integer(setup.queues);
  write_count(json, "backlog", setup.backlog);
  write_count(json, "submissions_refused", result.submissions_refused);
  json.key("latency_ms").begin_object();
  write_latencies(json, "submit", result.submit);
  json.end_object();
  write_server_figures(json, before, bench.server_figures());
  json.end_object();
  return json.take();
}

std::string table_report(const Bench& bench, const LoadResult& result,
                         const ServerFigures& before) {
  LatencyTable table("LATENCY");
  table.add("submit, a call", result.submit);
  return fmt::format("{:.0f} jobs/s, {:.0f} requests/s: {} jobs in {:.2f} s\n{}{}\n\n{}",
                     per_second(result.submitted, result.submit_took),
                     per_second(result.submit.count(), result.submit_took), result.submitted,
                     seconds(result.submit_took),
                     describe_server_figures(before, bench.server_figures()),
                     describe_refusals(result.submissions_refused), table.text());
}

void run(const Submit& options, Session& session) {
  run_bench("submit", options.setup, session, [&](const Bench& bench) {
    LoadPlan plan = bench.plan();
    options.amount.apply(plan);
    const ServerFigures before = bench.server_figures();
    const auto result = [&] {
      ProgressLine progress;
      return run_load(plan, progress.counts("submit"));
    }();
    if (!result) return bench.fail(result.error());
    print_line(session.json() ? json_report(bench, *result, before)
                              : table_report(bench, *result, before));
  });
}

}  // namespace

void add_bench_submit(CLI::App& bench, Session& session) {
  CLI::App& command = *bench.add_subcommand("submit", "Measure how fast the server accepts jobs");
  const auto options = std::make_shared<Submit>();
  add_amount(command, options->amount);
  add_producers(command, options->setup);
  add_batch(command, options->setup);
  add_queues(command, options->setup);
  add_backlog(command, options->setup);
  add_own_server(command, options->setup);
  command.add_flag("--keep", options->setup.keep,
                   "Keep the jobs, to fill a server (default: purge them)");
  command.footer(
      "With --batch 1 each job is a POST /v1/jobs, otherwise the bench uses POST /v1/jobs/batch. "
      "No\n"
      "worker claims the jobs. The bench purges them afterwards, unless you give --keep.\n"
      "\n"
      "Examples:\n"
      "  millrace bench submit --connections 64\n"
      "  millrace bench submit --duration 30s --batch 1000 --connections 8\n"
      "  millrace bench submit --jobs 20000 -o json | jq .requests_per_s");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
