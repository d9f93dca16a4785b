// Memory for coroutine frames. The thread that frees a frame keeps its memory and uses it again. A
// request makes a handful of frames, and malloc is slow for the larger ones.
#pragma once

#include <cstddef>

namespace millrace::service {

// A frame is freed on the thread that took it, since a task runs on one thread (see task.h). If
// another thread freed it, that thread would keep the memory.
class FramePool {
 public:
  static void* take(std::size_t bytes);
  // `bytes` as when it was taken.
  static void give_back(void* frame, std::size_t bytes) noexcept;
};

}  // namespace millrace::service
