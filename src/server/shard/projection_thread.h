// The thread that writes the tables: flushes as they come, syncs from time to time, and once a
// second does all other periodic work that may block on the disk (`chores`).
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include "base/log.h"
#include "base/mutex.h"
#include "engine/shard/shard.h"
#include "server/shard/flush_semaphore.h"
#include "store/tables.h"

namespace millrace::server {

class ProjectionThread {
 public:
  // All are called on the projection's thread.
  struct Hooks {
    std::function<void(Status status, const engine::Flush& flush, std::chrono::nanoseconds took)>
        flushed;
    // All rows up to `seq` are synced in the tables.
    std::function<void(Seq seq)> synced;
    std::function<void()> chores;
  };

  ProjectionThread(store::Tables& tables, Seq synced, Hooks hooks, Logger log);
  ~ProjectionThread();  // stops
  ProjectionThread(const ProjectionThread&) = delete;
  ProjectionThread& operator=(const ProjectionThread&) = delete;

  // Finishes the current flush, syncs, and joins. Must be called from one thread.
  void stop();

  // At most one flush may be pending. After a failure the next one is delayed, longer each time.
  // `turn` is given back when the flush ends.
  void flush(engine::Flush flush, std::unique_ptr<FlushSemaphore::Permit> turn);

 private:
  using Clock = std::chrono::steady_clock;

  enum class Task { kFlush, kChores, kSync, kStop };
  struct Waiting {
    engine::Flush flush;
    std::unique_ptr<FlushSemaphore::Permit> turn;
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

  // Only for the projection's thread.
  Seq projected_{};
  Seq synced_{};
  int failures_ = 0;  // consecutive
  Clock::time_point not_before_;
  Clock::time_point next_sync_;
  Clock::time_point next_chores_;

  std::thread thread_;  // last: it starts once all other members exist
};

}  // namespace millrace::server
