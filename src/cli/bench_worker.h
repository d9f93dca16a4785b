// One connection that claims jobs and completes them.
#pragma once

#include <string>
#include <vector>

#include "cli/bench_shared.h"

namespace millrace::cli {

// The queues that a worker serves, in the groups in which its claims name them one after the other:
// all in one, where a claim can name so many, each worker preferring another; else its share.
std::vector<std::vector<std::string>> claimed_queues(const LoadPlan& plan, int index);

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
  void next_group();
  void settle();
  void take(std::string_view answer);
  bool fail(Error error);

  LoadShared& shared_;
  std::string id_;
  // One a group of queues, in turn.
  std::vector<std::string> claims_;
  std::size_t next_claim_ = 0;
  std::size_t empty_claims_ = 0;  // in a row
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
