// Any bytes as a journal row's body: it is read or refused, and a body that was read is unchanged
// after writing and reading it again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "store/event_codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::store;
  const auto read = decode_events({reinterpret_cast<const char*>(data), size});
  if (!read) return 0;
  std::string first;
  encode_events(*read, first);
  const auto again = decode_events(first);
  MILLRACE_CHECK(again.has_value());
  std::string second;
  encode_events(*again, second);
  MILLRACE_CHECK(first == second);
  return 0;
}
