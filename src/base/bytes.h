// SharedBytes: immutable bytes with shared ownership, one allocation, one pointer wide. A payload
// passes from the request to the machine, the journal, the tables and the replies without a copy.
#pragma once

#include <atomic>
#include <cstdint>
#include <cstring>
#include <new>
#include <string_view>
#include <utility>

namespace millrace {

// Copying is cheap and thread-safe; the bytes never change. An empty value has no allocation.
class SharedBytes {
 public:
  SharedBytes() = default;
  explicit SharedBytes(std::string_view content) {
    if (content.empty()) return;
    void* memory = ::operator new(sizeof(Header) + content.size());
    header_ = new (memory) Header{{1}, static_cast<std::uint32_t>(content.size())};
    std::memcpy(static_cast<char*>(memory) + sizeof(Header), content.data(), content.size());
  }
  SharedBytes(const SharedBytes& other) : header_(other.header_) {
    if (header_ != nullptr) header_->references.fetch_add(1, std::memory_order_relaxed);
  }
  SharedBytes(SharedBytes&& other) noexcept : header_(std::exchange(other.header_, nullptr)) {}
  SharedBytes& operator=(SharedBytes other) noexcept {
    std::swap(header_, other.header_);
    return *this;
  }
  ~SharedBytes() {
    if (header_ != nullptr && header_->references.fetch_sub(1, std::memory_order_acq_rel) == 1) {
      header_->~Header();
      ::operator delete(header_);
    }
  }

  std::string_view view() const {
    if (header_ == nullptr) return {};
    return {reinterpret_cast<const char*>(header_) + sizeof(Header), header_->size};
  }
  bool empty() const { return header_ == nullptr; }
  std::size_t size() const { return header_ == nullptr ? 0 : header_->size; }

  friend bool operator==(const SharedBytes& a, const SharedBytes& b) {
    return a.view() == b.view();
  }

 private:
  struct Header {
    std::atomic<std::uint32_t> references;
    std::uint32_t size;
  };
  Header* header_ = nullptr;
};

}  // namespace millrace
