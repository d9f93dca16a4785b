// Any bytes as a journal row's body, and as a message between the shards of a workflow: they are
// read or refused, and what was read is unchanged after writing and reading it again.
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "base/check.h"
#include "store/event_codec.h"
#include "store/member_codec.h"

namespace {

using namespace millrace::store;

void check_events(std::string_view body) {
  const auto read = decode_events(body);
  if (!read) return;
  std::string first;
  encode_events(*read, first);
  const auto again = decode_events(first);
  MILLRACE_CHECK(again.has_value());
  std::string second;
  encode_events(*again, second);
  MILLRACE_CHECK(first == second);
}

void check_message(std::string_view body) {
  const auto read = decode_member_message(body);
  if (!read) return;
  std::string first;
  encode_member_message(*read, first);
  const auto again = decode_member_message(first);
  MILLRACE_CHECK(again.has_value());
  std::string second;
  encode_member_message(*again, second);
  MILLRACE_CHECK(first == second);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  check_events(body);
  check_message(body);
  return 0;
}
