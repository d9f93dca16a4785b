// Task: a coroutine that runs on one thread. It is lazy: it runs when awaited or started. Its owner
// destroys its frame. When it ends, it resumes its awaiter directly, without a queue.
//
// GCC 12 destroys some temporaries within a co_await expression twice. So the expression must have
// no temporary with a destructor: no conversions, no arguments passed by value, no capturing
// lambdas. Make named locals first, and let tasks take references: the awaiter's frame keeps the
// locals.
#pragma once

#include <coroutine>
#include <cstddef>
#include <cstdlib>
#include <optional>
#include <utility>

#include "service/frame_pool.h"

namespace millrace::service {

template <typename T>
class Task;

namespace internal {

// When a task ends, it resumes its awaiter, unless it ended within the awaiter's own call: then the
// awaiter has not suspended yet and simply continues. So a loop over tasks that end at once does
// not grow the stack.
struct TaskPromiseBase {
  std::coroutine_handle<> awaiter;
  bool done = false;

  struct Final {
    bool await_ready() noexcept { return false; }
    template <typename Promise>
    void await_suspend(std::coroutine_handle<Promise> self) noexcept {
      TaskPromiseBase& promise = self.promise();
      promise.done = true;
      if (promise.awaiter) promise.awaiter.resume();  // may destroy this frame
    }
    void await_resume() noexcept {}
  };

  static void* operator new(std::size_t bytes) { return FramePool::take(bytes); }
  static void operator delete(void* frame, std::size_t bytes) noexcept {
    FramePool::give_back(frame, bytes);
  }

  std::suspend_always initial_suspend() noexcept { return {}; }
  Final final_suspend() noexcept { return {}; }
  // No exception crosses our interfaces; one thrown by the library (out of memory) ends the
  // process.
  [[noreturn]] void unhandled_exception() noexcept { std::abort(); }
};

template <typename T>
struct TaskPromise : TaskPromiseBase {
  std::optional<T> value;
  Task<T> get_return_object();
  void return_value(T result) { value.emplace(std::move(result)); }
};

template <>
struct TaskPromise<void> : TaskPromiseBase {
  Task<void> get_return_object();
  void return_void() {}
};

}  // namespace internal

template <typename T = void>
class [[nodiscard]] Task {
 public:
  using promise_type = internal::TaskPromise<T>;
  using Handle = std::coroutine_handle<promise_type>;

  Task() = default;
  explicit Task(Handle handle) : handle_(handle) {}
  Task(Task&& other) noexcept : handle_(std::exchange(other.handle_, {})) {}
  Task& operator=(Task&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
  }
  ~Task() {
    if (handle_) handle_.destroy();
  }

  // Runs the task up to its first suspension; a later await runs the rest. Call at most once.
  void start() {
    started_ = true;
    handle_.resume();
  }
  bool done() const { return handle_.promise().done; }

  bool await_ready() const { return started_ && done(); }
  bool await_suspend(std::coroutine_handle<> awaiter) {
    if (!started_) {
      start();
      if (done()) return false;
    }
    handle_.promise().awaiter = awaiter;
    return true;
  }
  T await_resume() {
    if constexpr (!std::is_void_v<T>) return std::move(*handle_.promise().value);
  }

 private:
  Handle handle_;
  bool started_ = false;
};

namespace internal {

template <typename T>
Task<T> TaskPromise<T>::get_return_object() {
  return Task<T>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}
inline Task<void> TaskPromise<void>::get_return_object() {
  return Task<void>(std::coroutine_handle<TaskPromise>::from_promise(*this));
}

}  // namespace internal

}  // namespace millrace::service
