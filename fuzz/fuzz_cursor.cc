// Any text as a cursor of a list of jobs, or a position in the event log. The first byte gives the
// number of shards. An accepted cursor has exactly this text.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "engine/shard/cursors.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  if (size == 0) return 0;
  const std::size_t shards = 1 + data[0] % 16;
  const std::vector<char> memory(data + 1, data + size);
  const std::string_view text(memory.data(), memory.size());
  if (const auto cursor = engine::decode_job_cursor(text, shards)) {
    MILLRACE_CHECK(cursor->below.size() == shards);
    for (const std::uint64_t below : cursor->below) {
      MILLRACE_CHECK(below <= engine::JobCursor::kFromNewest);
    }
    MILLRACE_CHECK(engine::encode(*cursor) == text);
  }
  if (const auto places = engine::decode_event_places(text, shards)) {
    MILLRACE_CHECK(places->size() == shards);
    for (const engine::EventPlace& place : *places) {
      MILLRACE_CHECK(place.seq > 0 && place.seq <= engine::EventPlace::kMaxSeq);
    }
    MILLRACE_CHECK(engine::encode(*places) == text);
  }
  return 0;
}
