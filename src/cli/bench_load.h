// The load of `bench roundtrip`: producers that submit batches, workers that claim batches and
// acknowledge the last one with the next claim.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "base/result.h"
#include "cli/bench_connection.h"
#include "cli/histogram.h"

namespace millrace::cli {

struct LoadPlan {
  ServerAddress address;
  std::string token;
  std::vector<std::string> queues;  // must be there already, and empty
  std::uint64_t jobs = 0;
  int producers = 0;
  int workers = 0;
  int batch = 0;
  std::size_t payload_bytes = 0;  // as JSON, quotes included
};

struct LoadResult {
  std::chrono::nanoseconds took{
      0};  // from the first submission sent to the last completion answered
  std::uint64_t submissions_refused = 0;  // for now, with 429 or 503, and sent again
  Histogram submit;                       // one batch: sent to answered
  Histogram claim_to_ack;                 // one job: handed out to completion answered
  Histogram end_to_end;                   // one job: submission sent to completion answered
};

// The least that a payload must have room for: its quotes and the time of its submission.
constexpr std::size_t kLeastPayload = 18;

using OnProgress = std::function<void(std::uint64_t submitted, std::uint64_t completed)>;

// Runs it all on threads of its own; `on_progress` is called a few times a second meanwhile.
Result<LoadResult> run_load(const LoadPlan& plan, const OnProgress& on_progress);

}  // namespace millrace::cli
