#include "cli/output.h"

#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using std::chrono::hours;
using std::chrono::minutes;
using std::chrono::seconds;

TEST(Printable, WritesControlsOut) {
  EXPECT_EQ(printable("plain"), "plain");
  EXPECT_EQ(printable("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(printable("\x1b[2Jgone"), "\\x1b[2Jgone");
  EXPECT_EQ(printable(std::string_view("\0", 1)), "\\x00");
  EXPECT_EQ(printable("\x7f"), "\\x7f");
}

TEST(Printable, KeepsCharactersAndShowsOtherBytes) {
  EXPECT_EQ(printable("gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f \xf0\x9f\x98\x80");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "\\u{9b}31m");  // CSI in eight bits
  EXPECT_EQ(printable("\xff\xc3"), "\\xff\\xc3");
  EXPECT_EQ(printable("\xed\xa0\x80"), "\\xed\\xa0\\x80");           // a surrogate
  EXPECT_EQ(printable("\xf4\x90\x80\x80"), "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
}

// U+202E would show "txt.exe" as "exe.txt".
TEST(Printable, WritesMarksOutThatReorderOrHideText) {
  EXPECT_EQ(printable("a\xe2\x80\xae"
                      "b"),
            "a\\u{202e}b");
  EXPECT_EQ(printable("a\xe2\x80\x8b\xef\xbb\xbf"), "a\\u{200b}\\u{feff}");
  EXPECT_EQ(printable("\xe2\x80\xa8"), "\\u{2028}");  // a separator of lines
  EXPECT_EQ(printable_block("a\n\xe2\x80\xae"), "a\n\\u{202e}");
}

TEST(PrintableJson, KeepsTheValueAndControlsNothing) {
  EXPECT_EQ(printable_json("{\"a\":\n\t\"\xc3\xbc \\u001b\"}\n"),
            "{\"a\":\n\t\"\xc3\xbc \\u001b\"}\n");
  EXPECT_EQ(printable_json("\"\xc2\x9b\x7f\xe2\x80\xae\""), "\"\\u009b\\u007f\\u202e\"");
  EXPECT_EQ(printable_json("\"\xf3\xa0\x80\x81\""), "\"\\udb40\\udc01\"");  // a tag
  EXPECT_EQ(printable_json("[1,\r2]"), "[1, 2]");
  EXPECT_EQ(printable_json("\xff"), "\\ufffd");
}

TEST(Printable, CutsToAWidth) {
  EXPECT_EQ(printable("abcdef", 6), "abcdef");
  EXPECT_EQ(printable("abcdefg", 6), "abc...");
  EXPECT_EQ(printable("\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc\xc3\xbc", 4), "\xc3\xbc...");
}

TEST(Printable, LeavesTheLinesOfABlock) { EXPECT_EQ(printable_block("a\n\tb\x1b"), "a\n\tb\\x1b"); }

TEST(RelativeTime, LooksBothWays) {
  const sdk::Timestamp now{hours{1'000'000}};
  EXPECT_EQ(relative_time(now - seconds{4}, now), "4s ago");
  EXPECT_EQ(relative_time(now + minutes{18}, now), "in 18m");
  EXPECT_EQ(relative_time(now, now), "0ms ago");
  EXPECT_EQ(relative_time(std::nullopt, now), "-");
}

TEST(ShortNumber, StaysShort) {
  EXPECT_EQ(short_number(0), "0");
  EXPECT_EQ(short_number(0.25), "0.25");
  EXPECT_EQ(short_number(2.54), "2.5");
  EXPECT_EQ(short_number(12.4), "12");
  EXPECT_EQ(short_number(9'999), "9999");
  EXPECT_EQ(short_number(12'345), "12.3k");
  EXPECT_EQ(short_number(1'234'567), "1.2M");
  EXPECT_EQ(short_number(999'960), "1.0M");
}

TEST(Table, AlignsColumns) {
  Table table({{"NAME"}, {"N", Align::kRight}, {"NOTE"}});
  table.add({"a", "1000", ""});
  table.add({"l\xc3\xb6nger", "2", "x"});
  EXPECT_EQ(table.text(),
            "NAME       N  NOTE\n"
            "a       1000\n"
            "l\xc3\xb6nger     2  x\n");
}

TEST(Table, CutsOnlyWhatMayGiveWay) {
  Table table(
      {{.title = "NAME", .least = 8}, {"COUNT", Align::kRight}, {.title = "NOTE", .least = 0}});
  table.add({"a-long-name-of-a-queue", "123456", "because of something"});
  table.add({"short", "1", ""});
  EXPECT_EQ(table.least_width(), 8U + 2 + 6);
  EXPECT_EQ(table.text(40),
            "NAME              COUNT  NOTE\n"
            "a-long-name-...  123456  because of s...\n"
            "short                 1\n");
  // A column that would be shorter than its cut mark disappears.
  EXPECT_EQ(table.text(22),
            "NAME             COUNT\n"
            "a-long-name...  123456\n"
            "short                1\n");
  EXPECT_EQ(table.text(3),
            "NAME       COUNT\n"
            "a-lon...  123456\n"
            "short          1\n");
}

TEST(Properties, LeaveOutWhatIsEmpty) {
  Properties lines;
  lines.add("id", "1");
  lines.add("worker", "");
  lines.add("last error", "none");
  EXPECT_EQ(lines.text(),
            "id:          1\n"
            "last error:  none\n");
}

}  // namespace
}  // namespace millrace::cli
