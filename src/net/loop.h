// An event loop and the thread that runs it. What belongs to a connection happens on its loop's
// thread, so nothing of a connection is locked.
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

  // `thread_name`: as base/thread_name.h takes it. At most once.
  void start(const char* thread_name);
  // Any thread but the loop's own. What waits in the loop is dropped when the loop is destroyed.
  void stop();
  // Where others post to, from any thread.
  boost::asio::io_context& context() { return context_; }

 private:
  boost::asio::io_context context_;
  boost::asio::executor_work_guard<Executor> work_;
  std::thread thread_;
};

}  // namespace millrace::net
