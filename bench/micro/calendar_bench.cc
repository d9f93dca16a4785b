// The calendar: the next instant of a schedule, and the parsing of its expression.
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "calendar/cron_parser.h"
#include "calendar/timing.h"
#include "calendar/zone_files.h"
#include "micro.h"

namespace millrace::bench {
namespace {

using calendar::Timing;
using calendar::Zone;

Zone zurich() {
  const auto files = calendar::ZoneFiles::open(std::string(calendar::kDefaultZoneDirectory));
  MILLRACE_CHECK(files.has_value());
  auto zone = files->load("Europe/Zurich");
  MILLRACE_CHECK(zone.has_value());
  return *std::move(zone);
}

// Instants of the years 2026 to 2035 in random order, since schedules do not fall due in order.
std::vector<Time> instants() {
  constexpr std::int64_t kBegin = 1'767'225'600'000;
  constexpr std::int64_t kEnd = 2'082'758'400'000;
  constexpr std::size_t kCount = 4'096;
  std::mt19937_64 dice(1);
  std::uniform_int_distribution<std::int64_t> draw(kBegin, kEnd);
  std::vector<Time> drawn;
  for (std::size_t i = 0; i < kCount; ++i) drawn.push_back(time_from_ms(draw(dice)));
  return drawn;
}

void next(benchmark::State& state, std::string_view text) {
  const auto cron = calendar::parse_cron(text);
  MILLRACE_CHECK(cron.has_value());
  const Timing timing{.rule = *cron};
  const Zone zone = zurich();
  const std::vector<Time> after = instants();
  std::size_t at = 0;
  for (auto _ : state) {
    const auto found = calendar::next_instant(timing, zone, after[at++ % after.size()]);
    MILLRACE_CHECK(found.has_value());
    benchmark::DoNotOptimize(found);
  }
}
BENCHMARK_CAPTURE(next, five_minutes, "*/5 * * * *")->Name("calendar/next/every_five_minutes");
BENCHMARK_CAPTURE(next, weekdays, "0 9 * * 1-5")->Name("calendar/next/weekdays_at_nine");
BENCHMARK_CAPTURE(next, leap_day, "0 0 29 2 *")->Name("calendar/next/leap_day");
// A February has a fifth Monday only every 28 years.
BENCHMARK_CAPTURE(next, rarest, "0 0 * 2 1#5")->Name("calendar/next/rarest");

void parse(benchmark::State& state, std::string_view text, bool comes) {
  for (auto _ : state) {
    const auto cron = calendar::parse_cron(text);
    MILLRACE_CHECK(cron.has_value() == comes);
    benchmark::DoNotOptimize(cron);
  }
}
BENCHMARK_CAPTURE(parse, five_minutes, "*/5 * * * *", true)
    ->Name("calendar/parse/every_five_minutes");
BENCHMARK_CAPTURE(parse, weekdays, "0 9 * * 1-5", true)->Name("calendar/parse/weekdays_at_nine");
BENCHMARK_CAPTURE(parse, leap_day, "0 0 29 2 *", true)->Name("calendar/parse/leap_day");
// Refused after examining 400 years: the longest possible parse.
BENCHMARK_CAPTURE(parse, never, "0 0 31 2,4,6,9,11 *", false)->Name("calendar/parse/never_comes");

}  // namespace
}  // namespace millrace::bench
