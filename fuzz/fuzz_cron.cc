// Any bytes as a cron expression: an accepted one has a description, and its instants are the same
// forwards and backwards, in zones whose clocks change.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "calendar/cron_parser.h"
#include "calendar/describe.h"
#include "calendar/timing.h"

namespace {

using namespace millrace;
using namespace millrace::calendar;

void walk(const Timing& timing, const Zone& zone, Time start) {
  Time last = start;
  for (int i = 0; i < 4; ++i) {
    const auto next = next_instant(timing, zone, last);
    if (!next) return;
    MILLRACE_CHECK(*next > last);
    MILLRACE_CHECK(next_instant(timing, zone, *next - Duration{1}) == next);
    const auto previous = previous_instant(timing, zone, *next);
    MILLRACE_CHECK(!previous || *previous <= last);
    if (i > 0) MILLRACE_CHECK(previous == last);
    last = *next;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<char> memory(data, data + size);
  const std::string_view text(memory.data(), size);
  const auto cron = parse_cron(text);
  if (!cron) {
    MILLRACE_CHECK(!cron.error().message.empty());
    return 0;
  }
  warnings(*cron);
  for (const char* const rule :
       {"UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "<+1030>-10:30<+11>-11,M10.1.0,M4.1.0"}) {
    const auto parsed = parse_posix_rule(rule);
    MILLRACE_CHECK(parsed.has_value());
    const Zone zone(parsed->standard_s, {}, *parsed);
    for (const DstGap gap : {DstGap::kRun, DstGap::kSkip}) {
      for (const DstOverlap overlap : {DstOverlap::kOnce, DstOverlap::kTwice}) {
        const Timing timing{.rule = *cron, .dst_gap = gap, .dst_overlap = overlap};
        MILLRACE_CHECK(!describe(timing, rule).empty());
        walk(timing, zone, time_from_ms(1'774'738'800'000));  // a day before Zurich's gap in 2026
        walk(timing, zone, time_from_ms(1'792'886'400'000));  // and one before its overlap
      }
    }
  }
  return 0;
}
