// A handler's reports that have not been sent yet. Shared by the handler's thread and the sending
// threads.
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
  Growth grown;
  std::vector<SlowDown> wishes;  // at most one per limit
  StopReason reason = StopReason::kNone;
  std::shared_ptr<const std::atomic<bool>> worker_stops;  // may be null

  std::vector<WorkerLogLine> take_logs(std::size_t at_most);
  bool has_progress();
  // Moves the new progress into `beat`, as far as the server's limits for one heartbeat allow.
  void take_progress(Heartbeat& beat);
};

// Runs the job's handler and determines the outcome of the attempt: from the handler's return value
// or exception, and from what it was told. A success includes what the handler enqueued and
// grew.
Outcome run_handler(const Handlers& handlers, Context& context);

}  // namespace millrace::sdk
