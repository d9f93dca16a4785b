// One connection that claims jobs and completes them.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_shared.h"

namespace millrace::cli {

// All queues; each worker prefers another, so that all are drained alike.
std::vector<std::string> preferred_queues(const LoadPlan& plan, int index);

class BenchWorker {
 public:
  BenchWorker(LoadShared& shared, int index);

  Status open() { return connection_.open(shared_.plan.address); }
  // From any thread.
  void abort() { connection_.abort(); }
  void run();

  // Adds what it measured.
  void report(LoadResult& result) const;

 private:
  bool exchange(const std::string& head, const std::string& body);
  void settle();
  void take(std::string_view answer);
  bool fail(Error error);

  LoadShared& shared_;
  std::string id_;
  std::string claim_;
  std::string acks_;
  std::vector<std::uint64_t> stamps_us_;  // of the jobs held, which acks_ acknowledges
  LoadShared::Instant claimed_at_;
  BenchConnection connection_;
  Histogram hand_out_;
  Histogram claim_to_ack_;
  Histogram end_to_end_;
  std::uint64_t early_ = 0;
};

}  // namespace millrace::cli
