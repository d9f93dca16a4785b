// Any bytes as a time, a duration or a size: an accepted value is within bounds, and a written one
// is read back unchanged.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "base/ids.h"
#include "base/time.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  const std::vector<char> memory(data, data + size);
  const std::string_view text(memory.data(), size);
  if (const auto time = parse_rfc3339(text)) {
    MILLRACE_CHECK(to_ms(*time) >= kMinTimeMs && to_ms(*time) <= kMaxTimeMs);
    MILLRACE_CHECK(parse_rfc3339(format_rfc3339(*time)) == time);
  }
  if (const auto duration = parse_duration(text)) {
    MILLRACE_CHECK(duration->count() >= 0);
    MILLRACE_CHECK(parse_duration(format_duration(*duration)) == duration);
  }
  if (const auto bytes = parse_size(text)) MILLRACE_CHECK(parse_size(format_size(*bytes)) == bytes);
  if (const auto id = parse_job_id(text)) MILLRACE_CHECK(parse_job_id(to_string(*id)) == id);
  return 0;
}
