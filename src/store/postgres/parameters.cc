#include "store/postgres/parameters.h"

#include <numeric>
#include <type_traits>
#include <utility>

#include "base/check.h"
#include "store/blob.h"

namespace millrace::store {
namespace {

// The header of an array of one dimension: dimensions, flags, type, size, lower bound.
constexpr std::size_t kHeaderBytes = 20;
constexpr std::int32_t kNullLength = -1;

template <typename T>
void put(std::string& out, T value) {
  const auto plain = static_cast<std::make_unsigned_t<T>>(value);
  for (std::size_t shift = sizeof plain * 8; shift > 0; shift -= 8) {
    out.push_back(static_cast<char>(plain >> (shift - 8)));
  }
}

SqlType element_of(SqlType array) {
  switch (array) {
    case SqlType::kByteses:
      return SqlType::kBytes;
    case SqlType::kNumbers:
      return SqlType::kNumber;
    case SqlType::kTexts:
      return SqlType::kText;
    case SqlType::kUuids:
      return SqlType::kUuid;
    default:
      break;
  }
  MILLRACE_CHECK(false);
  return array;
}

std::string encoded(std::int64_t value) {
  std::string bytes;
  put(bytes, value);
  return bytes;
}

}  // namespace

SqlArray::SqlArray(SqlType type) : type_(type), content_(kHeaderBytes, '\0') {}

void SqlArray::number(std::int64_t value) {
  ++count_;
  put(content_, std::int32_t{sizeof value});
  put(content_, value);
}

void SqlArray::number(const std::optional<std::int64_t>& value) {
  if (value) {
    number(*value);
  } else {
    null();
  }
}

void SqlArray::bytes(std::string_view value) {
  ++count_;
  put(content_, static_cast<std::int32_t>(value.size()));
  content_ += value;
}

void SqlArray::maybe_bytes(std::string_view value) {
  if (value.empty()) {
    null();
  } else {
    bytes(value);
  }
}

void SqlArray::id(const JobId& value) { bytes(to_blob(value)); }

void SqlArray::null() {
  ++count_;
  has_null_ = true;
  put(content_, kNullLength);
}

std::string SqlArray::finish() {
  std::string header;
  const std::int32_t dimensions = count_ == 0 ? 0 : 1;
  put(header, dimensions);
  put(header, std::int32_t{has_null_});
  put(header, static_cast<std::uint32_t>(element_of(type_)));
  if (count_ == 0) return header;
  put(header, count_);
  put(header, std::int32_t{1});
  MILLRACE_CHECK(header.size() == kHeaderBytes);
  content_.replace(0, kHeaderBytes, header);
  return std::move(content_);
}

std::size_t Parameters::bytes() const {
  return static_cast<std::size_t>(
      std::accumulate(lengths_.begin(), lengths_.end(), std::int64_t{}));
}

Parameters& Parameters::add(SqlType type, const char* value, std::size_t length) {
  types_.push_back(static_cast<std::uint32_t>(type));
  values_.push_back(value);
  lengths_.push_back(static_cast<int>(length));
  formats_.push_back(1);
  return *this;
}

Parameters& Parameters::own(SqlType type, std::string value) {
  const std::string& kept = owned_.emplace_back(std::move(value));
  return add(type, kept.data(), kept.size());
}

Parameters& Parameters::number(std::int64_t value) { return own(SqlType::kNumber, encoded(value)); }
Parameters& Parameters::number(const std::optional<std::int64_t>& value) {
  return value ? number(*value) : add(SqlType::kNumber, nullptr, 0);
}
Parameters& Parameters::text(std::string_view value) {
  return own(SqlType::kText, std::string(value));
}
Parameters& Parameters::bytes(std::string_view value) {
  return own(SqlType::kBytes, std::string(value));
}
Parameters& Parameters::large_bytes(std::string_view value) {
  // A null pointer would be NULL.
  return value.empty() ? bytes(value) : add(SqlType::kBytes, value.data(), value.size());
}
Parameters& Parameters::id(const JobId& value) {
  return own(SqlType::kUuid, std::string(to_blob(value)));
}
Parameters& Parameters::array(SqlArray&& value) {
  const SqlType type = value.type();
  return own(type, value.finish());
}

Parameters& Parameters::no_array(SqlType type) { return add(type, nullptr, 0); }

}  // namespace millrace::store
