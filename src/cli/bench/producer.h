// A connection that submits jobs until all are submitted.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/bench/shared.h"

namespace millrace::cli {

class BenchProducer {
 public:
  BenchProducer(LoadShared& shared, int index);

  Status open() { return connection_.open(shared_.plan.address); }
  // Thread-safe.
  void abort() { connection_.abort(); }
  void run();

  const Histogram& latencies() const { return latencies_; }

 private:
  using Jobs = std::vector<std::uint64_t>;  // their numbers

  bool submit(LoadShared::Taken taken);
  // Sends the jobs in one call; returns those that were temporarily refused.
  Result<Jobs> send(const Jobs& jobs, std::optional<LoadShared::Instant> due);
  JobsBody& next_body(int jobs);
  std::optional<LoadShared::Instant> due(LoadShared::Taken taken) const;
  void stamp(JobsBody& body, const Jobs& jobs, std::optional<LoadShared::Instant> due) const;
  void count_answer(std::size_t jobs, LoadShared::Instant began);
  bool fail(Error error);

  LoadShared& shared_;
  std::vector<std::size_t> queues_;  // the queues it submits to, in turn
  std::vector<JobsBody> bodies_;     // a full batch for each of them
  std::size_t next_ = 0;
  std::optional<JobsBody> last_;  // for the last batch, which may be smaller
  BenchConnection connection_;
  Histogram latencies_;
};

}  // namespace millrace::cli
