// millrace bench roundtrip: measures how many jobs a second pass through a server: submitted,
// claimed and completed.
#include <fmt/format.h>

#include "cli/bench/commands.h"
#include "cli/bench/lag.h"
#include "cli/bench/run.h"
#include "cli/options.h"

namespace millrace::cli {
namespace {

struct Roundtrip {
  BenchSetup setup;
  JobsOrDuration amount{.default_jobs = 100'000};
};

// How far the tables were behind, in seconds; none if the server does not report it.
using Lag = std::optional<double>;

std::string json_report(const Bench& bench, const LoadResult& result, const ServerFigures& before,
                        Lag lag) {
  const BenchSetup& setup = bench.setup;
  sdk::JsonWriter json;
  bench.begin_report(json);
  write_number(json, "lifecycles_per_s", per_second(result.completed, result.took));
  write_number(json, "seconds", seconds(result.took));
  write_count(json, "jobs", result.completed);
  json.key("producers").integer(setup.producers);
  json.key("workers").integer(setup.workers);
  json.key("sdk").boolean(setup.uses_sdk);
  json.key("batch").integer(setup.batch);
  write_count(json, "payload", setup.payload);
  json.key("queues").integer(setup.queues);
  write_count(json, "concurrency", setup.concurrency);
  write_count(json, "rate", setup.rate);
  write_count(json, "fair_keys", setup.fair_keys);
  write_count(json, "backlog", setup.backlog);
  json.key("retention_ms").integer(setup.retention.value_or(sdk::Milliseconds{0}).count());
  write_count(json, "submissions_refused", result.submissions_refused);
  json.key("latency_ms").begin_object();
  write_latencies(json, "submit", result.submit);
  write_latencies(json, "hand_out", result.hand_out);
  write_latencies(json, "claim_to_ack", result.claim_to_ack);
  write_latencies(json, "end_to_end", result.end_to_end);
  json.end_object();
  write_server_figures(json, before, bench.server_figures());
  if (lag) {
    write_number(json, "projection_lag_s", *lag);
  } else {
    json.key("projection_lag_s").null();
  }
  json.end_object();
  return json.take();
}

std::string table_report(const Bench& bench, const LoadResult& result, const ServerFigures& before,
                         Lag lag) {
  LatencyTable table("LATENCY");
  table.add("submit, a call", result.submit);
  table.add("sent to handed out, a job", result.hand_out);
  table.add("claim to ack, a job", result.claim_to_ack);
  table.add("end to end, a job", result.end_to_end);
  const std::string behind =
      lag ? fmt::format(" Its tables lagged at most {:.1f} s behind the journal.", *lag)
          : std::string();
  return fmt::format("{:.0f} lifecycles/s: {} jobs in {:.2f} s\n{}{}{}\n\n{}",
                     per_second(result.completed, result.took), result.completed,
                     seconds(result.took), describe_server_figures(before, bench.server_figures()),
                     behind, describe_refusals(result.submissions_refused), table.text());
}

void run(const Roundtrip& options, Session& session) {
  run_bench("roundtrip", options.setup, session, [&](const Bench& bench) {
    LoadPlan plan = bench.plan();
    options.amount.apply(plan);
    const ServerFigures before = bench.server_figures();
    LagWatch lag(session);
    const auto result = [&] {
      ProgressLine progress;
      return run_load(plan, progress.counts("roundtrip"));
    }();
    if (!result) return bench.fail(result.error());
    print_line(session.json() ? json_report(bench, *result, before, lag.worst())
                              : table_report(bench, *result, before, lag.worst()));
  });
}

}  // namespace

void add_bench_roundtrip(CLI::App& bench, Session& session) {
  CLI::App& command = *bench.add_subcommand(
      "roundtrip", "Measure how fast the server can submit, claim and complete jobs");
  const auto options = std::make_shared<Roundtrip>();
  add_amount(command, options->amount);
  add_producers(command, options->setup);
  add_workers(command, options->setup);
  add_batch(command, options->setup);
  add_sdk(command, options->setup);
  add_queues(command, options->setup);
  add_flow(command, options->setup);
  add_backlog(command, options->setup);
  add_own_server(command, options->setup);
  command.footer(
      "A latency belongs to a call or to a job, as its line says. A lifecycle is a job that is\n"
      "submitted, claimed and completed; the server answers each step when it is on disk. A "
      "worker\n"
      "acknowledges a batch with the poll that claims the next. The bench's own workers use as "
      "little\n"
      "of the machine as possible; --sdk measures a program that uses the library.\n"
      "\n"
      "Examples:\n"
      "  millrace bench roundtrip --jobs 500000 --producers 8 --workers 8 --batch 100\n"
      "  millrace bench roundtrip --duration 10m --retention 24h\n"
      "  millrace bench roundtrip --jobs 20000 --batch 1 -o json | jq .lifecycles_per_s");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
