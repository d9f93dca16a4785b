// Read models as bytes: numbers of variable length and texts, with a checksum over the whole.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/ids.h"

namespace millrace::engine {

void append_number(std::string& out, std::uint64_t value);
void append_text(std::string& out, std::string_view text);
void append_id(std::string& out, const JobId& id);

// `blob` with its checksum.
std::string sealed(std::string blob);
// What is between `magic` and the checksum; none: it is something else, or damaged.
std::optional<std::string_view> unsealed(std::string_view blob, std::string_view magic);

// After a fault every read gives nothing.
class ModelReader {
 public:
  explicit ModelReader(std::string_view content) : rest_(content) {}

  std::uint64_t number();
  std::uint64_t number(std::uint64_t limit);  // at most that
  std::string text();
  JobId id();
  bool ok() const { return ok_; }
  bool at_end() const { return rest_.empty(); }

 private:
  std::string_view rest_;
  bool ok_ = true;
};

}  // namespace millrace::engine
