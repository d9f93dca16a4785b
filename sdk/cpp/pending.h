// What a handler has reported and nobody has sent yet. Shared by the handler's thread and those
// that send.
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "millrace/handler.h"
#include "trace.h"

namespace millrace::sdk {

struct Context::Pending {
  std::mutex mutex;  // guards everything but `worker_stops`
  std::deque<WorkerLogLine> logs;
  std::size_t log_bytes = 0;
  std::optional<Progress> progress;
  std::string checkpoint;
  std::vector<NewJob> enqueued;
  std::vector<SlowDown> wishes;  // at most one a limit
  StopReason reason = StopReason::kNone;
  std::shared_ptr<const std::atomic<bool>> worker_stops;  // may be null

  std::vector<WorkerLogLine> take_logs(std::size_t at_most);
  bool has_progress();
  // Moves the new progress into `beat`, as much as the server accepts in one.
  void take_progress(Heartbeat& beat);
};

// Runs the handler of the job, and says how the attempt ends: what the handler returned or threw,
// and what it was told, decide. With the jobs that it enqueued, if it succeeded.
Outcome run_handler(const Handlers& handlers, Context& context);

}  // namespace millrace::sdk
