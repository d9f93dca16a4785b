// The few threads on which reads of the tables block, so that no I/O thread does.
#pragma once

#include <condition_variable>
#include <coroutine>
#include <cstddef>
#include <deque>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>
#include <utility>
#include <vector>

#include "http/answer_port.h"

namespace millrace::http {

class ReaderPool {
 public:
  explicit ReaderPool(std::size_t threads);
  ~ReaderPool() { stop(); }
  ReaderPool(const ReaderPool&) = delete;
  ReaderPool& operator=(const ReaderPool&) = delete;

  // Any thread. After stop() nothing is run any more.
  void run(std::function<void()> work);
  // Ends the threads once they are through with what they do; what waits is dropped.
  void stop();

 private:
  void loop();

  std::mutex mutex_;
  std::condition_variable ready_;
  std::deque<std::function<void()>> waiting_;  // guarded by mutex_
  bool stopping_ = false;                      // guarded by mutex_
  std::vector<std::thread> threads_;
};

// co_await Blocking(pool, port, function): runs `function` on the pool and gives what it returns,
// back on the I/O thread. The function must outlive the wait.
template <typename Function>
class Blocking {
 public:
  using Value = std::invoke_result_t<Function&>;

  Blocking(ReaderPool& pool, AnswerPort& port, Function& function)
      : pool_(pool), port_(port), function_(function) {}
  Blocking(const Blocking&) = delete;
  Blocking& operator=(const Blocking&) = delete;

  bool await_ready() const { return false; }
  void await_suspend(std::coroutine_handle<> handle) {
    pool_.run([this, handle] {
      value_.emplace(function_());
      port_.resume(handle);
    });
  }
  Value await_resume() { return std::move(*value_); }

 private:
  ReaderPool& pool_;
  AnswerPort& port_;
  Function& function_;
  std::optional<Value> value_;
};

}  // namespace millrace::http
