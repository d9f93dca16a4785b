// An SDK worker in place of the load generator's own. It measures the combined performance of the
// server and a real program, including the library's share of the CPU.
#pragma once

#include <mutex>
#include <stop_token>
#include <string>
#include <unordered_map>

#include "cli/bench/shared.h"
#include "millrace/worker.h"

namespace millrace::cli {

// Has the same members as BenchWorker. It works on up to one batch of jobs at a time.
class BenchSdkWorker {
 public:
  BenchSdkWorker(LoadShared& shared, int index) : shared_(shared), index_(index) {}

  Status open() { return {}; }  // the first polls open the connections
  // Thread-safe.
  void abort() { stop_.request_stop(); }
  void run();

  // Adds its measurements.
  void report(LoadResult& result) const;

 private:
  struct Held {
    std::uint64_t stamp_us = 0;
    LoadShared::Instant claimed_at;
  };

  sdk::Outcome take(const sdk::ClaimedJob& job);
  void settle(const sdk::Ack& ack);

  LoadShared& shared_;
  int index_;
  std::stop_source stop_;

  std::mutex mutex_;  // guards everything below
  std::unordered_map<std::string, Held> held_;
  Histogram hand_out_;
  Histogram claim_to_ack_;
  Histogram end_to_end_;
  std::uint64_t early_ = 0;
};

}  // namespace millrace::cli
