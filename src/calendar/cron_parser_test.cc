#include "calendar/cron_parser.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace millrace::calendar {
namespace {

using testing::HasSubstr;

std::string error_of(std::string_view text) {
  const auto cron = parse_cron(text);
  return cron ? "" : cron.error().message;
}

TEST(CronParser, NamesTheFieldWhatStandsThereAndWhatMay) {
  EXPECT_EQ(
      error_of("61 * * * *"),
      "minute: \"61\" can't stand here; write 0 to 59, *, a range such as 0-30, a step such as "
      "*/10, or a list of these");
  EXPECT_EQ(error_of("0 9 * * MON,FOO"),
            "day of week: \"FOO\" can't stand here (in \"MON,FOO\"); write 0 to 7 (0 and 7 are "
            "Sunday, 5 is Friday), SUN to SAT, *, ?, 5#3 (the third Friday), 5L (the last), a "
            "range such as MON-FRI, or a list of these");
  EXPECT_EQ(
      error_of("*/90 * * * *"),
      "minute: \"*/90\" can't stand here: a step is 1 to 59; write 0 to 59, *, a range such as "
      "0-30, a step such as */10, or a list of these");
  EXPECT_EQ(error_of("0 0 31 2 *"),
            "day of month: \"31\" never comes in month \"2\" with day of week \"*\"; write a day "
            "that one of the months has");
  EXPECT_EQ(error_of("@reboot"),
            "\"@reboot\" is not one of @yearly, @monthly, @weekly, @daily, @hourly");
  EXPECT_EQ(
      error_of("* * * *"),
      "a cron expression has five fields (minute, hour, day of month, month, day of week), or "
      "six with the second first; \"* * * *\" has 4");
}

struct Wrong {
  std::string expression;
  std::string field;  // how the message begins
};

const std::vector<Wrong> kWrong{
    {"60 * * * * *", "second"},
    {"-1 * * * *", "minute"},
    {"1- * * * *", "minute"},
    {"-5 * * * *", "minute"},
    {"1-2-3 * * * *", "minute"},
    {"5/ * * * *", "minute"},
    {"*/0 * * * *", "minute"},
    {"*/5/2 * * * *", "minute"},
    {"30-10 * * * *", "minute"},
    {"1,,2 * * * *", "minute"},
    {",1 * * * *", "minute"},
    {"1, * * * *", "minute"},
    {"** * * * *", "minute"},
    {"? * * * *", "minute"},
    {"1.5 * * * *", "minute"},
    {"0001 * * * *", "minute"},
    {"L * * * *", "minute"},
    {"5#3 * * * *", "minute"},
    {"JAN * * * *", "minute"},
    {"* 24 * * *", "hour"},
    {"* */24 * * *", "hour"},
    {"* 22-2 * * *", "hour"},
    {"* ? * * *", "hour"},
    {"0 0 0 * *", "day of month"},
    {"0 0 32 * *", "day of month"},
    {"0 0 W * *", "day of month"},
    {"0 0 0W * *", "day of month"},
    {"0 0 32W * *", "day of month"},
    {"0 0 1-5W * *", "day of month"},
    {"0 0 L-3 * *", "day of month"},
    {"0 0 L/2 * *", "day of month"},
    {"0 0 5L * *", "day of month"},
    {"0 0 ?,1 * *", "day of month"},
    {"0 0 ?/2 * *", "day of month"},
    {"0 0 WL * *", "day of month"},
    {"0 0 1 0 *", "month"},
    {"0 0 1 13 *", "month"},
    {"0 0 1 JANUARY *", "month"},
    {"0 0 1 NOV-FEB *", "month"},
    {"0 0 1 ? *", "month"},
    {"0 0 1 */13 *", "month"},
    {"0 0 * * 8", "day of week"},
    {"0 0 * * L", "day of week"},
    {"0 0 * * 8L", "day of week"},
    {"0 0 * * 5#0", "day of week"},
    {"0 0 * * 5#6", "day of week"},
    {"0 0 * * #3", "day of week"},
    {"0 0 * * 5#", "day of week"},
    {"0 0 * * 8#1", "day of week"},
    {"0 0 * * FRI-MON", "day of week"},
    {"0 0 * * 15W", "day of week"},
    {"0 0 * * ?#2", "day of week"},
    {"0 0 30 2 *", "day of month"},
    {"0 0 31 4,6,9,11 *", "day of month"},
    {"0 0 31W 2 *", "day of month"},
    {"0 0 1-7 * */7#5", "day of week"},
    {"", "a cron expression"},
    {"   ", "a cron expression"},
    {"* * *", "a cron expression"},
    {"* * * * * * *", "a cron expression"},
    {"@", "\"@\""},
    {"@daily @daily", "a cron expression"},
    {"0\n0 * * * *", "minute"},
};

TEST(CronParser, RefusesInEachField) {
  for (const Wrong& one : kWrong) {
    const std::string error = error_of(one.expression);
    EXPECT_TRUE(error.starts_with(one.field)) << '"' << one.expression << "\": " << error;
  }
}

TEST(CronParser, SaysWhatToWriteInstead) {
  EXPECT_THAT(error_of("0 0 * * L"),
              HasSubstr("L needs a day; write 6 for each Saturday, or 6L for the month's last"));
  EXPECT_THAT(error_of("0 0 * * FRI-MON"), HasSubstr("write two with a comma between"));
  EXPECT_THAT(error_of("0 0 * * 5#9"), HasSubstr("a number from 1 to 5 must follow"));
}

TEST(CronParser, HasBoundsAndShowsOnlyWhatCanBePrinted) {
  const std::string largest = std::string(kMaxCronBytes - 9, ' ') + "0 0 * * *";
  EXPECT_EQ(error_of(largest), "");
  EXPECT_THAT(error_of(largest + " "), HasSubstr("at most 512 bytes; this one has 513"));
  const std::string odd = error_of("\x01\xc3\xa9" + std::string(100, 'x') + " * * * *");
  EXPECT_THAT(odd, HasSubstr("\"???" + std::string(37, 'x') + "...\""));
}

TEST(CronParser, TakesWhatIsWrittenInOtherWays) {
  for (const char* text :
       {"* * * * *", "*,5 * * * *", "0-59/59 * * * *", "0 0 lw * *", "0 0 l * ?", "0 0 1w,15W * *",
        "0 0 ? * mon-Sun", "0 0 * * 0-7", "0 0 * * fril,Mon#1,2", "0 0 * * SUN-SUN", "@DAILY",
        "0 0 29 2 1", "0 0 30 2 1", "59 59 23 31 12 7", "00 09 01 01 00"}) {
    EXPECT_EQ(error_of(text), "") << text;
  }
  EXPECT_EQ(parse_cron("0 0 * * SUN-SUN")->weekdays, 1);
  EXPECT_EQ(parse_cron("0 0 * * SAT-SUN")->weekdays, 0b1000001);
  EXPECT_EQ(parse_cron("0 0 * * 1/2")->weekdays, 0b0101011);  // Monday, Wednesday, Friday, Sunday
}

TEST(CronParser, WarnsOfEachSecond) {
  EXPECT_THAT(warnings(*parse_cron("* * * * * *")), testing::ElementsAre("It fires each second."));
  EXPECT_THAT(warnings(*parse_cron("0-59 */1 0-23 * * MON")), testing::SizeIs(1));
  for (const char* text : {"* * * * *", "*/2 * * * * *", "* 0 * * * *", "* * 9 * * *"}) {
    EXPECT_THAT(warnings(*parse_cron(text)), testing::IsEmpty()) << text;
  }
}

}  // namespace
}  // namespace millrace::calendar
