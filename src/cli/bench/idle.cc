// millrace bench idle: measures the cost of many waiting workers.
#include <fmt/format.h>

#include "cli/bench/commands.h"
#include "cli/bench/polls.h"
#include "cli/bench/run.h"
#include "cli/exit_code.h"
#include "cli/options.h"

namespace millrace::cli {
namespace {

using std::chrono::steady_clock;

constexpr int kOpenedAtOnce = 250;
constexpr std::chrono::milliseconds kHeldAtOnce{250};
constexpr std::chrono::seconds kWakeWithin{30};
// Keeps the cost of opening the last connections out of the cost of waiting.
constexpr std::chrono::seconds kSettle{1};

struct Idle {
  BenchSetup setup;
  int connections = 1'000;
  // Polls wait for half of this, since their renewal is part of the cost.
  std::optional<sdk::Milliseconds> duration = sdk::Milliseconds{60'000};
};

// The server's figures at three moments.
struct IdleFigures {
  ServerFigures before;
  ServerFigures opened;
  ServerFigures held;
  std::chrono::nanoseconds held_for() const { return held.at - opened.at; }
};

std::optional<double> cores_of(const IdleFigures& figures) {
  if (!figures.opened.cpu_seconds || !figures.held.cpu_seconds) return std::nullopt;
  return (*figures.held.cpu_seconds - *figures.opened.cpu_seconds) / seconds(figures.held_for());
}

void write_bytes(sdk::JsonWriter& json, std::string_view name, std::optional<double> bytes) {
  if (bytes) return write_count(json, name, static_cast<std::uint64_t>(*bytes));
  json.key(name).null();
}

std::string json_report(const Bench& bench, const IdlePolls& polls, const IdleFigures& figures) {
  sdk::JsonWriter json;
  bench.begin_report(json);
  json.key("connections").integer(polls.open());
  json.key("alive").integer(polls.woken());
  json.key("lost").integer(polls.lost());
  write_count(json, "polls_renewed", polls.polls_renewed());
  write_number(json, "seconds", seconds(figures.held_for()));
  json.key("queues").integer(bench.setup.queues);
  json.key("latency_ms").begin_object();
  write_latencies(json, "hand_out", polls.hand_out());
  json.end_object();
  json.key("server").begin_object();
  if (const auto cores = cores_of(figures)) {
    write_number(json, "cpu_percent_of_a_core", *cores * 100);
  } else {
    json.key("cpu_percent_of_a_core").null();
  }
  write_bytes(json, "resident_bytes_before", figures.before.resident_bytes);
  write_bytes(json, "resident_bytes", figures.held.resident_bytes);
  json.end_object().end_object();
  return json.take();
}

std::string table_report(const IdlePolls& polls, const IdleFigures& figures) {
  LatencyTable table("LATENCY");
  table.add("all woken at once, to the worker", polls.hand_out());
  std::string server = "The server does not report its memory and CPU.";
  const auto cores = cores_of(figures);
  if (cores && figures.before.resident_bytes && figures.held.resident_bytes) {
    server = fmt::format("The server: {:.2f} % of a core, {:.1f} MiB resident, {:.1f} MiB before.",
                         *cores * 100, *figures.held.resident_bytes / (1 << 20),
                         *figures.before.resident_bytes / (1 << 20));
  }
  return fmt::format(
      "{} workers in long poll for {:.0f} s: {} alive at the end, {} lost, {} polls repeated\n"
      "{}\n"
      "\n"
      "{}",
      polls.open(), seconds(figures.held_for()), polls.woken(), polls.lost(), polls.polls_renewed(),
      server, table.text());
}

Status open_all(IdlePolls& polls, ProgressLine& progress) {
  for (;;) {
    const auto more = polls.open_some(kOpenedAtOnce);
    if (!more) return std::unexpected(more.error());
    if (auto held = polls.hold_for(std::chrono::milliseconds{1}); !held) return held;
    progress.show(fmt::format("idle: {} long polls open", polls.open()));
    if (!*more) return polls.hold_for(kSettle);
  }
}

Result<IdleFigures> measure(const Idle& options, const Bench& bench, IdlePolls& polls) {
  ProgressLine progress;
  IdleFigures figures;
  figures.before = bench.server_figures();
  if (auto opened = open_all(polls, progress); !opened) return std::unexpected(opened.error());
  figures.opened = bench.server_figures();
  const auto end = figures.opened.at + *options.duration;
  for (auto now = figures.opened.at; now < end; now = steady_clock::now()) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - now);
    if (auto held = polls.hold_for(std::min(left, kHeldAtOnce)); !held) {
      return std::unexpected(held.error());
    }
    if (polls.lost() == polls.open()) return failure("bench lost every connection");
    progress.show(fmt::format("idle: {} long polls open, {} lost", polls.open(), polls.lost()));
  }
  figures.held = bench.server_figures();
  if (auto woken = polls.wake_all(kWakeWithin); !woken) return std::unexpected(woken.error());
  return figures;
}

void run(const Idle& options, Session& session) {
  // Must precede the server's start, since the server inherits the limit.
  if (auto allowed = allow_connections(options.connections); !allowed) {
    return session.fail(kFailure, allowed.error().message);
  }
  run_bench("idle", options.setup, session, [&](const Bench& bench) {
    IdlePolls polls({.address = bench.address,
                     .token = bench.client.token(),
                     .queues = bench.queues,
                     .connections = options.connections,
                     .payload_bytes = bench.setup.payload,
                     .stop = bench.stop});
    const auto figures = measure(options, bench, polls);
    if (!figures) {
      for (int i = 0; i < polls.open(); ++i) bench.say_goodbye(fmt::format("bench-idle-{}", i));
      return bench.fail(figures.error());
    }
    print_line(session.json() ? json_report(bench, polls, *figures)
                              : table_report(polls, *figures));
  });
}

}  // namespace

void add_bench_idle(CLI::App& bench, Session& session) {
  CLI::App& command =
      *bench.add_subcommand("idle", "Measure the cost of idle workers that hold long polls open");
  const auto options = std::make_shared<Idle>();
  command
      .add_option("--connections,--workers", options->connections,
                  fmt::format("Number of waiting workers (default: {})", options->connections))
      ->check(up_to(100'000));
  add_duration(command, "--duration", options->duration,
               "Time to hold the polls open (default: 60s)");
  add_queues(command, options->setup);
  add_own_server(command, options->setup);
  command.footer(
      "At the end the server hands each worker a job; a worker that gets its job counts as alive.\n"
      "Memory and CPU come from /metrics of the server. During the test, polls only time out "
      "after\n"
      "30 s and start again. The server's limits.connections must allow the connections.\n"
      "\n"
      "Examples:\n"
      "  millrace bench idle\n"
      "  millrace bench idle --connections 10000 --duration 10m\n"
      "  millrace bench idle -o json | jq .server");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
