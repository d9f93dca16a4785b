// Any bytes as a zone's file: an accepted one has contiguous spans, and schedules can be walked
// forwards and backwards in it.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "calendar/cron_parser.h"
#include "calendar/timing.h"
#include "calendar/tzif.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace;
  using namespace millrace::calendar;
  const std::vector<char> memory(data, data + size);
  const auto zone = read_tzif(std::string_view(memory.data(), size));
  if (!zone) {
    MILLRACE_CHECK(!zone.error().message.empty());
    return 0;
  }
  constexpr int kSpans = 64;
  const auto cron = parse_cron("0,30 1-3 * * *");
  MILLRACE_CHECK(cron.has_value());
  const Timing timing{.rule = *cron};
  for (const std::int64_t from : {kMinSecond, std::int64_t{0}, std::int64_t{4'000'000'000}}) {
    std::int64_t t = from;
    for (int i = 0; i < kSpans && t <= kMaxSecond; ++i) {
      const Span span = zone->span_at(t);
      MILLRACE_CHECK(span.begin <= t && t < span.end);
      MILLRACE_CHECK(span.offset > -kMaxOffset && span.offset < kMaxOffset);
      MILLRACE_CHECK(zone->span_at(span.end - 1).offset == span.offset);
      const Time start = time_from_ms(t * 1000);
      if (const auto next = next_instant(timing, *zone, start)) {
        MILLRACE_CHECK(*next > start);
        const auto previous = previous_instant(timing, *zone, *next);
        MILLRACE_CHECK(!previous || *previous <= start);
      }
      t = span.end;
    }
  }
  return 0;
}
