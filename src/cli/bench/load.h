// The load of most benches: producers that submit jobs, and workers that claim them and acknowledge
// the last batch with the next claim. Each has its own thread and connection.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "base/result.h"
#include "base/time.h"
#include "cli/bench/connection.h"
#include "cli/bench/wire.h"
#include "cli/histogram.h"
#include "millrace/client.h"

namespace millrace::cli {

// Every job is delayed to a random instant; the same seed gives the same instants.
struct Delays {
  Time first{};
  Duration span{0};
  std::uint64_t seed = 0;

  // For the job with this number.
  Time due(std::uint64_t job) const;
};

struct LoadPlan {
  ServerAddress address;
  std::string token;
  std::vector<std::string> queues;  // must exist already
  std::uint64_t jobs = 0;
  int producers = 0;
  int workers = 0;  // 0: jobs are only submitted
  int batch = 0;
  std::size_t payload_bytes = kLeastPayload;  // as JSON, quotes included
  std::string type = "bench";
  int priority = 0;
  std::uint64_t fair_keys = 0;  // the jobs use this many keys in turn; 0: jobs without one
  bool claims_by_type = false;  // for queues that hold other jobs too
  // Set: SDK workers are used, each of which works on one batch at a time.
  sdk::Client* sdk_client = nullptr;

  // Jobs a second: the n-th is due n/rate after the start. Latencies count from then, even if no
  // producer was free to send it. 0: each producer sends as soon as its last request was answered.
  double rate = 0;
  std::optional<Delays> delays{};
  std::optional<std::chrono::nanoseconds> submit_for{};          // when submissions end
  std::chrono::nanoseconds patience = std::chrono::seconds{30};  // without any progress
  std::stop_token stop{};
};

struct LoadResult {
  std::uint64_t submitted = 0;
  std::uint64_t completed = 0;
  // Submissions refused for now, with 429 or 503, wholly or in part; the refused jobs were sent
  // again.
  std::uint64_t submissions_refused = 0;
  std::uint64_t early = 0;                  // jobs handed out before they were due
  std::uint64_t submitted_late = 0;         // delayed jobs acknowledged after the first was due
  std::chrono::nanoseconds submit_took{0};  // first submission sent to last one answered
  std::chrono::nanoseconds took{0};         // first submission sent to last completion answered
  Histogram submit;                         // one submission: due (else sent) to answered
  // One job: due (else its submission sent) to received by the worker.
  Histogram hand_out;
  Histogram claim_to_ack;  // one job: handed out to completion answered
  Histogram end_to_end;    // one job: due (else its submission sent) to completion answered
};

using OnProgress = std::function<void(std::uint64_t submitted, std::uint64_t completed)>;

// Calls `on_progress` a few times a second.
Result<LoadResult> run_load(const LoadPlan& plan, const OnProgress& on_progress);

}  // namespace millrace::cli
