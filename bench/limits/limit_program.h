// Shared by the programs that measure a limit of the machine: the definition of a lifecycle, simple
// arguments, one line of JSON.
#pragma once

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <string_view>
#include <utility>

namespace millrace::bench {

// A lifecycle consists of three records: the submission with its payload, the claim, and the
// completion. Each batch of them is synced before the next step begins. The sizes are those of a
// compact journal: ids, times and a token in addition to the payload.
inline constexpr std::size_t kSubmissionExtraBytes = 48;
inline constexpr std::size_t kClaimBytes = 32;
inline constexpr std::size_t kCompletionBytes = 32;

// The three batches of one round, in order.
inline std::array<std::string, 3> lifecycle_batches(std::size_t batch, std::size_t payload) {
  return {std::string(batch * (payload + kSubmissionExtraBytes), 's'),
          std::string(batch * kClaimBytes, 'c'), std::string(batch * kCompletionBytes, 'd')};
}

[[noreturn]] inline void fail(std::string_view what) {
  fmt::print(stderr, "{}\n", what);
  std::exit(1);
}

inline std::uint64_t number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size() || value == 0) {
    fail(fmt::format("not a positive number: {}", text));
  }
  return value;
}

class Stopwatch {
 public:
  double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count();
  }

 private:
  std::chrono::steady_clock::time_point begin_ = std::chrono::steady_clock::now();
};

inline void report(std::string_view unit, std::uint64_t count, double seconds) {
  fmt::print("{{\"{}\": {:.1f}, \"count\": {}, \"seconds\": {:.4f}}}\n", unit,
             static_cast<double>(count) / seconds, count, seconds);
}

}  // namespace millrace::bench
