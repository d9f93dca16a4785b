// The parameters of a statement, in PostgreSQL's binary format.
#pragma once

#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/ids.h"

namespace millrace::store {

// The types that Millrace uses; the values are PostgreSQL's own type numbers.
enum class SqlType : std::uint32_t {
  kBytes = 17,
  kNumber = 20,
  kText = 25,
  kUuid = 2950,
  kByteses = 1001,
  kNumbers = 1016,
  kTexts = 1009,
  kUuids = 2951,
};

// The elements of one array parameter.
class SqlArray {
 public:
  // `type`: the type of the array.
  explicit SqlArray(SqlType type);

  void number(std::int64_t value);
  void number(const std::optional<std::int64_t>& value);
  void bytes(std::string_view value);        // text too
  void maybe_bytes(std::string_view value);  // empty: null
  void id(const JobId& value);
  void null();

  SqlType type() const { return type_; }
  std::size_t size() const { return content_.size(); }
  // The last call on this object.
  std::string finish();

 private:
  const SqlType type_;
  std::uint32_t count_ = 0;
  bool has_null_ = false;
  std::string content_;
};

class Parameters {
 public:
  Parameters() = default;
  Parameters(Parameters&&) noexcept = default;
  Parameters& operator=(Parameters&&) noexcept = default;

  Parameters& number(std::int64_t value);
  Parameters& number(const std::optional<std::int64_t>& value);
  Parameters& text(std::string_view value);
  Parameters& bytes(std::string_view value);
  // Not copied: `value` must stay valid until the statement has been sent.
  Parameters& large_bytes(std::string_view value);
  Parameters& id(const JobId& value);
  Parameters& array(SqlArray&& value);
  Parameters& no_array(SqlType type);  // null

  std::size_t bytes() const;  // of all values together
  int count() const { return static_cast<int>(types_.size()); }
  const std::uint32_t* types() const { return types_.data(); }
  const char* const* values() const { return values_.data(); }
  const int* lengths() const { return lengths_.data(); }
  const int* formats() const { return formats_.data(); }

 private:
  Parameters& own(SqlType type, std::string value);
  Parameters& add(SqlType type, const char* value, std::size_t length);

  std::deque<std::string> owned_;  // a deque, so that the strings never move
  std::vector<std::uint32_t> types_;
  std::vector<const char*> values_;
  std::vector<int> lengths_;
  std::vector<int> formats_;
};

}  // namespace millrace::store
