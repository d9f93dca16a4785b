// SIGINT, SIGTERM and SIGHUP as calls on a thread of their own.
#pragma once

#include <functional>
#include <thread>

namespace millrace::cli {

// Must be made before any other thread, which would get the signals otherwise: they are blocked
// from then on.
class SignalWatcher {
 public:
  // `on_signal` gets the how-manieth signal this is, from 1.
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
