// A planted bug, behind a word that only the dictionary has, a number to compare, and a
// checksum-like condition. fuzz/soak looks for it first. If it is not found, silence about the
// other targets means nothing.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "base/check.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  constexpr std::string_view kWord = "canary:";
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (!text.starts_with(kWord) || size < kWord.size() + 5) return 0;
  std::uint32_t number = 0;
  std::memcpy(&number, data + kWord.size(), sizeof number);
  if (number != 0x6d696c6c) return 0;
  const std::uint8_t last = data[kWord.size() + 4];
  MILLRACE_CHECK((last ^ data[0]) != 0x42);
  return 0;
}
