#include "cli/schedule/foreign_list.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<ForeignEntry> read(std::string_view json) {
  auto entries = read_foreign_list(json);
  EXPECT_TRUE(entries) << entries.error().front().message;
  return entries ? std::move(*entries) : std::vector<ForeignEntry>{};
}

ForeignEntry one(std::string_view members) {
  const auto entries = read(fmt::format("[{{{}}}]", members));
  EXPECT_EQ(entries.size(), 1U);
  return entries.empty() ? ForeignEntry{} : entries.front();
}

std::vector<std::string> faults(std::string_view json) {
  const auto entries = read_foreign_list(json);
  EXPECT_FALSE(entries) << json;
  std::vector<std::string> texts;
  if (entries) return texts;
  for (const FileFault& fault : entries.error()) {
    texts.push_back(fmt::format("{}: {}", fault.line, fault.message));
  }
  return texts;
}
std::vector<std::string> faults_of(std::string_view members) {
  return faults(fmt::format("[{{{}}}]", members));
}

TEST(ReadForeignList, ReadsSidekiqCron) {
  const auto list =
      read(R"([{"name":"Hard worker - every 5min","cron":"*/5 * * * * Europe/Zurich",)"
           R"("klass":"Jobs::Hard","args":["a",1],"queue":"low","status":"disabled",)"
           R"("description":"d","active_job":false,"date_as_argument":false}])");
  ASSERT_EQ(list.size(), 1U);
  EXPECT_EQ(list[0].name, "Hard-worker---every-5min");
  EXPECT_EQ(list[0].schedule.cron, "*/5 * * * *");
  EXPECT_EQ(list[0].schedule.timezone, "Europe/Zurich");
  EXPECT_EQ(list[0].schedule.job.type, "Jobs::Hard");
  EXPECT_EQ(list[0].schedule.job.payload, R"(["a",1])");
  EXPECT_EQ(list[0].schedule.job.queue, "low");
  EXPECT_EQ(list[0].schedule.paused, true);
}

TEST(ReadForeignList, AnObjectNamesItsEntries) {
  const auto entries = read(
      "{\n\"a\": {\"class\":\"A\",\"cron\":\"@daily\",\"status\":\"enabled\"},\n"
      "\"b\":\n {\"class\":\"B\",\"cron\":\"0 0 * * MON/2\"}}");
  ASSERT_EQ(entries.size(), 2U);
  EXPECT_EQ(entries[0].name, "a");
  EXPECT_EQ(entries[0].line, 2U);
  EXPECT_EQ(entries[0].schedule.paused, false);
  EXPECT_EQ(entries[0].schedule.job.payload, "null");
  EXPECT_EQ(entries[1].line, 4U);
  EXPECT_EQ(entries[1].schedule.cron, "0 0 * * MON/2");  // no zone
  EXPECT_EQ(entries[1].schedule.timezone, "");
}

TEST(ReadForeignList, ReadsCeleryBeat) {
  const auto beat = read(
      R"({"add":{"task":"tasks.add","schedule":30.0,"args":[16,16],"options":{"queue":"fast"}},)"
      R"("report":{"task":"tasks.report","schedule":{"minute":0,"hour":"*/2, 3",)"
      R"("day_of_week":[1,5]},"kwargs":{"a":1},"args":[2]}})");
  ASSERT_EQ(beat.size(), 2U);
  EXPECT_EQ(beat[0].schedule.every, sdk::Milliseconds{30'000});
  EXPECT_EQ(beat[0].schedule.job.type, "tasks.add");
  EXPECT_EQ(beat[0].schedule.job.queue, "fast");
  EXPECT_EQ(beat[0].schedule.job.payload, "[16,16]");
  EXPECT_EQ(beat[1].schedule.cron, "0 */2,3 * * 1,5");
  EXPECT_EQ(beat[1].schedule.job.payload, R"({"args":[2],"kwargs":{"a":1}})");
}

TEST(ReadForeignList, ReadsDjangoCeleryBeatAndRedBeat) {
  const auto django =
      one(R"("name":"n","task":"t","interval":{"every":10,"period":"minutes"},"crontab":null,)"
          R"("args":"[]","kwargs":"{\"a\": 1}","enabled":false,"one_off":false,)"
          R"("total_run_count":7,"last_run_at":"x")");
  EXPECT_EQ(django.schedule.every, sdk::Milliseconds{600'000});
  EXPECT_EQ(django.schedule.job.payload, R"({"a": 1})");
  EXPECT_EQ(django.schedule.paused, true);
  const auto crontab =
      one(R"("name":"n","task":"t","crontab":{"minute":"5","hour":"4","day_of_month":"1",)"
          R"("month_of_year":"jan","timezone":"Asia/Tokyo"})");
  EXPECT_EQ(crontab.schedule.cron, "5 4 1 jan *");
  EXPECT_EQ(crontab.schedule.timezone, "Asia/Tokyo");
  const auto redbeat =
      one(R"("name":"n","task":"t","schedule":{"__type__":"interval","relative":false,)"
          R"("every":1.5},"enabled":true)");
  EXPECT_EQ(redbeat.schedule.every, sdk::Milliseconds{1'500});
  EXPECT_EQ(redbeat.schedule.paused, false);
}

TEST(ReadForeignList, ReadsOban) {
  const auto oban =
      one(R"("expression":"0 9 * * MON","worker":"MyApp.Weekly","paused":true,"insertions":[],)"
          R"("opts":{"args":{"id":1},"queue":"q","priority":3,"max_attempts":4,)"
          R"("tags":["a","b"],"timezone":"America/Chicago"})");
  EXPECT_EQ(oban.name, "MyApp.Weekly");  // the worker's, where there is no name
  EXPECT_EQ(oban.schedule.cron, "0 9 * * MON");
  EXPECT_EQ(oban.schedule.timezone, "America/Chicago");
  EXPECT_EQ(oban.schedule.paused, true);
  EXPECT_EQ(oban.schedule.job.payload, R"({"id":1})");
  EXPECT_EQ(oban.schedule.job.queue, "q");
  EXPECT_EQ(oban.schedule.job.priority, 3);
  EXPECT_EQ(oban.schedule.job.max_attempts, 4);
  EXPECT_EQ(oban.schedule.job.tags, (std::vector<std::string>{"a", "b"}));
}

TEST(ReadForeignList, APayloadStaysAsItIs) {
  EXPECT_EQ(one(R"("type":"t","cron":"@daily","payload":{ "n" : 1.0 })").schedule.job.payload,
            R"({ "n" : 1.0 })");
  EXPECT_EQ(one(R"("type":"t","cron":"@daily","args":"no json")").schedule.job.payload,
            R"("no json")");
  EXPECT_EQ(one(R"("type":"t","cron":"@daily","args":[])").schedule.job.payload, "[]");
}

TEST(ReadForeignList, EachWrongEntryIsAFaultThatSaysWhatMayStandThere) {
  EXPECT_THAT(faults("[\n1,\n{\"name\":\"a\",\"cron\":\"25 25 * * *\",\"type\":\"t\"},\n"
                     "{\"name\":\"b\",\"type\":\"t\"},\n{\"name\":\"c\",\"cron\":\"@daily\"}]"),
              ElementsAre(HasSubstr("2: an object with name, cron"),
                          HasSubstr("3: 'a': hour: \"25\" can't stand here"),
                          HasSubstr("4: 'b': when is it due? what may say it: cron"),
                          HasSubstr("5: 'c': what is to be done? what may say it: type, class")));
  const auto also = [](std::string_view members) {
    const auto found = faults_of(fmt::format(R"("type":"t","cron":"@daily",{})", members));
    return found.size() == 1 ? found[0] : fmt::format("{} faults", found.size());
  };
  EXPECT_THAT(also(R"("symbolize_args":true)"),
              HasSubstr("'symbolize_args' can't stand here; what may: name, cron"));
  EXPECT_THAT(also(R"("schedule":5)"), HasSubstr("two members say when"));
  EXPECT_THAT(also(R"("queue":1)"), HasSubstr("queue must be a string"));
  EXPECT_THAT(also(R"("tz":"")"), HasSubstr("tz must be a string that is not empty"));
  EXPECT_THAT(also(R"("paused":"no")"), HasSubstr("paused must be true or false"));
  EXPECT_THAT(also(R"("status":"on")"), HasSubstr("status must be"));
  EXPECT_THAT(also(R"("one_off":true)"), HasSubstr("one_off can't be taken over"));
  EXPECT_THAT(also(R"("payload":1,"args":[])"), HasSubstr("payload can't stand beside"));
  EXPECT_THAT(also(R"("opts":[])"), HasSubstr("opts must be an object"));
  EXPECT_THAT(also(R"("opts":{"unique":{}})"), HasSubstr("what may: queue, args, priority"));
  EXPECT_THAT(also(R"("opts":{"priority":1.5})"), HasSubstr("priority must be a whole number"));
  EXPECT_THAT(also(R"("opts":{"tags":[1]})"), HasSubstr("tags must be a list of strings"));
  EXPECT_THAT(also(R"("options":{"priority":1})"), HasSubstr("what may: queue"));
}

TEST(ReadForeignList, AScheduleMayBeWrongInManyWays) {
  const auto of = [](std::string_view schedule) {
    const auto found = faults_of(fmt::format(R"("type":"t","schedule":{})", schedule));
    return found.size() == 1 ? found[0] : fmt::format("{} faults", found.size());
  };
  EXPECT_THAT(of("true"), HasSubstr("a number of seconds"));
  EXPECT_THAT(of("\"every 5 minutes\""), HasSubstr("a cron expression has five fields"));
  EXPECT_THAT(of("\"0 0 * * * Nowhere\""), HasSubstr("day of week"));
  EXPECT_THAT(of(R"({"every":"x"})"), HasSubstr("every must be a number"));
  EXPECT_THAT(of(R"({"every":1,"period":"fortnights"})"), HasSubstr("microseconds, seconds"));
  EXPECT_THAT(of(R"({"every":1,"minute":1})"), HasSubstr("can't stand together"));
  EXPECT_THAT(of(R"({"second":1})"), HasSubstr("'second' can't stand here"));
  EXPECT_THAT(of(R"({"minute":{}})"), HasSubstr("minute must be a string, a number"));
  EXPECT_THAT(of(R"({"minute":60})"), HasSubstr("0 to 59"));
  EXPECT_THAT(of(R"({"day_of_month":1,"day_of_week":1})"), HasSubstr("Celery takes days"));
}

TEST(ReadForeignList, NamesMustDiffer) {
  EXPECT_THAT(faults("[{\"name\":\"a b\",\"type\":\"t\",\"cron\":\"@daily\"},\n"
                     "{\"name\":\"a-b\",\"type\":\"t\",\"cron\":\"@daily\"}]"),
              ElementsAre("2: line 1 has the name a-b too"));
}

TEST(ReadForeignList, HasLimits) {
  const auto every = [](std::string_view seconds) {
    return fmt::format(R"([{{"type":"t","schedule":{}}}])", seconds);
  };
  EXPECT_EQ(read(every("1")).at(0).schedule.every, sdk::Milliseconds{1'000});
  EXPECT_EQ(faults(every("0.999")).size(), 1U);
  EXPECT_EQ(read(every("315619200")).at(0).schedule.every, sdk::Milliseconds{315'619'200'000});
  EXPECT_EQ(faults(every("315619201")).size(), 1U);
  EXPECT_EQ(faults(every("1e300")).size(), 1U);

  const auto named = [](std::size_t name, std::size_t type) {
    return fmt::format(R"([{{"name":"{}","type":"{}","cron":"@daily"}}])", std::string(name, 'n'),
                       std::string(type, 't'));
  };
  EXPECT_EQ(read(named(128, 128)).size(), 1U);
  EXPECT_THAT(faults(named(129, 1)), ElementsAre(HasSubstr("the name has 129 bytes")));
  EXPECT_THAT(faults(named(1, 129)), ElementsAre(HasSubstr("the type must be 1 to 128")));

  const auto many = [](std::size_t count) {
    std::string list;
    for (std::size_t i = 0; i < count; ++i) {
      list += fmt::format(R"({}{{"name":"n{}","type":"t","cron":"@daily"}})", i > 0 ? "," : "", i);
    }
    return "[" + list + "]";
  };
  EXPECT_EQ(read(many(10'000)).size(), 10'000U);
  EXPECT_THAT(faults(many(10'001)), ElementsAre("0: at most 10000 entries are taken"));
}

}  // namespace
}  // namespace millrace::cli
