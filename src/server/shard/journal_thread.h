// The thread that appends to the journal, one row at a time, and trims it between appends.
#pragma once

#include <chrono>
#include <functional>
#include <thread>
#include <variant>

#include "base/log.h"
#include "base/mutex.h"
#include "store/journal.h"

namespace millrace::server {

class JournalThread {
 public:
  // Called on the journal's thread.
  using Done = std::function<void(store::AppendResult result, std::chrono::nanoseconds took)>;

  JournalThread(store::Journal& journal, Done done, Logger log);
  ~JournalThread();  // stops
  JournalThread(const JournalThread&) = delete;
  JournalThread& operator=(const JournalThread&) = delete;

  // Finishes the current append and joins. Must be called from one thread.
  void stop();

  // `row` must stay valid until `done` is called. At most one append may be pending. After a
  // failure the next append is delayed, longer each time.
  void append(const store::JournalRow* row);

  // Allows rows below `below` to be trimmed. This happens between appends, in small steps.
  void trim_below(Seq below);

  // While one exists, nothing is trimmed; used by a backup.
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

  struct Append {
    const store::JournalRow* row;
  };
  struct TrimBite {
    Seq target;
  };
  struct Stop {};
  using Task = std::variant<Append, TrimBite, Stop>;

  void run();
  Task next_task();
  void perform(Append append);
  void perform(TrimBite bite);
  void note(const store::AppendResult& result, int failures_before) const;

  store::Journal& journal_;
  const Done done_;
  const Logger log_;

  Mutex mutex_;
  WaitCondition wake_;
  WaitCondition bite_done_;
  const store::JournalRow* row_ MILLRACE_GUARDED_BY(mutex_) = nullptr;
  Seq trim_target_ MILLRACE_GUARDED_BY(mutex_){};
  Seq trimmed_ MILLRACE_GUARDED_BY(mutex_){};  // no rows below are left
  int holds_ MILLRACE_GUARDED_BY(mutex_) = 0;
  bool biting_ MILLRACE_GUARDED_BY(mutex_) = false;
  bool stopping_ MILLRACE_GUARDED_BY(mutex_) = false;

  // Only for the journal's thread.
  int failures_ = 0;              // consecutive
  Clock::time_point not_before_;  // for the next append
  Clock::time_point next_bite_;   // the latest time for the next step, if appends leave no gap

  std::thread thread_;  // last: it starts once all other members exist
};

}  // namespace millrace::server
