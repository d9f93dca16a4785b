// Memory for coroutine frames, kept by the thread that frees it and used again. A request makes a
// handful of frames, some above the size up to which malloc is quick.
#pragma once

#include <cstddef>

namespace millrace::service {

// A frame is freed on the thread that took it, as tasks live on one (see task.h); on another it
// would only change its keeper.
class FramePool {
 public:
  static void* take(std::size_t bytes);
  // `bytes` as when it was taken.
  static void give_back(void* frame, std::size_t bytes) noexcept;
};

}  // namespace millrace::service
