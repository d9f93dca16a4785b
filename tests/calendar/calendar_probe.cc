// Answers lines with the instants of a schedule, for calculators that are written in another
// language to compare with. A line, its parts apart by tabs:
//
//     expression  zone  run|skip  once|twice  from  until        (seconds since the Unix epoch)
//
// The answer: the instants of (from, until], apart by blanks; or "error: " and why.
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <string>
#include <vector>

#include "calendar/cron_parser.h"
#include "calendar/timing.h"
#include "calendar/zone_files.h"

namespace {

using namespace millrace;
using namespace millrace::calendar;

std::vector<std::string> parts_of(const std::string& line) {
  std::vector<std::string> parts;
  std::size_t begin = 0;
  while (true) {
    const std::size_t end = line.find('\t', begin);
    parts.push_back(line.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

std::string answer(const ZoneFiles& files, const std::string& line) {
  const std::vector<std::string> parts = parts_of(line);
  if (parts.size() != 6) return "error: a line has six parts";
  const auto cron = parse_cron(parts[0]);
  if (!cron) return "error: " + cron.error().message;
  const auto zone = files.load(parts[1]);
  if (!zone) return "error: " + zone.error().message;
  const Timing timing{.rule = *cron,
                      .dst_gap = parts[2] == "run" ? DstGap::kRun : DstGap::kSkip,
                      .dst_overlap = parts[3] == "once" ? DstOverlap::kOnce : DstOverlap::kTwice};
  const Time from = time_from_ms(std::atoll(parts[4].c_str()) * 1000);
  const Time until = time_from_ms(std::atoll(parts[5].c_str()) * 1000);
  std::vector<Time> found;
  for (auto next = next_instant(timing, *zone, from); next && *next <= until;
       next = next_instant(timing, *zone, *next)) {
    found.push_back(*next);
  }
  std::vector<Time> backwards;
  for (auto previous = previous_instant(timing, *zone, until + Duration{1});
       previous && *previous > from; previous = previous_instant(timing, *zone, *previous)) {
    backwards.push_back(*previous);
  }
  std::reverse(backwards.begin(), backwards.end());
  if (found != backwards) return "error: backwards it has other instants";
  std::string text;
  for (const Time time : found) text += std::to_string(to_ms(time) / 1000) + " ";
  return text;
}

}  // namespace

int main() {
  const auto files = ZoneFiles::open(std::string(kDefaultZoneDirectory));
  if (!files) {
    std::cerr << files.error().message << '\n';
    return 1;
  }
  for (std::string line; std::getline(std::cin, line);) {
    std::cout << answer(*files, line) << '\n';
  }
}
