// Memory for coroutine frames. The thread that frees a frame keeps its memory and reuses it. A
// request makes a handful of frames, and malloc is slow for the larger ones.
#pragma once

#include <cstddef>

namespace millrace::service {

// A frame must be freed on the thread that allocated it, which holds since a task runs on one
// thread (see task.h). Otherwise the freeing thread would keep the memory.
class FramePool {
 public:
  static void* take(std::size_t bytes);
  // `bytes`: as allocated.
  static void give_back(void* frame, std::size_t bytes) noexcept;
};

}  // namespace millrace::service
