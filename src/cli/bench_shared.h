// What all threads of a load share: how far it is, and whether it is over.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "cli/bench_load.h"

namespace millrace::cli {

constexpr std::chrono::milliseconds kPauseAfterRefusal{50};

class LoadShared {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  explicit LoadShared(const LoadPlan& load_plan)
      : plan(load_plan), to_do(load_plan.jobs), untaken_(load_plan.jobs) {}

  const LoadPlan& plan;
  std::atomic<std::uint64_t> to_do;  // jobs in all; fewer once submissions have ended early
  std::atomic<std::uint64_t> submitted{0};
  std::atomic<std::uint64_t> claimed{0};
  std::atomic<std::uint64_t> completed{0};
  std::atomic<std::uint64_t> refused{0};
  std::atomic<std::uint64_t> submitted_late{0};
  std::atomic<bool> is_over{false};
  Instant start;  // set before any thread runs

  struct Taken {
    std::uint64_t first = 0;  // the number of the first job
    int jobs = 0;             // 0: all are taken
  };
  Taken take();
  // No more is submitted than was taken.
  void stop_taking();

  // The time that payloads carry: of the wall where jobs are delayed to instants of it.
  std::uint64_t now_us() const;

  // False where the load is over before.
  bool sleep_until(Instant instant);
  // Until it is over or the instant has come.
  void wait_until(Instant instant);

  void sent(Instant now);
  void submission_answered(Instant now, std::uint64_t jobs);
  void completion_answered(Instant now, std::uint64_t jobs);
  std::chrono::nanoseconds submit_took() const;
  std::chrono::nanoseconds took() const;

  void fail(Error reason);
  void finish_if_done();
  std::optional<Error> error();

 private:
  std::atomic<std::uint64_t> untaken_;
  std::atomic<std::int64_t> first_sent_ns_{0};
  std::atomic<std::int64_t> last_submission_ns_{0};
  std::atomic<std::int64_t> last_completion_ns_{0};
  std::mutex mutex_;
  std::condition_variable over_;
  std::optional<Error> error_;  // the first
};

}  // namespace millrace::cli
