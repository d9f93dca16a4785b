// millrace bench delayed: measures how punctual a server's timers are.
#include <fmt/format.h>

#include "base/random.h"
#include "cli/bench/commands.h"
#include "cli/bench/run.h"
#include "cli/options.h"

namespace millrace::cli {
namespace {

struct Delayed {
  BenchSetup setup;
  std::uint64_t jobs = 100'000;
  std::optional<sdk::Milliseconds> span = sdk::Milliseconds{10'000};
  std::optional<sdk::Milliseconds> lead;
};

// The time needed to submit all jobs before the first is due, on a slow disk.
sdk::Milliseconds lead_of(const Delayed& options) {
  constexpr std::uint64_t kSurelySubmittedPerMs = 40;
  return options.lead.value_or(
      sdk::Milliseconds{1'000 + static_cast<std::int64_t>(options.jobs / kSurelySubmittedPerMs)});
}

LoadPlan plan_of(const Delayed& options, const Bench& bench) {
  LoadPlan plan = bench.plan();
  plan.jobs = options.jobs;
  plan.delays =
      Delays{.first = now() + lead_of(options), .span = *options.span, .seed = system_random()};
  plan.patience += lead_of(options) + *options.span;
  return plan;
}

std::string json_report(const Delayed& options, const Bench& bench, const LoadResult& result,
                        const ServerFigures& before) {
  const BenchSetup& setup = bench.setup;
  sdk::JsonWriter json;
  bench.begin_report(json);
  write_count(json, "jobs", result.completed);
  json.key("span_ms").integer(options.span->count());
  json.key("lead_ms").integer(lead_of(options).count());
  write_number(json, "seconds", seconds(result.took));
  write_count(json, "early", result.early);
  write_count(json, "submitted_late", result.submitted_late);
  write_number(json, "submitted_per_s", per_second(result.submitted, result.submit_took));
  json.key("producers").integer(setup.producers);
  json.key("workers").integer(setup.workers);
  json.key("sdk").boolean(setup.uses_sdk);
  json.key("batch").integer(setup.batch);
  write_count(json, "payload", setup.payload);
  json.key("queues").integer(setup.queues);
  write_count(json, "backlog", setup.backlog);
  write_count(json, "submissions_refused", result.submissions_refused);
  json.key("latency_ms").begin_object();
  write_latencies(json, "late", result.hand_out);
  write_latencies(json, "submit", result.submit);
  json.end_object();
  write_server_figures(json, before, bench.server_figures());
  json.end_object();
  return json.take();
}

std::string table_report(const Delayed& options, const Bench& bench, const LoadResult& result,
                         const ServerFigures& before) {
  LatencyTable table("LATENCY");
  table.add("due to the worker, a job", result.hand_out);
  table.add("submit, a call", result.submit);
  std::string text = fmt::format(
      "{} jobs were due at random instants within {}; the server handed out {} early\n"
      "{}{}\n"
      "\n"
      "{}",
      result.completed, format_duration(*options.span), result.early,
      describe_server_figures(before, bench.server_figures()),
      describe_refusals(result.submissions_refused), table.text());
  if (result.submitted_late > 0) {
    text += fmt::format(
        "\n"
        "{} jobs were not yet submitted when the first was due, and may have been late for that "
        "reason.\n"
        "A --lead longer than {} keeps that out of the figures.\n",
        result.submitted_late, format_duration(lead_of(options)));
  }
  return text;
}

void run(const Delayed& options, Session& session) {
  run_bench("delayed", options.setup, session, [&](const Bench& bench) {
    const LoadPlan plan = plan_of(options, bench);
    const ServerFigures before = bench.server_figures();
    const auto result = [&] {
      ProgressLine progress;
      return run_load(plan, progress.counts("delayed"));
    }();
    if (!result) return bench.fail(result.error());
    print_line(session.json() ? json_report(options, bench, *result, before)
                              : table_report(options, bench, *result, before));
  });
}

}  // namespace

void add_bench_delayed(CLI::App& bench, Session& session) {
  CLI::App& command =
      *bench.add_subcommand("delayed", "Measure how late the server hands out delayed jobs");
  const auto options = std::make_shared<Delayed>();
  command
      .add_option("--jobs", options->jobs,
                  fmt::format("Number of jobs (default: {})", options->jobs))
      ->check(up_to(1'000'000'000));
  add_duration(command, "--span,--duration", options->span,
               "Time within which the jobs are due (default: 10s)");
  add_duration(
      command, "--lead", options->lead,
      "Time from the start to the first instant (default: 1s, and 1s for each 40000 jobs)");
  add_producers(command, options->setup);
  add_workers(command, options->setup);
  add_batch(command, options->setup);
  add_sdk(command, options->setup);
  add_queues(command, options->setup);
  add_backlog(command, options->setup);
  add_own_server(command, options->setup);
  command.footer(
      "The bench takes instants from this machine's clock. If the server runs on another machine, "
      "the\n"
      "figures include the difference of the clocks. --sdk measures a program that uses the "
      "library.\n"
      "\n"
      "Examples:\n"
      "  millrace bench delayed\n"
      "  millrace bench delayed --jobs 1000000 --span 60s\n"
      "  millrace bench delayed --jobs 10000 -o json | jq .latency_ms.late.p99");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
