// A connection's received but unused bytes. The buffer grows with the bytes that arrive, up to a
// bound, and shrinks back to a small size afterwards, since ten thousand waiting workers must not
// cost much memory.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <memory>
#include <string_view>

namespace millrace::net {

class InputBuffer {
 public:
  static constexpr std::size_t kSmallBytes = 4 * 1024;
  static constexpr std::size_t kKeptBytes = 64 * 1024;

  InputBuffer() : data_(std::make_unique<char[]>(kSmallBytes)), capacity_(kSmallBytes) {}

  char* data() { return data_.get() + begin_; }
  std::string_view view() const { return {data_.get() + begin_, end_ - begin_}; }
  std::size_t size() const { return end_ - begin_; }
  bool empty() const { return begin_ == end_; }
  bool is_large() const { return capacity_ > kKeptBytes; }

  // Where the next bytes go.
  char* tail() { return data_.get() + end_; }
  std::size_t room() const { return capacity_ - end_; }
  void commit(std::size_t bytes) { end_ += bytes; }
  // Keeps the first `size` bytes; the caller has moved or removed the rest.
  void truncate(std::size_t size) { end_ = begin_ + size; }

  // compact() and grow() move the held bytes and invalidate views of them. They must not be called
  // while a read into tail() is pending.

  // Moves the bytes to the front. If the buffer is large, moves them to a small one if they fit.
  void compact() {
    if (is_large() && size() <= kSmallBytes) return reallocate(kSmallBytes);
    if (begin_ == 0) return;
    std::memmove(data_.get(), data_.get() + begin_, size());
    end_ -= begin_;
    begin_ = 0;
  }
  // Makes room for at least one byte, and for `wanted` bytes in all if that is not much more.
  void grow(std::size_t wanted) { reallocate(grown(wanted)); }
  // The capacity after grow().
  std::size_t grown(std::size_t wanted) const {
    return std::max(capacity_ * 2, std::min(wanted, capacity_ * 4));
  }

  // Drops the first `size` bytes.
  void consume(std::size_t size) { begin_ += size; }

 private:
  void reallocate(std::size_t capacity) {
    std::unique_ptr<char[]> larger(new char[capacity]);
    const std::size_t held = size();
    std::memcpy(larger.get(), data_.get() + begin_, held);
    data_ = std::move(larger);
    capacity_ = capacity;
    begin_ = 0;
    end_ = held;
  }

  std::unique_ptr<char[]> data_;
  std::size_t capacity_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
};

}  // namespace millrace::net
