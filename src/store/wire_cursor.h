// Walks the fields of a message in the Protocol Buffers wire format.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "store/wire.h"

namespace millrace::store {

// After the first error there is no next field.
class WireCursor {
 public:
  explicit WireCursor(std::string_view body)
      : position_(body.data()), end_(body.data() + body.size()) {
    advance();
  }

  bool ok() const { return problem_ == nullptr; }
  // The error: "unknown or misplaced field 9".
  std::string problem() const;

  // The number of the next field; 0 at the end.
  int next_field() const { return static_cast<int>(next_ >> 3); }
  // Everything has been read: a remaining field is an error.
  void expect_end() {
    if (next_ != 0) fail("unknown or misplaced field");
  }
  // The raw value of a length-delimited field. False: the next field is another one.
  bool take_raw(int field, std::string_view& value) {
    if (!take(field, WireType::kLengthDelimited)) return false;
    value = finish_bytes();
    return true;
  }

 protected:
  void fail(const char* problem) { fail_at(next_field(), problem); }
  void fail_at(int field, const char* problem);

  // True: `field` is next; the caller reads its value with one of the following calls.
  bool take(int field, WireType type) const { return next_ == wire_key(field, type); }
  std::uint64_t finish_varint() {
    const std::uint64_t value = read_varint();
    if (ok()) advance();
    return value;
  }
  std::uint64_t finish_fixed();
  std::string_view finish_bytes() {
    const std::string_view value = read_bytes();
    if (ok()) advance();
    return value;
  }
  // Enters a message, whose fields come next; leave() ends it.
  bool enter(const char*& outer_end) {
    const std::string_view body = read_bytes();
    if (!ok()) return false;
    outer_end = std::exchange(end_, position_);
    position_ = body.data();
    advance();
    return true;
  }
  void leave(const char* outer_end) {
    if (ok()) expect_end();
    if (!ok()) return;
    end_ = outer_end;
    advance();
  }
  // A length-delimited list of numbers: calls `visit` with each.
  template <typename Visit>
  void finish_packed(Visit visit) {
    const std::string_view packed = read_bytes();
    if (!ok()) return;
    const char* const outer_end = std::exchange(end_, position_);
    position_ = packed.data();
    while (ok() && position_ != end_) visit(read_varint());
    if (!ok()) return;
    end_ = outer_end;
    advance();
  }

 private:
  // Moves to the next field's key.
  void advance() {
    next_ = 0;
    if (position_ != end_) next_ = read_key();
  }
  std::uint32_t read_key();
  std::uint64_t read_varint() {
    if (position_ != end_ && static_cast<std::uint8_t>(*position_) < 0x80) {
      return static_cast<std::uint8_t>(*position_++);
    }
    return read_long_varint();
  }
  std::uint64_t read_long_varint();
  std::string_view read_bytes() {
    const std::uint64_t size = read_varint();
    if (size > static_cast<std::uint64_t>(end_ - position_)) {
      fail("truncated value in field");
      return {};
    }
    const std::string_view value(position_, size);
    position_ += size;
    return value;
  }

  const char* position_;
  const char* end_;
  std::uint32_t next_ = 0;  // the key of the field that comes next; 0: none
  const char* problem_ = nullptr;
  int problem_field_ = 0;
};

}  // namespace millrace::store
