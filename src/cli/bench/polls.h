// Many workers in long poll on one thread. Their connections are opened and kept waiting. At the
// end each gets one job, which shows that it was alive.
#pragma once

#include <chrono>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "cli/bench/connection.h"
#include "cli/bench/wire.h"
#include "cli/histogram.h"

namespace millrace::cli {

struct IdlePlan {
  ServerAddress address;
  std::string token;
  std::vector<std::string> queues;  // worker n waits at queue n modulo the number of queues
  int connections = 0;
  int poll_wait_ms = 30'000;
  std::size_t payload_bytes = kLeastPayload;
  std::stop_token stop{};
};

class IdlePolls {
 public:
  explicit IdlePolls(IdlePlan plan);
  ~IdlePolls();
  IdlePolls(const IdlePolls&) = delete;
  IdlePolls& operator=(const IdlePolls&) = delete;

  // Opens the next `count` connections and sends their polls; false: all are open.
  Result<bool> open_some(int count);
  // Handles answers for `duration`: a poll that ends without a job is sent again.
  Status hold_for(std::chrono::milliseconds duration);
  // Submits a job for each worker and waits until each has completed one, at most `within`.
  Status wake_all(std::chrono::milliseconds within);

  int open() const { return static_cast<int>(workers_.size()); }
  int lost() const { return lost_; }    // connections that broke or were refused
  int woken() const { return woken_; }  // workers that got a job
  std::uint64_t polls_renewed() const { return polls_renewed_; }
  const Histogram& hand_out() const { return hand_out_; }  // submission to receipt

 private:
  struct Worker {
    explicit Worker(std::size_t receive_bytes) : connection(receive_bytes) {}
    BenchConnection connection;
    std::string head;
    std::string claim;
    bool is_done = false;  // lost, or its job is completed
    bool has_job = false;
  };

  Status open_one();
  void handle(Worker& worker);
  void take(Worker& worker, std::string_view answer);
  void lose(Worker& worker);
  Status submit_jobs();
  bool all_done() const { return done_ == open(); }

  IdlePlan plan_;
  int epoll_ = -1;
  std::vector<std::unique_ptr<Worker>> workers_;
  BenchConnection submitter_;
  Histogram hand_out_;
  std::uint64_t polls_renewed_ = 0;
  int lost_ = 0;
  int woken_ = 0;
  int done_ = 0;
};

// Raises the limit of open files as far as the system permits. If that is not enough for
// `connections`, the error says what to do.
Status allow_connections(int connections);

}  // namespace millrace::cli
