// Writes messages in the Protocol Buffers wire format, in one pass, without one allocation a
// message.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/bytes.h"
#include "base/check.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/jobs/job.h"
#include "store/shared_parts.h"
#include "store/wire.h"

namespace millrace::store {

class WireWriter {
 public:
  // The initial size of `out`; it grows by doubling.
  static constexpr std::size_t kLeastBytes = 256;
  static constexpr std::size_t kFirstBytes = 4 * 1024;

  // The level at which every field is written: see speaks().
  static constexpr std::uint32_t kEveryLevel = ~std::uint32_t{0};

  // Replaces the content of `out`. Times are written relative to `base`. `shared` is needed for
  // messages that refer to names or policies. `level`: the level of the reader.
  WireWriter(std::string& out, Time base, SharedPartsWriter* shared = nullptr,
             std::uint32_t level = kEveryLevel)
      : out_(out), base_(base), shared_(shared), level_(level) {
    // Not up to the capacity: a string that once was large would be cleared entirely each time.
    out_.resize(std::clamp<std::size_t>(out_.capacity(), kLeastBytes, kFirstBytes));
    position_ = out_.data();
    end_ = out_.data() + out_.size();
  }
  WireWriter(const WireWriter&) = delete;
  WireWriter& operator=(const WireWriter&) = delete;

  // Truncates `out` to what was written. The last call on this object.
  void finish() { out_.resize(size()); }
  std::size_t size() const { return static_cast<std::size_t>(position_ - out_.data()); }

  // Whether the reader knows the fields that were added with that level; others are left out.
  template <typename Level>
  bool speaks(Level level) const {
    return static_cast<std::uint32_t>(level) <= level_;
  }

  template <std::unsigned_integral T>
  void number(int field, T value) {
    if (value != 0) put_number(field, value);
  }
  template <std::unsigned_integral T>
  void number(int field, const std::optional<T>& value) {
    if (value) put_number(field, *value);
  }
  template <typename T>
    requires std::is_enum_v<T>
  void number(int field, T value) {
    number(field, static_cast<std::uint64_t>(value));
  }
  void flag(int field, bool value) { number(field, std::uint32_t{value}); }

  void signed_number(int field, std::int16_t value) { number(field, zigzag(value)); }
  void signed_number(int field, const std::optional<std::int16_t>& value) {
    if (value) put_number(field, zigzag(*value));
  }
  void fixed(int field, std::uint64_t value) {
    if (value != 0) put_fixed(field, value);
  }
  void real(int field, const std::optional<double>& value) {
    if (value) put_fixed(field, std::bit_cast<std::uint64_t>(*value));
  }

  // `last` is used by the reader only.
  template <typename T>
    requires std::is_enum_v<T>
  void enumeration(int field, T value, [[maybe_unused]] T last) {
    put_number(field, static_cast<std::uint64_t>(value) + 1);
  }
  template <typename T>
    requires std::is_enum_v<T>
  void enumeration(int field, const std::optional<T>& value, T last) {
    if (value) enumeration(field, *value, last);
  }

  void time(int field, Time value) { number(field, zigzag(since_base(value))); }
  void time(int field, const std::optional<Time>& value) {
    if (value) put_number(field, zigzag(since_base(*value)));
  }
  void duration(int field, Duration value) {
    number(field, static_cast<std::uint64_t>(value.count()));
  }
  void duration(int field, const std::optional<Duration>& value) {
    if (value) put_number(field, static_cast<std::uint64_t>(value->count()));
  }
  void durations(int field, const std::vector<Duration>& values) {
    if (values.empty()) return;
    const std::size_t start = open(field);
    for (const Duration value : values) {
      ensure(kMaxVarintBytes);
      put_varint(static_cast<std::uint64_t>(value.count()));
    }
    close(start);
  }

  // Since the Unix epoch.
  void times(int field, const std::vector<Time>& values) {
    std::vector<Duration> since_epoch;
    for (const Time value : values) since_epoch.push_back(value.time_since_epoch());
    durations(field, since_epoch);
  }

  template <std::size_t Size>
  void numbers(int field, const std::array<std::uint64_t, Size>& values) {
    const std::size_t start = open(field);
    for (const std::uint64_t value : values) {
      ensure(kMaxVarintBytes);
      put_varint(value);
    }
    close(start);
  }

  void id(int field, const JobId& value) { put_bytes(field, raw(value.bytes)); }
  void fingerprint(int field, const Fingerprint& value) { put_bytes(field, raw(value.bytes)); }
  void bytes(int field, const SharedBytes& value) {
    if (!value.empty()) put_bytes(field, value.view());
  }
  void bytes(int field, const std::vector<SharedBytes>& values) {
    for (const SharedBytes& value : values) put_bytes(field, value.view());
  }
  // An optional list, which may be present and empty: a message of its own.
  void bytes_list(int field, const std::optional<std::vector<SharedBytes>>& values) {
    if (!values) return;
    const std::size_t start = open(field);
    bytes(1, *values);
    close(start);
  }
  void name(int field, const SharedBytes& value) {
    MILLRACE_CHECK(shared_ != nullptr);
    number(field, shared_->reference(value));
  }
  void policy(int field, const std::shared_ptr<const core::RetryPolicy>& value) {
    MILLRACE_CHECK(shared_ != nullptr);
    number(field, shared_->reference(value));
  }
  void own_policy(int field, const std::shared_ptr<const core::RetryPolicy>& value);

  template <typename T>
  void message(int field, const T& value) {
    const std::size_t start = open(field);
    describe(*this, value);
    close(start);
  }
  template <typename T>
  void message(int field, const std::optional<T>& value) {
    if (value) message(field, *value);
  }
  template <typename T>
  void message(int field, const std::shared_ptr<const T>& value) {
    if (value != nullptr) message(field, *value);
  }
  template <typename T>
  void message(int field, const std::vector<T>& values) {
    for (const T& value : values) message(field, value);
  }

 private:
  template <std::size_t Size>
  static std::string_view raw(const std::array<std::uint8_t, Size>& bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), Size};
  }
  // Wraps around if the difference does not fit; the reader reverses it.
  std::int64_t since_base(Time time) const {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(to_ms(time)) -
                                     static_cast<std::uint64_t>(to_ms(base_)));
  }

  void ensure(std::size_t size) {
    if (static_cast<std::size_t>(end_ - position_) < size) [[unlikely]]
      grow(size);
  }
  void grow(std::size_t size);

  // Precondition of put_varint() and put_key(): room for kMaxVarintBytes.
  void put_varint(std::uint64_t value) {
    while (value >= 0x80) {
      *position_++ = static_cast<char>(value | 0x80);
      value >>= 7;
    }
    *position_++ = static_cast<char>(value);
  }
  void put_key(int field, WireType type) { put_varint(wire_key(field, type)); }

  void put_number(int field, std::uint64_t value) {
    ensure(2 * kMaxVarintBytes);
    put_key(field, WireType::kVarint);
    put_varint(value);
  }
  void put_fixed(int field, std::uint64_t value);
  void put_bytes(int field, std::string_view value) {
    ensure(2 * kMaxVarintBytes + value.size());
    put_key(field, WireType::kLengthDelimited);
    put_varint(value.size());
    if (!value.empty()) std::memcpy(position_, value.data(), value.size());  // data may be null
    position_ += value.size();
  }

  // Begins a length-delimited value whose length is known only at its end. One byte is reserved for
  // the length; close() moves the value up if the length needs more.
  std::size_t open(int field) {
    ensure(2 * kMaxVarintBytes);
    put_key(field, WireType::kLengthDelimited);
    ++position_;
    return size();
  }
  void close(std::size_t start) {
    const std::size_t length = size() - start;
    if (length < 0x80) {
      out_[start - 1] = static_cast<char>(length);
    } else {
      close_long(start, length);
    }
  }
  void close_long(std::size_t start, std::size_t length);

  std::string& out_;
  const Time base_;
  SharedPartsWriter* const shared_;
  const std::uint32_t level_;
  char* position_ = nullptr;
  char* end_ = nullptr;
};

}  // namespace millrace::store
