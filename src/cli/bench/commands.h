// The sub-commands of `bench`, and the options shared by two of them.
#pragma once

#include <cstdint>
#include <optional>

#include <CLI/App.hpp>

#include "cli/bench/load.h"
#include "cli/session.h"

namespace millrace::cli {

void add_bench_submit(CLI::App& bench, Session& session);
void add_bench_roundtrip(CLI::App& bench, Session& session);
void add_bench_latency(CLI::App& bench, Session& session);
void add_bench_delayed(CLI::App& bench, Session& session);
void add_bench_idle(CLI::App& bench, Session& session);

// How much to submit: --jobs or --duration, or both, whichever is reached first.
struct JobsOrDuration {
  std::uint64_t default_jobs = 0;
  std::optional<std::uint64_t> jobs{};
  std::optional<sdk::Milliseconds> duration{};

  void apply(LoadPlan& plan) const;
};
void add_amount(CLI::App& command, JobsOrDuration& amount);

}  // namespace millrace::cli
