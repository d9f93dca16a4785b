// The thread that writes the tables: flushes as they come, a sync now and then, and once a second
// whatever else is regular and may wait for the disk (`chores`).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/shard.h"
#include "server/flush_turns.h"
#include "store/tables.h"

namespace millrace::server {

class ProjectionThread {
 public:
  // All called on the projection's thread.
  struct Hooks {
    std::function<void(Status status, const engine::Flush& flush, std::chrono::nanoseconds took)>
        flushed;
    // Everything up to `seq` is synced in the tables.
    std::function<void(Seq seq)> synced;
    std::function<void()> chores;
  };

  ProjectionThread(store::Tables& tables, Seq synced, Hooks hooks, Logger log);
  ~ProjectionThread();  // stops
  ProjectionThread(const ProjectionThread&) = delete;
  ProjectionThread& operator=(const ProjectionThread&) = delete;

  // Finishes the flush in hand, syncs, and joins. From one thread.
  void stop();

  // At most one at a time. After a failure the next one waits a little, longer each time. `turn`
  // ends with it.
  void flush(engine::Flush flush, std::unique_ptr<FlushTurns::Place> turn);

 private:
  using Clock = std::chrono::steady_clock;

  enum class Task { kFlush, kChores, kSync, kStop };
  struct Waiting {
    engine::Flush flush;
    std::unique_ptr<FlushTurns::Place> turn;
  };

  void run();
  Task next_task();
  void flush_waiting();
  void sync();

  store::Tables& tables_;
  const Hooks hooks_;
  const Logger log_;

  Mutex mutex_;
  WaitCondition wake_;
  std::optional<Waiting> waiting_ MILLRACE_GUARDED_BY(mutex_);
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;

  // The thread's own.
  Seq projected_{};
  Seq synced_{};
  int failures_ = 0;  // in a row
  Clock::time_point not_before_;
  Clock::time_point next_sync_;
  Clock::time_point next_chores_;

  std::thread thread_;  // last: starts when all else stands
};

}  // namespace millrace::server
