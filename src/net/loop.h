// An event loop and its thread. All work of a connection runs on its loop's thread, so connections
// need no locks.
#pragma once

#include <chrono>
#include <thread>

#include <boost/asio/basic_waitable_timer.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/system/error_code.hpp>

namespace millrace::net {

using boost::system::error_code;
using Executor = boost::asio::io_context::executor_type;
using Timer = boost::asio::basic_waitable_timer<
    std::chrono::steady_clock, boost::asio::wait_traits<std::chrono::steady_clock>, Executor>;

class Loop {
 public:
  Loop() : context_(1), work_(context_.get_executor()) {}
  ~Loop() { stop(); }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  // `thread_name`: as base/thread_name.h takes it. Call at most once.
  void start(const char* thread_name);
  // Must not be called on the loop's own thread. Handlers still queued are dropped when the loop is
  // destroyed.
  void stop();
  // Other threads post their work here.
  boost::asio::io_context& context() { return context_; }

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<Executor> work_;
  std::thread thread_;
};

}  // namespace millrace::net
