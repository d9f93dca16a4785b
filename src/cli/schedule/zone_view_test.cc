#include "cli/schedule/zone_view.h"

#include <gtest/gtest.h>

#include "base/time.h"
#include "calendar/posix_rule.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

sdk::Timestamp at(std::string_view text) { return *parse_rfc3339(text); }

// Zurich's rule, whatever data this machine has.
calendar::Zone zurich() {
  const auto rule = calendar::parse_posix_rule("CET-1CEST,M3.5.0,M10.5.0/3");
  EXPECT_TRUE(rule);
  return calendar::Zone(3'600, {}, *rule);
}

TEST(CivilTime, ShowsTheClockOfAZone) {
  EXPECT_EQ(civil_time(at("2026-03-01T23:30:00.999Z"), 0), "Sun 2026-03-01 23:30:00");
  EXPECT_EQ(civil_time(at("2026-03-01T23:30:00Z"), 3'600), "Mon 2026-03-02 00:30:00");
  EXPECT_EQ(civil_time(at("2026-03-01T00:30:00Z"), -3'600), "Sat 2026-02-28 23:30:00");
}

TEST(OffsetText, HasSecondsWhereThereAreSome) {
  EXPECT_EQ(offset_text(0), "+00:00");
  EXPECT_EQ(offset_text(7'200), "+02:00");
  EXPECT_EQ(offset_text(-12'600), "-03:30");
  EXPECT_EQ(offset_text(2'048), "+00:34:08");
}

TEST(InstantsTable, MarksAChangeOfTheClock) {
  const std::vector<sdk::Timestamp> spring{at("2026-03-28T01:30:00Z"), at("2026-03-29T01:00:00Z"),
                                           at("2026-03-30T00:30:00Z")};
  EXPECT_EQ(instants_table(spring, "Europe/Zurich", zurich(), at("2026-03-28T00:30:00Z"), kNoLimit),
            "Europe/Zurich            OFFSET  UTC                      WHEN\n"
            "Sat 2026-03-28 02:30:00  +01:00  Sat 2026-03-28 01:30:00  in 1h\n"
            "Sun 2026-03-29 03:00:00  +02:00  Sun 2026-03-29 01:00:00  in 1d  * clock forward 1h\n"
            "Mon 2026-03-30 02:30:00  +02:00  Mon 2026-03-30 00:30:00  in 2d\n");
  const std::vector<sdk::Timestamp> autumn{at("2026-10-25T00:30:00Z"), at("2026-10-25T01:30:00Z")};
  EXPECT_EQ(instants_table(autumn, "Europe/Zurich", zurich(), autumn[0], kNoLimit),
            "Europe/Zurich            OFFSET  UTC                      WHEN\n"
            "Sun 2026-10-25 02:30:00  +02:00  Sun 2026-10-25 00:30:00  0ms ago\n"
            "Sun 2026-10-25 02:30:00  +01:00  Sun 2026-10-25 01:30:00  in 1h    * clock back 1h\n");
}

TEST(InstantsTable, ShowsUtcOnce) {
  const std::vector<sdk::Timestamp> next{at("2026-03-28T01:30:00Z")};
  const std::string utc =
      "UTC                      WHEN\n"
      "Sat 2026-03-28 01:30:00  in 1h\n";
  const sdk::Timestamp now = at("2026-03-28T00:30:00Z");
  EXPECT_EQ(instants_table(next, "UTC", calendar::Zone(), now, kNoLimit), utc);
  EXPECT_EQ(instants_table(next, "No/Where", std::nullopt, now, kNoLimit), utc);
}

TEST(ZoneHere, KnowsOnlyNames) {
  EXPECT_FALSE(zone_here("No/Where"));
  EXPECT_FALSE(zone_here("/etc/localtime"));
}

std::string machine(const std::optional<std::string>& tz, bool has_localtime,
                    std::string_view localtime, std::string_view file = {}) {
  const auto zone = zone_of_machine(tz, has_localtime, localtime, file);
  return zone ? *zone : "?";
}

TEST(ZoneOfMachine, IsWhatCronGoesBy) {
  EXPECT_EQ(machine("Asia/Tokyo", true, "/usr/share/zoneinfo/Europe/Zurich"), "Asia/Tokyo");
  EXPECT_EQ(machine(":Asia/Tokyo", true, ""), "Asia/Tokyo");
  EXPECT_EQ(machine("/usr/share/zoneinfo/Asia/Tokyo", true, ""), "Asia/Tokyo");
  EXPECT_EQ(machine("", true, "/usr/share/zoneinfo/Europe/Zurich"), "Europe/Zurich");
  EXPECT_EQ(machine({}, true, "../usr/share/zoneinfo/Europe/Zurich"), "Europe/Zurich");
  EXPECT_EQ(machine({}, true, "", "Europe/Zurich"), "Europe/Zurich");  // a copy, no link
  EXPECT_EQ(machine({}, false, "", "Europe/Zurich"), "UTC");
  EXPECT_EQ(machine({}, true, ""), "?");
  EXPECT_EQ(machine("/tmp/zone", true, "/usr/share/zoneinfo/Europe/Zurich"), "?");
}

}  // namespace
}  // namespace millrace::cli
