#include "store/wire_writer.h"

#include <algorithm>

#include "store/record_wire.h"

namespace millrace::store {

void WireWriter::grow(std::size_t size) {
  const std::size_t written = this->size();
  out_.resize(std::max(out_.size() * 2, written + size));
  position_ = out_.data() + written;
  end_ = out_.data() + out_.size();
}

void WireWriter::own_policy(int field, const std::shared_ptr<const core::RetryPolicy>& value) {
  if (value != nullptr) message(field, *value);
}

void WireWriter::put_fixed(int field, std::uint64_t value) {
  ensure(kMaxVarintBytes + sizeof value);
  put_key(field, WireType::kFixed64);
  for (std::size_t i = 0; i < sizeof value; ++i) {
    *position_++ = static_cast<char>(value >> (8 * i));
  }
}

void WireWriter::close_long(std::size_t start, std::size_t length) {
  std::size_t extra = 0;
  for (std::size_t rest = length >> 7; rest != 0; rest >>= 7) ++extra;
  ensure(extra);
  char* const value = out_.data() + start;
  std::memmove(value + extra, value, length);
  position_ = value - 1;
  put_varint(length);
  position_ += length;
}

}  // namespace millrace::store
