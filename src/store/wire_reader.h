// Reads messages of WireWriter only. A field that is unknown, out of order, repeated or of another
// type ends the reading with an error, as does a value that does not fit its type.
#pragma once

#include <array>
#include <bit>
#include <concepts>
#include <cstdint>
#include <cstring>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/time.h"
#include "core/jobs/job.h"
#include "store/shared_parts.h"
#include "store/wire_cursor.h"

namespace millrace::store {

// After the first error every read gives the default. Check ok() at the end.
class WireReader : public WireCursor {
 public:
  WireReader(std::string_view body, Time base, const SharedPartsReader* shared = nullptr)
      : WireCursor(body), base_(base), shared_(shared) {}

  // A reader accepts every field that it knows, from writers of any level.
  template <typename Level>
  static constexpr bool speaks(Level) {
    return true;
  }

  template <std::unsigned_integral T>
  void number(int field, T& value) {
    value = take(field, WireType::kVarint) ? narrow<T>(finish_varint()) : T{0};
  }
  template <std::unsigned_integral T>
  void number(int field, std::optional<T>& value) {
    value.reset();
    if (take(field, WireType::kVarint)) value = narrow<T>(finish_varint());
  }
  template <typename T>
    requires std::is_enum_v<T>
  void number(int field, T& value) {
    std::uint64_t plain = 0;
    number(field, plain);
    value = static_cast<T>(plain);
  }
  void flag(int field, bool& value) {
    std::uint8_t plain = 0;
    number(field, plain);
    if (plain > 1) fail("value out of range in field");
    value = plain == 1;
  }
  void signed_number(int field, std::int16_t& value) {
    value = take(field, WireType::kVarint) ? narrow_signed(finish_varint()) : std::int16_t{0};
  }
  void signed_number(int field, std::optional<std::int16_t>& value) {
    value.reset();
    if (take(field, WireType::kVarint)) value = narrow_signed(finish_varint());
  }
  void fixed(int field, std::uint64_t& value) {
    value = take(field, WireType::kFixed64) ? finish_fixed() : 0;
  }
  void real(int field, std::optional<double>& value) {
    value.reset();
    if (take(field, WireType::kFixed64)) value = std::bit_cast<double>(finish_fixed());
  }

  // Every enum must have a value: an absent or unknown one is an error.
  template <typename T>
    requires std::is_enum_v<T>
  void enumeration(int field, T& value, T last) {
    std::optional<T> read;
    enumeration(field, read, last);
    if (!read) fail_at(field, "missing field");
    value = read.value_or(T{});
  }
  template <typename T>
    requires std::is_enum_v<T>
  void enumeration(int field, std::optional<T>& value, T last) {
    value.reset();
    if (!take(field, WireType::kVarint)) return;
    const std::uint64_t number = finish_varint();
    if (number == 0 || number > static_cast<std::uint64_t>(last) + 1) {
      fail_at(field, "unknown value of field");
    } else {
      value = static_cast<T>(number - 1);
    }
  }

  void time(int field, Time& value) {
    value = take(field, WireType::kVarint) ? finish_time() : base_;
  }
  void time(int field, std::optional<Time>& value) {
    value.reset();
    if (take(field, WireType::kVarint)) value = finish_time();
  }
  void duration(int field, Duration& value) {
    std::uint64_t plain = 0;
    number(field, plain);
    value = Duration{static_cast<std::int64_t>(plain)};
  }
  void duration(int field, std::optional<Duration>& value) {
    value.reset();
    if (take(field, WireType::kVarint))
      value = Duration{static_cast<std::int64_t>(finish_varint())};
  }
  void durations(int field, std::vector<Duration>& values);
  void times(int field, std::vector<Time>& values) {
    std::vector<Duration> since_epoch;
    durations(field, since_epoch);
    values.clear();
    for (const Duration value : since_epoch) values.emplace_back(value);
  }
  // Exactly `Size` numbers.
  template <std::size_t Size>
  void numbers(int field, std::array<std::uint64_t, Size>& values) {
    std::vector<Duration> read;
    durations(field, read);
    if (read.size() != Size) {
      fail_at(field, "wrong number of values in field");
      return;
    }
    for (std::size_t i = 0; i < Size; ++i) values[i] = static_cast<std::uint64_t>(read[i].count());
  }

  void numbers(int field, std::vector<std::uint32_t>& values);

  void id(int field, JobId& value) { required_bytes(field, value.bytes); }
  void fingerprint(int field, Fingerprint& value) { required_bytes(field, value.bytes); }
  void bytes(int field, SharedBytes& value) {
    value = take(field, WireType::kLengthDelimited) ? SharedBytes(finish_bytes()) : SharedBytes();
  }
  void bytes(int field, std::vector<SharedBytes>& values) {
    values.clear();
    while (take(field, WireType::kLengthDelimited)) values.emplace_back(finish_bytes());
  }
  void bytes_list(int field, std::optional<std::vector<SharedBytes>>& values);
  void name(int field, SharedBytes& value);
  void policy(int field, std::shared_ptr<const core::RetryPolicy>& value);
  void own_policy(int field, std::shared_ptr<const core::RetryPolicy>& value);

  template <typename T>
  void message(int field, T& value) {
    if (take(field, WireType::kLengthDelimited)) {
      finish_message(value);
    } else {
      fail_at(field, "missing field");
    }
  }
  template <typename T>
  void message(int field, std::optional<T>& value) {
    value.reset();
    if (take(field, WireType::kLengthDelimited)) finish_message(value.emplace());
  }
  template <typename T>
  void message(int field, std::shared_ptr<const T>& value) {
    value.reset();
    if (!take(field, WireType::kLengthDelimited)) return;
    auto made = std::make_shared<T>();
    finish_message(*made);
    value = std::move(made);
  }
  void message(int field, std::shared_ptr<const core::RetryPolicy>& value);
  template <typename T>
  void message(int field, std::vector<T>& values) {
    values.clear();
    while (take(field, WireType::kLengthDelimited)) finish_message(values.emplace_back());
  }

 private:
  Time finish_time() {
    return time_from_ms(
        static_cast<std::int64_t>(static_cast<std::uint64_t>(to_ms(base_)) +
                                  static_cast<std::uint64_t>(unzigzag(finish_varint()))));
  }
  template <typename T>
  void finish_message(T& value) {
    const char* outer_end = nullptr;
    if (!enter(outer_end)) return;
    describe(*this, value);
    leave(outer_end);
  }

  template <typename T>
  T narrow(std::uint64_t value) {
    if (value > std::numeric_limits<T>::max()) fail("value out of range before field");
    return static_cast<T>(value);
  }
  std::int16_t narrow_signed(std::uint64_t value) {
    const std::int64_t plain = unzigzag(value);
    if (!std::in_range<std::int16_t>(plain)) fail("value out of range before field");
    return static_cast<std::int16_t>(plain);
  }
  template <std::size_t Size>
  void required_bytes(int field, std::array<std::uint8_t, Size>& value) {
    std::string_view read;
    if (!take_raw(field, read) || read.size() != Size) {
      fail_at(field, "missing value, or wrong size, in field");
      return;
    }
    std::memcpy(value.data(), read.data(), read.size());
  }

  const Time base_;
  const SharedPartsReader* const shared_;
};

}  // namespace millrace::store
