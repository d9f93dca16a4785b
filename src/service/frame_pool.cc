#include "service/frame_pool.h"

#include <array>
#include <new>

namespace millrace::service {
namespace {

// Sizes are rounded up to a step; larger frames go to malloc.
constexpr std::size_t kStepBytes = 256;
constexpr std::size_t kSteps = 16;
// Per size: enough for the waiting frames of a busy thread, 2 MiB a thread at most.
constexpr std::size_t kKeptFrames = 60;
static_assert(kKeptFrames * kStepBytes * (kSteps * (kSteps + 1) / 2) <= std::size_t{2} << 20);

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kPooling = false;  // so that the sanitizer sees a use after free
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kPooling = false;
#else
constexpr bool kPooling = true;
#endif
#else
constexpr bool kPooling = true;
#endif

struct FreeFrame {
  FreeFrame* next;
};

class Shelf {
 public:
  Shelf() = default;
  Shelf(const Shelf&) = delete;
  Shelf& operator=(const Shelf&) = delete;
  ~Shelf() {
    while (void* frame = take()) ::operator delete(frame);
  }

  void* take() {
    FreeFrame* const frame = first_;
    if (frame == nullptr) return nullptr;
    first_ = frame->next;
    --count_;
    return frame;
  }
  bool keep(void* memory) {
    if (count_ == kKeptFrames) return false;
    first_ = ::new (memory) FreeFrame{first_};
    ++count_;
    return true;
  }

 private:
  FreeFrame* first_ = nullptr;
  std::size_t count_ = 0;
};

std::size_t step_of(std::size_t bytes) { return (bytes - 1) / kStepBytes; }

thread_local std::array<Shelf, kSteps> shelves;

}  // namespace

void* FramePool::take(std::size_t bytes) {
  const std::size_t step = step_of(bytes);
  if (!kPooling || step >= kSteps) return ::operator new(bytes);
  void* const frame = shelves[step].take();
  return frame != nullptr ? frame : ::operator new((step + 1) * kStepBytes);
}

void FramePool::give_back(void* frame, std::size_t bytes) noexcept {
  const std::size_t step = step_of(bytes);
  if (!kPooling || step >= kSteps || !shelves[step].keep(frame)) ::operator delete(frame);
}

}  // namespace millrace::service
