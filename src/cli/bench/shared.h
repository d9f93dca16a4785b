// The state shared by all threads of a load: its progress, and whether it is over.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>

#include "base/result.h"
#include "cli/bench/load.h"

namespace millrace::cli {

constexpr std::chrono::milliseconds kPauseAfterRefusal{50};

class LoadShared {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  explicit LoadShared(const LoadPlan& load_plan)
      : plan(load_plan), to_do(load_plan.jobs), untaken_(load_plan.jobs) {}

  const LoadPlan& plan;
  std::atomic<std::uint64_t> to_do;  // jobs in total; fewer after submissions have ended early
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
  // Ends submissions: only the jobs taken so far count.
  void stop_taking();

  // The time written to payloads: wall-clock time if jobs are delayed, since run_at is wall-clock
  // time.
  std::uint64_t now_us() const;

  // False: the load ended before `instant`.
  bool sleep_until(Instant instant);
  // Returns when the load is over or `instant` has come.
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
  std::optional<Error> error_;  // the first one
};

}  // namespace millrace::cli
