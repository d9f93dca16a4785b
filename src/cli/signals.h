// Turns SIGINT, SIGTERM and SIGHUP into calls on its own thread.
#pragma once

#include <functional>
#include <thread>

namespace millrace::cli {

// Must be made before any other thread: it blocks these signals, and threads inherit that.
class SignalWatcher {
 public:
  // `on_signal` gets the number of signals so far, counted from 1.
  explicit SignalWatcher(std::function<void(int count)> on_signal);
  ~SignalWatcher();
  SignalWatcher(const SignalWatcher&) = delete;
  SignalWatcher& operator=(const SignalWatcher&) = delete;

 private:
  void watch();

  std::function<void(int count)> on_signal_;
  int signals_ = -1;
  int end_ = -1;
  std::jthread thread_;
};

}  // namespace millrace::cli
