// Result<T>: a value, or the reason why there is none. Expected failures are values; broken
// invariants are CHECKs.
#pragma once

#include <expected>
#include <string>
#include <utility>

namespace millrace {

// What went wrong, in a sentence for the person who must act on it.
struct Error {
  std::string message;
};

template <typename T>
using Result = std::expected<T, Error>;
using Status = std::expected<void, Error>;

inline std::unexpected<Error> failure(std::string message) {
  return std::unexpected(Error{std::move(message)});
}

}  // namespace millrace
