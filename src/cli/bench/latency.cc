// millrace bench latency: measures how long jobs take to reach a waiting worker, at a given rate.
#include <fmt/format.h>

#include <cmath>

#include "cli/bench/commands.h"
#include "cli/bench/run.h"
#include "cli/options.h"

namespace millrace::cli {
namespace {

struct Latency {
  BenchSetup setup{.batch = 1};
  double rate = 100;
  std::optional<sdk::Milliseconds> duration = sdk::Milliseconds{10'000};
};

LoadPlan plan_of(const Latency& options, const Bench& bench) {
  const std::chrono::duration<double> duration = *options.duration;
  LoadPlan plan = bench.plan();
  plan.rate = options.rate;
  plan.jobs =
      static_cast<std::uint64_t>(std::max(1.0, std::round(options.rate * duration.count())));
  // Bounds the wait for a server that can't keep up.
  plan.submit_for = 2 * *options.duration + std::chrono::seconds{10};
  plan.patience += std::chrono::duration_cast<std::chrono::nanoseconds>(
      std::chrono::duration<double>(2 * options.setup.batch / options.rate));
  return plan;
}

std::string json_report(const Latency& options, const LoadPlan& plan, const Bench& bench,
                        const LoadResult& result, const ServerFigures& before) {
  const BenchSetup& setup = bench.setup;
  sdk::JsonWriter json;
  bench.begin_report(json);
  write_number(json, "rate", options.rate);
  write_number(json, "rate_reached", per_second(result.submitted, result.submit_took));
  write_number(json, "seconds", seconds(result.took));
  write_count(json, "jobs", result.completed);
  write_count(json, "not_submitted", plan.jobs - result.submitted);
  json.key("producers").integer(setup.producers);
  json.key("workers").integer(setup.workers);
  json.key("sdk").boolean(setup.uses_sdk);
  json.key("batch").integer(setup.batch);
  write_count(json, "payload", setup.payload);
  json.key("queues").integer(setup.queues);
  write_count(json, "backlog", setup.backlog);
  json.key("retention_ms").integer(setup.retention.value_or(sdk::Milliseconds{0}).count());
  write_count(json, "submissions_refused", result.submissions_refused);
  json.key("latency_ms").begin_object();
  write_latencies(json, "submit", result.submit);
  write_latencies(json, "hand_out", result.hand_out);
  json.end_object();
  write_server_figures(json, before, bench.server_figures());
  json.end_object();
  return json.take();
}

std::string table_report(const Latency& options, const LoadPlan& plan, const Bench& bench,
                         const LoadResult& result, const ServerFigures& before) {
  LatencyTable table("FROM THE INTENDED INSTANT");
  table.add("to the submission's answer, a call", result.submit);
  table.add("to the worker, a job", result.hand_out);
  std::string text = fmt::format(
      "{} jobs at {:.0f}/s (target: {:.0f}/s)\n"
      "{}{}\n"
      "\n"
      "{}",
      result.completed, per_second(result.submitted, result.submit_took), options.rate,
      describe_server_figures(before, bench.server_figures()),
      describe_refusals(result.submissions_refused), table.text());
  if (result.submitted < plan.jobs) {
    text += fmt::format(
        "\n"
        "The bench did not submit {} jobs, because the server or --producers did not keep up.\n",
        plan.jobs - result.submitted);
  }
  return text;
}

void run(const Latency& options, Session& session) {
  run_bench("latency", options.setup, session, [&](const Bench& bench) {
    const LoadPlan plan = plan_of(options, bench);
    const ServerFigures before = bench.server_figures();
    const auto result = [&] {
      ProgressLine progress;
      return run_load(plan, progress.counts("latency"));
    }();
    if (!result) return bench.fail(result.error());
    print_line(session.json() ? json_report(options, plan, bench, *result, before)
                              : table_report(options, plan, bench, *result, before));
  });
}

}  // namespace

void add_bench_latency(CLI::App& bench, Session& session) {
  CLI::App& command = *bench.add_subcommand(
      "latency", "Measure how soon waiting workers get jobs at a steady rate");
  const auto options = std::make_shared<Latency>();
  command
      .add_option("--rate", options->rate,
                  fmt::format("Jobs per second (default: {})", options->rate))
      ->check(CLI::Range(0.1, 10e6));
  add_duration(command, "--duration", options->duration, "Time to submit for (default: 10s)");
  add_producers(command, options->setup);
  add_workers(command, options->setup);
  add_batch(command, options->setup);
  add_sdk(command, options->setup);
  add_queues(command, options->setup);
  add_backlog(command, options->setup);
  add_own_server(command, options->setup);
  command.footer(
      "Each submission has an intended instant, and its time counts from there, even if no "
      "connection\n"
      "was free to send it. So a server that stalls can't hide the jobs that it did not accept.\n"
      "\n"
      "Examples:\n"
      "  millrace bench latency\n"
      "  millrace bench latency --rate 75000 --batch 100 --producers 32 --duration 30s\n"
      "  millrace bench latency --rate 1000 --batch 10 --sdk\n"
      "  millrace bench latency --rate 500 -o json | jq .latency_ms.hand_out");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
