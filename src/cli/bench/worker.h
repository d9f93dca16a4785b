// A connection that claims jobs and completes them.
#pragma once

#include <string>
#include <vector>

#include "cli/bench/shared.h"

namespace millrace::cli {

// The queues that a worker serves, in groups; its claims name one group after another. If one claim
// can name all queues, there is one group, and each worker starts with a different queue; otherwise
// the queues are divided among the workers.
std::vector<std::vector<std::string>> claimed_queues(const LoadPlan& plan, int index);

class BenchWorker {
 public:
  BenchWorker(LoadShared& shared, int index);

  Status open() { return connection_.open(shared_.plan.address); }
  // Thread-safe.
  void abort() { connection_.abort(); }
  void run();

  // Adds its measurements.
  void report(LoadResult& result) const;

 private:
  bool exchange(const std::string& head, const std::string& body);
  void next_group();
  void settle();
  void take(std::string_view answer);
  bool fail(Error error);

  LoadShared& shared_;
  std::string id_;
  // One claim for each group of queues, used in turn.
  std::vector<std::string> claims_;
  std::size_t next_claim_ = 0;
  std::size_t empty_claims_ = 0;  // consecutive
  std::string acks_;
  std::vector<std::uint64_t> stamps_us_;  // of the held jobs, whose completions are in acks_
  LoadShared::Instant claimed_at_;
  BenchConnection connection_;
  Histogram hand_out_;
  Histogram claim_to_ack_;
  Histogram end_to_end_;
  std::uint64_t early_ = 0;
};

}  // namespace millrace::cli
