// The thread that appends: one row at a time, durable or not, and trims between rows.
#pragma once

#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <thread>

#include "base/log.h"
#include "store/journal.h"

namespace millrace::server {

class JournalThread {
 public:
  // Called on the journal's thread.
  using Done = std::function<void(store::AppendResult result, std::chrono::nanoseconds took)>;

  JournalThread(store::Journal& journal, Done done, Logger log);
  // Finishes the append in hand, and joins.
  ~JournalThread();
  JournalThread(const JournalThread&) = delete;
  JournalThread& operator=(const JournalThread&) = delete;

  // `row` must hold until `done`; at most one at a time. After a failure the next one waits a
  // little, longer each time.
  void append(const store::JournalRow* row);

  // From now on rows below `below` may go; they do between appends, in small bites.
  void trim_below(Seq below);

  // While one is held nothing is trimmed: for a backup.
  class TrimHold {
   public:
    explicit TrimHold(JournalThread& owner);
    ~TrimHold();
    TrimHold(const TrimHold&) = delete;
    TrimHold& operator=(const TrimHold&) = delete;

   private:
    JournalThread& owner_;
  };

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  bool may_trim() const { return trim_target_ > trimmed_ && holds_ == 0; }
  // Both with `lock` held; they let go of it while they work.
  void append_waiting(std::unique_lock<std::mutex>& lock);
  void trim_bite(std::unique_lock<std::mutex>& lock);
  void note(const store::AppendResult& result);

  store::Journal& journal_;
  Done done_;
  Logger log_;

  std::mutex mutex_;
  std::condition_variable wake_;
  std::condition_variable bite_done_;
  const store::JournalRow* row_ = nullptr;
  Seq trim_target_{};
  Seq trimmed_{};  // nothing below is left
  int holds_ = 0;
  bool biting_ = false;
  bool stopping_ = false;
  int failures_ = 0;              // in a row
  Clock::time_point not_before_;  // of the next append
  Clock::time_point next_bite_;   // at the latest, when appends leave no gap

  std::thread thread_;  // last: starts when all else stands
};

}  // namespace millrace::server
