#include "base/thread_name.h"

#include <pthread.h>

#include <string>

namespace millrace {
namespace {

constexpr std::size_t kLongestBytes = 15;  // Linux refuses a longer one

}  // namespace

void name_this_thread(const char* name) {
  ::pthread_setname_np(::pthread_self(), std::string(name).substr(0, kLongestBytes).c_str());
}

}  // namespace millrace
