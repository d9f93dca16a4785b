#include "net/loop.h"

#include "base/thread_name.h"

namespace millrace::net {

void Loop::start(const char* thread_name) {
  thread_ = std::thread([this, thread_name] {
    name_this_thread(thread_name);
    context_.run();
  });
}

void Loop::stop() {
  context_.stop();
  if (thread_.joinable()) thread_.join();
}

}  // namespace millrace::net
