// A mutex for Clang's thread-safety analysis: code that accesses a member with MILLRACE_GUARDED_BY
// without holding its mutex does not compile.
#pragma once

#include <chrono>
#include <condition_variable>
#include <mutex>

#ifdef __clang__
#define MILLRACE_THREAD_SAFETY(attribute) __attribute__((attribute))
#else
#define MILLRACE_THREAD_SAFETY(attribute)
#endif
#define MILLRACE_GUARDED_BY(mutex) MILLRACE_THREAD_SAFETY(guarded_by(mutex))
#define MILLRACE_REQUIRES(...) MILLRACE_THREAD_SAFETY(exclusive_locks_required(__VA_ARGS__))

namespace millrace {

class MILLRACE_THREAD_SAFETY(lockable) Mutex {
 public:
  void lock() MILLRACE_THREAD_SAFETY(exclusive_lock_function()) { mutex_.lock(); }
  void unlock() MILLRACE_THREAD_SAFETY(unlock_function()) { mutex_.unlock(); }

 private:
  std::mutex mutex_;
};

class MILLRACE_THREAD_SAFETY(scoped_lockable) MutexLock {
 public:
  explicit MutexLock(Mutex& mutex) MILLRACE_THREAD_SAFETY(exclusive_lock_function(mutex))
      : mutex_(mutex) {
    mutex_.lock();
  }
  ~MutexLock() MILLRACE_THREAD_SAFETY(unlock_function()) { mutex_.unlock(); }
  MutexLock(const MutexLock&) = delete;
  MutexLock& operator=(const MutexLock&) = delete;

 private:
  Mutex& mutex_;
};

// Waits, releasing the held mutex meanwhile. Callers must loop over their condition.
class WaitCondition {
 public:
  void wait(Mutex& mutex) MILLRACE_REQUIRES(mutex) { condition_.wait(mutex); }
  // False: the deadline has passed.
  template <typename Clock, typename Duration>
  bool wait_until(Mutex& mutex, std::chrono::time_point<Clock, Duration> deadline)
      MILLRACE_REQUIRES(mutex) {
    return condition_.wait_until(mutex, deadline) == std::cv_status::no_timeout;
  }
  void notify_one() { condition_.notify_one(); }
  void notify_all() { condition_.notify_all(); }

 private:
  std::condition_variable_any condition_;
};

}  // namespace millrace
