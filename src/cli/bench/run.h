// The steps common to all benches: find or start a server, create the bench's queues, fill them
// with a backlog if requested, and clean up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "cli/bench/load.h"
#include "cli/bench/report.h"
#include "cli/session.h"

namespace millrace::cli {

// Options common to most benches.
struct BenchSetup {
  int producers = 8;
  int workers = 8;
  int batch = 100;
  std::size_t payload = 200;
  int queues = 1;
  std::uint64_t backlog = 0;
  std::optional<sdk::Milliseconds> retention = sdk::Milliseconds{0};
  std::string data{};
  std::string memory{};  // like `serve --memory`; empty: its default
  bool keep = false;     // the jobs are not deleted
  bool uses_sdk = false;
  // Settings of each queue's gates, too wide to hold back a job: the bench measures their cost. 0:
  // none.
  std::uint64_t concurrency = 0;
  std::uint64_t rate = 0;  // starts a second
  std::uint64_t fair_keys = 0;
};

// Each adds one group of options to a command, with the defaults in `setup`.
void add_producers(CLI::App& command, BenchSetup& setup);  // --producers, also --connections
void add_workers(CLI::App& command, BenchSetup& setup);
void add_batch(CLI::App& command, BenchSetup& setup);
void add_sdk(CLI::App& command, BenchSetup& setup);
void add_queues(CLI::App& command, BenchSetup& setup);  // --payload, --queues, --retention
void add_flow(CLI::App& command, BenchSetup& setup);    // --concurrency, --rate, --fair-keys
void add_backlog(CLI::App& command, BenchSetup& setup);
void add_own_server(CLI::App& command, BenchSetup& setup);  // --data, --memory

// The context of a running bench.
struct Bench {
  Session& session;
  sdk::Client& client;
  const BenchSetup& setup;
  std::string_view name;
  ServerAddress address;
  std::vector<std::string> queues;  // created for this run
  std::stop_token stop;             // set when the bench should end early
  bool is_own_server = false;

  // The load on these queues; the caller sets the jobs, the rate and so on.
  LoadPlan plan() const;
  ServerFigures server_figures() const;
  // Writes the first members of every report.
  void begin_report(sdk::JsonWriter& json) const;
  // Tells the server that a worker has ended, so that it is no longer listed. Errors are ignored.
  void say_goodbye(std::string_view worker) const;
  // Prints the error, or that the bench was interrupted.
  void fail(const Error& error) const;
};

// Runs `body` between setup and cleanup. Failures of these two are printed on standard error.
void run_bench(std::string_view name, const BenchSetup& setup, Session& session,
               const std::function<void(const Bench&)>& body);

// Positive numbers up to `most`.
CLI::Range up_to(std::uint64_t most);

}  // namespace millrace::cli
