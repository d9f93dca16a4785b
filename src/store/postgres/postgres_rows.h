// The rows of one statement, as array parameters.
#pragma once

#include <array>
#include <cstddef>
#include <utility>
#include <vector>

#include "store/postgres/parameters.h"

namespace millrace::store {

// The maximum size of one statement: far below PostgreSQL's limit for a message.
inline constexpr std::size_t kStatementBytes = 32 * 1024 * 1024;

// Array parameters of the same length, filled row by row.
template <std::size_t Size>
class Rows {
 public:
  explicit Rows(const std::array<SqlType, Size>& types) {
    for (const SqlType type : types) arrays_.emplace_back(type);
  }
  SqlArray& operator[](std::size_t column) { return arrays_[column]; }
  std::size_t bytes() const {
    std::size_t sum = 0;
    for (const SqlArray& array : arrays_) sum += array.size();
    return sum;
  }
  Parameters finish(Parameters parameters = {}) {
    for (SqlArray& array : arrays_) parameters.array(std::move(array));
    return parameters;
  }

 private:
  std::vector<SqlArray> arrays_;
};

inline constexpr SqlType kN = SqlType::kNumbers;
inline constexpr SqlType kB = SqlType::kByteses;
inline constexpr SqlType kT = SqlType::kTexts;
inline constexpr SqlType kU = SqlType::kUuids;

}  // namespace millrace::store
