// The encoding of read models: variable-length numbers and texts, with a checksum over the whole.
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

// `blob` plus its checksum.
std::string sealed(std::string blob);
// The content between `magic` and the checksum; none: another blob, or a damaged one.
std::optional<std::string_view> unsealed(std::string_view blob, std::string_view magic);

// After an error every read returns a default.
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
