// What every bench does before and after: find a server or start one, make queues of its own, fill
// them with a backlog where that is asked for, and tidy up.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include <CLI/App.hpp>

#include "cli/bench_load.h"
#include "cli/bench_report.h"
#include "cli/session.h"

namespace millrace::cli {

// Options that most benches have.
struct BenchSetup {
  int producers = 8;
  int workers = 8;
  int batch = 100;
  std::size_t payload = 200;
  int queues = 1;
  std::uint64_t backlog = 0;
  std::optional<sdk::Milliseconds> retention = sdk::Milliseconds{0};
  std::string data{};
  std::string memory{};  // as `serve --memory` has it; empty: its default
  bool keep = false;     // the jobs stay where they are
  bool uses_sdk = false;
};

// Each adds one group of them to a command, its defaults named as they stand in `setup`.
void add_producers(CLI::App& command, BenchSetup& setup);  // --producers, also --connections
void add_workers(CLI::App& command, BenchSetup& setup);
void add_batch(CLI::App& command, BenchSetup& setup);
void add_sdk(CLI::App& command, BenchSetup& setup);
void add_queues(CLI::App& command, BenchSetup& setup);  // --payload, --queues, --retention
void add_backlog(CLI::App& command, BenchSetup& setup);
void add_own_server(CLI::App& command, BenchSetup& setup);  // --data, --memory

// What a bench gets to work with.
struct Bench {
  Session& session;
  sdk::Client& client;
  const BenchSetup& setup;
  std::string_view name;
  ServerAddress address;
  std::vector<std::string> queues;  // new ones
  std::stop_token stop;             // somebody wants it to end
  bool is_own_server = false;

  // Of the load on these queues; jobs, rate and the like are the caller's.
  LoadPlan plan() const;
  ServerFigures server_figures() const;
  // The members that every report begins with.
  void begin_report(sdk::JsonWriter& json) const;
  // Says of a worker that it has ended, so that the server lists it no more. Nothing depends on it.
  void say_goodbye(std::string_view worker) const;
  // Says what went wrong, or that it was interrupted.
  void fail(const Error& error) const;
};

// Runs `body` between the two; says on standard error where it could not begin, or not tidy up.
void run_bench(std::string_view name, const BenchSetup& setup, Session& session,
               const std::function<void(const Bench&)>& body);

// Positive numbers up to `most`.
CLI::Range up_to(std::uint64_t most);

}  // namespace millrace::cli
