#include "cli/schedule/import.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/output.h"
#include "cli/shell_job.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

using testing::HasSubstr;

ImportDefaults defaults() {
  ImportDefaults defaults{.timezone = "Europe/Zurich", .queue = "crontab", .type = "crontab"};
  defaults.schedule.job.max_attempts = 1;
  defaults.schedule.missed = "skip";
  return defaults;
}

std::vector<Imported> imported(std::string_view crontab, const ImportDefaults& with = defaults(),
                               CrontabForm form = CrontabForm::kUser) {
  const Crontab parsed = parse_crontab(crontab, form);
  EXPECT_TRUE(parsed.faults.empty());
  auto made = import_crontab(parsed.entries, with);
  EXPECT_TRUE(made) << made.error().front().message;
  return made ? std::move(*made) : std::vector<Imported>{};
}

TEST(ImportCrontab, MakesASpecificationOfALine) {
  const auto made = imported("A=b\n0 3 * * 1-5 /opt/backup.sh --all%in\n");
  ASSERT_EQ(made.size(), 1U);
  EXPECT_EQ(made[0].line, 2U);
  EXPECT_EQ(made[0].name, "backup.sh");
  EXPECT_EQ(made[0].what, "/opt/backup.sh --all");
  EXPECT_EQ(to_json(made[0].schedule),
            R"({"cron":"0 3 * * 1-5","timezone":"Europe/Zurich","job":{"type":"crontab",)"
            R"("queue":"crontab","max_attempts":1,"payload":{"command":"/opt/backup.sh --all",)"
            R"("input":"in\n","environment":{"A":"b"}}},"missed":"skip"})");
}

TEST(ImportCrontab, WhatItSubmitsIsWhatTheWorkerReads) {
  const auto made = imported("SHELL=/bin/bash\nPATH=/bin\n@daily printf 'a\tb' \"é\"%x%y\n");
  ASSERT_EQ(made.size(), 1U);
  const auto job = parse_shell_payload(made[0].schedule.job.payload);
  ASSERT_TRUE(job) << job.error().message;
  EXPECT_EQ(*job, (ShellJob{.command = "printf 'a\tb' \"é\"",
                            .shell = "/bin/bash",
                            .input = "x\ny\n",
                            .environment = {{"PATH", "/bin"}}}));
}

TEST(ImportCrontab, TheLinesZoneGoesBeforeTheMachines) {
  const auto made = imported("@daily a\nCRON_TZ=Asia/Tokyo\n@daily b\n");
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].schedule.timezone, "Europe/Zurich");
  EXPECT_EQ(made[1].schedule.timezone, "Asia/Tokyo");
}

TEST(ImportCrontab, NamesDiffer) {
  ImportDefaults with = defaults();
  with.prefix = "box7.";
  const auto made =
      imported("@daily a x\n@daily b\n@hourly /bin/a y\n@daily a-2\n@daily a\n", with);
  std::vector<std::string> names;
  for (const Imported& one : made) names.push_back(one.name);
  EXPECT_THAT(names,
              testing::ElementsAre("box7.a", "box7.b", "box7.a-2", "box7.a-2-2", "box7.a-3"));
}

TEST(ImportCrontab, EachUserHasAQueue) {
  const auto made =
      imported("@daily root a\n@daily www-data b\n", defaults(), CrontabForm::kSystem);
  ASSERT_EQ(made.size(), 2U);
  EXPECT_EQ(made[0].schedule.job.queue, "crontab.root");
  EXPECT_EQ(made[1].schedule.job.queue, "crontab.www-data");
}

TEST(ImportCrontab, NamesTheLineOfWhatDoesNotFit) {
  ImportDefaults with = defaults();
  const CrontabEntry entry{.line = 7, .cron = "@daily", .command = "a"};
  with.prefix = std::string(127, 'p');
  EXPECT_TRUE(import_crontab({entry}, with));
  with.prefix += 'p';
  auto made = import_crontab({entry}, with);
  ASSERT_FALSE(made);
  EXPECT_EQ(made.error().front().line, 7U);
  EXPECT_THAT(made.error().front().message, HasSubstr("1 to 128 characters"));

  with = defaults();
  with.queue = "two words";
  made = import_crontab({entry}, with);
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().front().message, HasSubstr("'two words' does not fit"));
}

TEST(ImportCrontab, APayloadHasALimit) {
  const std::size_t around = std::string_view(R"({"command":""})").size();
  CrontabEntry entry{.line = 7, .cron = "@daily"};
  entry.command = std::string((64 << 10) - around, 'a');
  EXPECT_TRUE(import_crontab({entry}, defaults()));
  entry.command += 'a';
  const auto made = import_crontab({entry}, defaults());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().front().message, HasSubstr("65537 bytes, a schedule's at most 65536"));
}

TEST(ImportCrontab, ASetHasALimit) {
  std::vector<CrontabEntry> entries(10'000, {.line = 1, .cron = "@daily", .command = "a"});
  EXPECT_TRUE(import_crontab(entries, defaults()));
  entries.push_back(entries.front());
  const auto made = import_crontab(entries, defaults());
  ASSERT_FALSE(made);
  EXPECT_THAT(made.error().front().message, HasSubstr("at most 10000"));
}

TEST(ImportList, TakesDefaultsForWhatIsNotSaid) {
  const auto entries = read_foreign_list(
      R"({"a":{"class":"A","cron":"@daily"},"b":{"class":"B","cron":"@daily Asia/Tokyo",)"
      R"("queue":"q","opts":{"max_attempts":9}},"c":{"class":"C","schedule":60}})");
  ASSERT_TRUE(entries);
  ImportDefaults with{.timezone = "Europe/Zurich", .queue = "low", .prefix = "x."};
  with.schedule.job.max_attempts = 2;
  with.schedule.overlap = "skip";
  const auto made = import_list(*entries, with);
  ASSERT_TRUE(made);
  ASSERT_EQ(made->size(), 3U);
  EXPECT_EQ(made->at(0).name, "x.a");
  EXPECT_EQ(to_json(made->at(0).schedule),
            R"({"cron":"@daily","timezone":"Europe/Zurich","job":{"type":"A","queue":"low",)"
            R"("max_attempts":2,"payload":null},"overlap":"skip"})");
  EXPECT_EQ(to_json(made->at(1).schedule),
            R"({"cron":"@daily","timezone":"Asia/Tokyo","job":{"type":"B","queue":"q",)"
            R"("max_attempts":9,"payload":null},"overlap":"skip"})");
  EXPECT_EQ(made->at(2).schedule.timezone, "");  // an interval has none
}

TEST(SetOf, GivesTheServersFaultsTheirLines) {
  const auto made = imported("@daily a\n\n@daily b/c\n");
  EXPECT_EQ(set_of(made).schedules.size(), 2U);
  EXPECT_EQ(set_of(made).schedules[1].first, "c");
  const Lines lines = lines_of(made);
  EXPECT_EQ(lines.of("/schedules/a/timezone"), 1U);
  EXPECT_EQ(lines.of("/schedules/c/cron"), 3U);
}

TEST(ImportTable, ShowsWhatBecomesOfEachLine) {
  const std::string table = import_table(imported("\n0 3 * * * /opt/a --x\n"), kNoLimit);
  EXPECT_EQ(table,
            "LINE  NAME  RULE       ZONE           QUEUE    WHAT\n"
            "   2  a     0 3 * * *  Europe/Zurich  crontab  /opt/a --x\n");
}

TEST(OwnerOf, FitsTheServer) {
  EXPECT_EQ(owner_of("crontab", "-"), "crontab");
  EXPECT_EQ(owner_of("crontab", "/etc/cron.d/my jobs"), "crontab:/etc/cron.d/my-jobs");
  const std::string longest = "/" + std::string(119, 'a');
  EXPECT_EQ(owner_of("crontab", longest), "crontab:" + longest);
  EXPECT_EQ(owner_of("crontab", "/x" + longest.substr(1)),
            "crontab:" + std::string("x") + longest.substr(1));
}

}  // namespace
}  // namespace millrace::cli
