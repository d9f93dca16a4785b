// millrace bench roundtrip: how many jobs a second go through a server, submitted, claimed and
// completed.
#include <fmt/format.h>

#include <cstdio>

#include "base/random.h"
#include "base/time.h"
#include "cli/bench_load.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

struct Bench {
  std::uint64_t jobs = 100'000;
  int producers = 8;
  int workers = 8;
  int batch = 100;
  std::size_t payload = 200;
  int queues = 1;
  std::optional<sdk::Milliseconds> retention = sdk::Milliseconds{0};
};

double seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}
double milliseconds_of(std::chrono::nanoseconds duration) { return seconds(duration) * 1e3; }

// New queues, so that nothing else is measured and nobody else's jobs are taken.
sdk::Result<std::vector<std::string>> make_queues(const Bench& options, sdk::Client& client) {
  const auto keep = options.retention.value_or(sdk::Milliseconds{0}).count();
  const std::string settings = fmt::format(
      R"({{"retention":{{"succeeded_ms":{0},"dead_ms":{0},"cancelled_ms":{0},"expired_ms":{0}}}}})",
      keep);
  std::vector<std::string> names;
  const std::uint64_t run = system_random();
  for (int i = 0; i < options.queues; ++i) {
    names.push_back(fmt::format("bench-{:012x}-{}", run >> 16, i));
    const auto made = client.put_queue(names.back(), settings);
    if (!made) return std::unexpected(made.error());
  }
  return names;
}

class ProgressLine {
 public:
  void show(std::uint64_t submitted, std::uint64_t completed, std::uint64_t jobs) {
    if (!is_shown_) return;
    std::fputs(
        fmt::format("\r{} of {} submitted, {} completed ", submitted, jobs, completed).c_str(),
        stderr);
  }
  void clear() {
    if (is_shown_) std::fputs("\r\x1b[K", stderr);
  }

 private:
  bool is_shown_ = is_terminal(2);
};

// Three places are what the histogram knows.
void write_number(sdk::JsonWriter& json, std::string_view name, double value) {
  json.key(name).raw(fmt::format("{:.3f}", value));
}

void write_latencies(sdk::JsonWriter& json, std::string_view name, const Histogram& histogram) {
  json.key(name).begin_object();
  write_number(json, "p50", milliseconds_of(histogram.at(0.50)));
  write_number(json, "p95", milliseconds_of(histogram.at(0.95)));
  write_number(json, "p99", milliseconds_of(histogram.at(0.99)));
  write_number(json, "max", milliseconds_of(histogram.max()));
  json.end_object();
}

std::string json_report(const Bench& options, const LoadResult& result) {
  sdk::JsonWriter json;
  json.begin_object();
  write_number(json, "lifecycles_per_s", static_cast<double>(options.jobs) / seconds(result.took));
  write_number(json, "seconds", seconds(result.took));
  json.key("jobs").integer(static_cast<std::int64_t>(options.jobs));
  json.key("producers").integer(options.producers);
  json.key("workers").integer(options.workers);
  json.key("batch").integer(options.batch);
  json.key("payload").integer(static_cast<std::int64_t>(options.payload));
  json.key("queues").integer(options.queues);
  json.key("retention_ms").integer(options.retention.value_or(sdk::Milliseconds{0}).count());
  json.key("submissions_refused").integer(static_cast<std::int64_t>(result.submissions_refused));
  json.key("latency_ms").begin_object();
  write_latencies(json, "submit", result.submit);
  write_latencies(json, "claim_to_ack", result.claim_to_ack);
  write_latencies(json, "end_to_end", result.end_to_end);
  json.end_object().end_object();
  return json.take();
}

std::string table_report(const Bench& options, const LoadResult& result) {
  const auto cell = [](std::chrono::nanoseconds value) {
    return fmt::format("{:.2f} ms", milliseconds_of(value));
  };
  Table table({{"LATENCY"},
               {"P50", Align::kRight},
               {"P95", Align::kRight},
               {"P99", Align::kRight},
               {"MAX", Align::kRight}});
  const auto row = [&](std::string name, const Histogram& histogram) {
    table.add({std::move(name), cell(histogram.at(0.50)), cell(histogram.at(0.95)),
               cell(histogram.at(0.99)), cell(histogram.max())});
  };
  row("submit, a batch", result.submit);
  row("claim to ack, a job", result.claim_to_ack);
  row("end to end, a job", result.end_to_end);
  return fmt::format("{:.0f} lifecycles/s: {} jobs in {:.2f} s\n\n{}",
                     static_cast<double>(options.jobs) / seconds(result.took), options.jobs,
                     seconds(result.took), table.text());
}

void run(const Bench& options, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    const auto address = parse_address(client.url());
    if (!address) return session.fail(kUsage, address.error().message);
    auto queues = make_queues(options, client);
    if (!queues) return session.fail(queues.error());
    const LoadPlan plan{.address = *address,
                        .token = client.token(),
                        .queues = std::move(*queues),
                        .jobs = options.jobs,
                        .producers = options.producers,
                        .workers = options.workers,
                        .batch = options.batch,
                        .payload_bytes = options.payload};
    ProgressLine progress;
    const auto result = run_load(plan, [&](std::uint64_t submitted, std::uint64_t completed) {
      progress.show(submitted, completed, options.jobs);
    });
    progress.clear();
    if (!result) return session.fail(kFailure, result.error().message);
    print_line(session.json() ? json_report(options, *result) : table_report(options, *result));
  });
}

}  // namespace

void add_bench(CLI::App& app, Session& session) {
  CLI::App& bench = *app.add_subcommand("bench", "Measure a server")->require_subcommand(1);
  CLI::App& command = *bench.add_subcommand(
      "roundtrip", "Submit, claim and complete jobs as fast as the server can");
  const auto options = std::make_shared<Bench>();
  const auto positive = [](int most) { return CLI::Range(1, most); };
  command.add_option("--jobs", options->jobs, "Jobs in all (default: 100000)")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{10'000'000'000}));
  command.add_option("--producers", options->producers, "Connections that submit (default: 8)")
      ->check(positive(1'000));
  command
      .add_option("--workers", options->workers, "Connections that claim and complete (default: 8)")
      ->check(positive(1'000));
  command.add_option("--batch", options->batch, "Jobs a call, 1 to 1000 (default: 100)")
      ->check(positive(1'000));
  command
      .add_option("--payload", options->payload, "Bytes of a payload, at least 18 (default: 200)")
      ->check(CLI::Range(kLeastPayload, std::size_t{1} << 20));
  command.add_option("--queues", options->queues, "New queues to spread them over (default: 1)")
      ->check(positive(1'000));
  add_duration(command, "--retention", options->retention,
               "How long ended jobs are kept (default: 0, nothing is left behind)");
  command.footer(
      "Latencies are of a batch where batches are sent, of a job where jobs are counted. A "
      "lifecycle\n"
      "is a job submitted, claimed and completed, each answered only when it is on disk.\n\n"
      "Examples:\n"
      "  millrace bench roundtrip --jobs 500000 --producers 8 --workers 8 --batch 100\n"
      "  millrace bench roundtrip --jobs 20000 --batch 1 -o json | jq .lifecycles_per_s");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
