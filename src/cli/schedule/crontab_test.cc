#include "cli/schedule/crontab.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

Crontab parse(std::string_view text) { return parse_crontab(text, CrontabForm::kUser); }

// The single entry of a crontab without faults.
CrontabEntry entry(std::string_view text, CrontabForm form = CrontabForm::kUser) {
  const Crontab crontab = parse_crontab(text, form);
  EXPECT_THAT(crontab.faults, IsEmpty()) << crontab.faults.front().message;
  EXPECT_EQ(crontab.entries.size(), 1U);
  return crontab.entries.empty() ? CrontabEntry{} : crontab.entries.front();
}

// The single fault of a crontab, as "LINE: message".
std::string fault(std::string_view text, CrontabForm form = CrontabForm::kUser) {
  const Crontab crontab = parse_crontab(text, form);
  EXPECT_EQ(crontab.faults.size(), 1U) << text;
  if (crontab.faults.size() != 1) return {};
  return std::to_string(crontab.faults[0].line) + ": " + crontab.faults[0].message;
}

TEST(ParseCrontab, ReadsALine) {
  const CrontabEntry read = entry("  */5 0\t1-7 * MON-FRI \t /usr/bin/backup --all 'a  b'\n");
  EXPECT_EQ(read.line, 1U);
  EXPECT_EQ(read.cron, "*/5 0 1-7 * MON-FRI");
  EXPECT_EQ(read.command, "/usr/bin/backup --all 'a  b'");
  EXPECT_EQ(read.input, std::nullopt);
  EXPECT_EQ(read.user, "");
  EXPECT_EQ(read.shell, "");
  EXPECT_EQ(read.timezone, "");
  EXPECT_THAT(read.environment, IsEmpty());
}

TEST(ParseCrontab, CountsLinesAndPassesOverCommentsAndEmptyOnes) {
  const Crontab crontab = parse("# m h dom mon dow\r\n\n \t\n  # more\n0 1 * * * a\n0 2 * * * b");
  ASSERT_EQ(crontab.entries.size(), 2U);
  EXPECT_EQ(crontab.entries[0].line, 5U);
  EXPECT_EQ(crontab.entries[1].line, 6U);
  EXPECT_EQ(crontab.entries[1].command, "b");
  EXPECT_THAT(parse("").entries, IsEmpty());
  EXPECT_EQ(entry("0 1 * * * a\r\n").command, "a");
}

TEST(ParseCrontab, VariablesHoldForTheLinesAfterThem) {
  const Crontab crontab = parse(
      "0 1 * * * a\n"
      "CRON_TZ=Europe/Zurich\nSHELL = /bin/bash \nPATH=/usr/bin:/bin\n\"QUOTED\" = ' x = y '\n"
      "0 2 * * * b\n"
      "CRON_TZ=\nPATH=\"/opt/bin\"\n"
      "0 3 * * * c\n");
  EXPECT_THAT(crontab.faults, IsEmpty());
  ASSERT_EQ(crontab.entries.size(), 3U);
  EXPECT_EQ(crontab.entries[0].timezone, "");
  EXPECT_THAT(crontab.entries[0].environment, IsEmpty());
  EXPECT_EQ(crontab.entries[1].timezone, "Europe/Zurich");
  EXPECT_EQ(crontab.entries[1].shell, "/bin/bash");
  EXPECT_THAT(crontab.entries[1].environment,
              ElementsAre(Pair("PATH", "/usr/bin:/bin"), Pair("QUOTED", " x = y ")));
  EXPECT_EQ(crontab.entries[2].timezone, "");
  EXPECT_THAT(crontab.entries[2].environment,
              ElementsAre(Pair("PATH", "/opt/bin"), Pair("QUOTED", " x = y ")));
}

TEST(ParseCrontab, AnAssignmentInACommandIsNoVariable) {
  EXPECT_EQ(entry("0 1 * * * LANG=C sort").command, "LANG=C sort");
  EXPECT_EQ(entry("@daily A=b c").command, "A=b c");
}

TEST(ParseCrontab, SaysWhatIsNotTakenOver) {
  const Crontab crontab =
      parse("MAILTO=root\nMAILTO=\nMAILFROM=me\nRANDOM_DELAY=5\nTZ=UTC\n0 1 * * * a\n");
  ASSERT_EQ(crontab.notes.size(), 4U);
  EXPECT_EQ(crontab.notes[0].line, 1U);
  EXPECT_THAT(crontab.notes[0].message, HasSubstr("no mail"));
  EXPECT_EQ(crontab.notes[1].line, 3U);
  EXPECT_THAT(crontab.notes[2].message, HasSubstr("--jitter"));
  EXPECT_THAT(crontab.notes[3].message, HasSubstr("CRON_TZ"));
  ASSERT_EQ(crontab.entries.size(), 1U);
  EXPECT_THAT(crontab.entries[0].environment, ElementsAre(Pair("TZ", "UTC")));
}

TEST(ParseCrontab, APercentSignBeginsStandardInput) {
  CrontabEntry read = entry("0 1 * * * mail -s hi me%Hello,%%you%");
  EXPECT_EQ(read.command, "mail -s hi me");
  EXPECT_EQ(read.input, "Hello,\n\nyou\n");
  EXPECT_EQ(entry("0 1 * * * cat%one").input, "one\n");
  EXPECT_EQ(entry("0 1 * * * cat%").input, "");
  EXPECT_EQ(entry("0 1 * * * cat%%").input, "\n");
}

TEST(ParseCrontab, ABackslashKeepsAPercentSign) {
  CrontabEntry read = entry(R"(0 1 * * * date +\%F \n%a\%b\c)");
  EXPECT_EQ(read.command, R"(date +%F \n)");
  EXPECT_EQ(read.input, "a%b\\c\n");
  // As in cron: the first backslash preserves the second.
  read = entry(R"(0 1 * * * echo \\%in)");
  EXPECT_EQ(read.command, R"(echo \\)");
  EXPECT_EQ(read.input, "in\n");
  EXPECT_EQ(entry(R"(0 1 * * * echo \)").command, R"(echo \)");
}

TEST(ParseCrontab, KnowsCronsNamesOfTimes) {
  EXPECT_EQ(entry("@daily a").cron, "@daily");
  EXPECT_EQ(entry("@Midnight a").cron, "@daily");
  EXPECT_EQ(entry("@annually a").cron, "@yearly");
  EXPECT_EQ(entry("@hourly\ta b").command, "a b");
  EXPECT_THAT(fault("\n@reboot a"), HasSubstr("2: @reboot is no time"));
  EXPECT_THAT(fault("@fortnightly a"), HasSubstr("@yearly, @monthly"));
}

TEST(ParseCrontab, ASystemsCrontabHasUsers) {
  const CrontabEntry read = entry("0 1 * * * www-data  /usr/bin/php a.php", CrontabForm::kSystem);
  EXPECT_EQ(read.user, "www-data");
  EXPECT_EQ(read.command, "/usr/bin/php a.php");
  EXPECT_EQ(entry("@daily root a", CrontabForm::kSystem).user, "root");
  EXPECT_THAT(fault("0 1 * * * /usr/bin/php a.php", CrontabForm::kSystem),
              HasSubstr("'/usr/bin/php' is no name of a user"));
  EXPECT_THAT(fault("0 1 * * * root", CrontabForm::kSystem), HasSubstr("behind the user"));
  EXPECT_EQ(entry("@daily " + std::string(32, 'u') + " a", CrontabForm::kSystem).user.size(), 32U);
  EXPECT_THAT(fault("@daily " + std::string(33, 'u') + " a", CrontabForm::kSystem),
              HasSubstr("no name of a user"));
}

TEST(ParseCrontab, EachWrongLineIsAFaultThatSaysWhatMayStandThere) {
  EXPECT_EQ(fault("\n0 25 * * * a").substr(0, 9), "2: hour: ");
  EXPECT_THAT(fault("0 25 * * * a"), HasSubstr("0 to 23"));
  EXPECT_THAT(fault("0 0 31 2 * a"), HasSubstr("never comes"));
  EXPECT_THAT(fault("0 1 * *"), HasSubstr("five fields"));
  EXPECT_THAT(fault("hello"), HasSubstr("five fields"));
  EXPECT_THAT(fault("0 1 * * *"), HasSubstr("the command is missing"));
  EXPECT_THAT(fault("0 1 * * * %input"), HasSubstr("the command is missing"));
  EXPECT_THAT(fault("@daily"), HasSubstr("the command is missing"));
  EXPECT_THAT(fault("SHELL=bash"), HasSubstr("from /"));
  EXPECT_THAT(fault("0 1 * * * \xff"), HasSubstr("UTF-8"));
  EXPECT_THAT(fault(std::string_view("0 1 * * * a\0b", 13)), HasSubstr("no text"));
  const Crontab crontab = parse("0 1 * * * a\nhello\n0 2 * * * b\n61 2 * * * c\n");
  EXPECT_EQ(crontab.entries.size(), 2U);
  ASSERT_EQ(crontab.faults.size(), 2U);
  EXPECT_EQ(crontab.faults[0].line, 2U);
  EXPECT_EQ(crontab.faults[1].line, 4U);
}

TEST(ParseCrontab, HasLimits) {
  const std::string line = "0 1 * * * ";
  const std::string longest(kMaxCrontabLineBytes - line.size(), 'a');
  EXPECT_EQ(entry(line + longest).command, longest);
  EXPECT_THAT(fault(line + longest + "a"), HasSubstr("a line has at most 8192"));

  std::string variables;
  for (std::size_t i = 0; i < kMaxCrontabVariables; ++i) {
    variables += "V" + std::to_string(i) + "=x\n";
  }
  // Repeating them adds no more.
  EXPECT_EQ(entry(variables + variables + line + "a").environment.size(), kMaxCrontabVariables);
  EXPECT_THAT(fault(variables + "ONE_MORE=x\n"), HasSubstr("101: more than 100 variables"));

  std::string whole(kMaxCrontabBytes, '\n');
  EXPECT_THAT(parse(whole).faults, IsEmpty());
  EXPECT_THAT(fault(whole + "\n"), HasSubstr("at most 1048576 bytes"));
}

TEST(ProgramOf, FindsTheProgram) {
  EXPECT_EQ(program_of("/opt/a/backup.sh --all"), "backup.sh");
  EXPECT_EQ(program_of("backup"), "backup");
  EXPECT_EQ(program_of("LANG=C TZ=UTC sort -u"), "sort");
  EXPECT_EQ(program_of("cd /srv/app && bin/rails runner x"), "rails");
  EXPECT_EQ(program_of("cd /srv; ./a"), "a");
  EXPECT_EQ(program_of("cd /srv"), "cd");
  EXPECT_EQ(program_of("A=b"), "Ab");
  EXPECT_EQ(program_of("[ -x /bin/a ]"), "command");
  EXPECT_EQ(program_of(""), "command");
  EXPECT_EQ(program_of(std::string(65, 'a')), std::string(64, 'a'));
}

}  // namespace
}  // namespace millrace::cli
