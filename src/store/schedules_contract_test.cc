// The contract of every store's tables for schedules: store/tables.h.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/arbitrary.h"
#include "core/bounds.h"
#include "core/same.h"
#include "core/schedules/schedule_fields.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using core::Arbitrary;
using core::same;
using core::Schedule;
using core::ScheduleRun;
using core::ScheduleRunRow;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Schedule make_schedule(std::string_view name) {
  Schedule schedule;
  schedule.name = SharedBytes(name);
  schedule.spec.cron = SharedBytes("0 9 * * *");
  schedule.spec.timezone = SharedBytes("Europe/Zurich");
  schedule.spec.job = SharedBytes("a submission");
  schedule.spec.queue = SharedBytes("mail");
  schedule.incarnation = 7;
  return schedule;
}

ScheduleRunRow make_run(std::string_view schedule, std::uint64_t n) {
  ScheduleRunRow row;
  row.schedule = SharedBytes(schedule);
  row.n = n;
  row.run.scheduled_at = time_from_ms(static_cast<std::int64_t>(n) * 1'000);
  row.run.at = row.run.scheduled_at + Duration{5};
  row.run.job = id_of(n);
  return row;
}

class SchedulesContract : public StoreContract {
 protected:
  void flush(const core::Changes& changes) {
    const Status done = flusher_.flush(tables(), changes);
    ASSERT_TRUE(done) << done.error().message;
  }
  void flush(std::vector<Schedule> schedules, std::vector<ScheduleRunRow> runs = {}) {
    core::Changes changes;
    changes.schedules = std::move(schedules);
    changes.schedule_runs = std::move(runs);
    flush(changes);
  }
  std::vector<Schedule> load() {
    LoadedState state;
    const Status done = tables().load(state);
    EXPECT_TRUE(done) << done.error().message;
    return state.schedules;
  }
  std::vector<std::string> names() {
    std::vector<std::string> names;
    for (const Schedule& schedule : load()) names.emplace_back(schedule.name.view());
    return names;
  }
  std::vector<std::uint64_t> runs(std::string_view schedule) {
    std::vector<std::uint64_t> numbers;
    for (const ScheduleRunRow& row : tables().schedule_runs(SharedBytes(schedule)).value()) {
      EXPECT_EQ(row.schedule.view(), schedule);
      EXPECT_TRUE(same(row.run, make_run(schedule, row.n).run));
      numbers.push_back(row.n);
    }
    return numbers;
  }

  Flusher flusher_;
};
MILLRACE_EVERY_STORE(SchedulesContract);

TEST_P(SchedulesContract, GivesBackEveryMember) {
  Arbitrary make(1);
  std::vector<Schedule> schedules;
  for (int i = 100; i < 400; ++i) {
    Schedule schedule = make.any<Schedule>();
    // PostgreSQL keeps these as text, too. The contract admits no other bytes.
    schedule.name = SharedBytes("s" + std::to_string(i));
    for (SharedBytes* text : {&schedule.spec.cron, &schedule.spec.timezone, &schedule.spec.queue,
                              &schedule.spec.managed_by}) {
      *text = make.name();
    }
    schedules.push_back(schedule);
  }
  flush(schedules);
  reopen();
  const std::vector<Schedule> loaded = load();
  ASSERT_EQ(loaded.size(), schedules.size());
  for (std::size_t i = 0; i < schedules.size(); ++i) {
    ASSERT_TRUE(loaded[i] == schedules[i]) << i;
  }
}

TEST_P(SchedulesContract, GivesBackEveryMemberOfARun) {
  Arbitrary make(2);
  std::vector<ScheduleRunRow> rows;
  for (std::uint64_t n = 1; n <= core::kRunsKept; ++n) {
    rows.push_back({SharedBytes("nightly"), n, make.any<ScheduleRun>()});
  }
  flush({make_schedule("nightly")}, rows);
  reopen();
  std::vector<ScheduleRunRow> found = tables().schedule_runs(SharedBytes("nightly")).value();
  std::ranges::reverse(found);
  EXPECT_TRUE(same(found, rows));
}

TEST_P(SchedulesContract, AScheduleFlushedAgainIsReplaced) {
  Schedule schedule = make_schedule("nightly");
  flush({schedule});
  schedule.version = 2;
  schedule.paused = true;
  schedule.pause_reason = SharedBytes("by hand");
  schedule.spec.cron = {};
  schedule.spec.every = Duration{60'000};
  schedule.spec.managed_by = SharedBytes("crontab");
  schedule.progress.done_until = time_from_ms(5);
  schedule.progress.next = time_from_ms(6);
  schedule.progress.last_scheduled_at = time_from_ms(5);
  schedule.progress.last_job = id_of(1);
  flush({schedule});
  ASSERT_EQ(load().size(), 1U);
  EXPECT_EQ(load().at(0), schedule);
  schedule.progress.next.reset();
  schedule.progress.last_scheduled_at.reset();
  flush({schedule});
  EXPECT_EQ(load().at(0), schedule);
}

TEST_P(SchedulesContract, LoadsThemByName) {
  flush({make_schedule("b"), make_schedule("a.1")});
  flush({make_schedule("B"), make_schedule("a"), make_schedule("a-1")});
  EXPECT_THAT(names(), ElementsAre("B", "a", "a-1", "a.1", "b"));
}

TEST_P(SchedulesContract, KeepsTheLastHundredRunsOfEach) {
  std::vector<ScheduleRunRow> rows;
  for (std::uint64_t n = 1; n <= core::kRunsKept; ++n) rows.push_back(make_run("nightly", n));
  rows.push_back(make_run("hourly", 1));
  flush({make_schedule("hourly"), make_schedule("nightly")}, rows);
  EXPECT_EQ(runs("nightly").size(), core::kRunsKept);
  EXPECT_EQ(runs("nightly").front(), 100U);  // newest first
  EXPECT_EQ(runs("nightly").back(), 1U);
  flush({}, {make_run("nightly", 101)});
  EXPECT_EQ(runs("nightly").size(), core::kRunsKept);
  EXPECT_EQ(runs("nightly").front(), 101U);
  EXPECT_EQ(runs("nightly").back(), 2U);
  rows.clear();
  for (std::uint64_t n = 102; n <= 350; ++n) rows.push_back(make_run("nightly", n));
  flush({}, rows);
  reopen();
  EXPECT_EQ(runs("nightly").size(), core::kRunsKept);
  EXPECT_EQ(runs("nightly").back(), 251U);
  EXPECT_THAT(runs("hourly"), ElementsAre(1));
  EXPECT_THAT(runs("nobody"), IsEmpty());
}

TEST_P(SchedulesContract, ADeletedOneGoesWithItsRuns) {
  flush({make_schedule("hourly"), make_schedule("nightly")},
        {make_run("hourly", 1), make_run("nightly", 1), make_run("nightly", 2)});
  core::Changes changes;
  changes.deleted_schedules = {SharedBytes("nightly"), SharedBytes("nobody")};
  flush(changes);
  EXPECT_THAT(names(), ElementsAre("hourly"));
  EXPECT_THAT(runs("nightly"), IsEmpty());
  EXPECT_THAT(runs("hourly"), ElementsAre(1));
}

TEST_P(SchedulesContract, ANameMayComeAgainInTheFlushThatDeletesIt) {
  flush({make_schedule("nightly")}, {make_run("nightly", 1), make_run("nightly", 2)});
  core::Changes changes;
  changes.deleted_schedules = {SharedBytes("nightly")};
  changes.schedules = {make_schedule("nightly")};
  changes.schedules[0].incarnation = 8;
  changes.schedule_runs = {make_run("nightly", 1)};
  flush(changes);
  reopen();
  ASSERT_EQ(load().size(), 1U);
  EXPECT_EQ(load().at(0).incarnation, 8U);
  EXPECT_THAT(runs("nightly"), ElementsAre(1));
}

TEST_P(SchedulesContract, ManyInOneFlush) {
  std::vector<Schedule> schedules;
  std::vector<ScheduleRunRow> rows;
  for (int i = 10'000; i < 15'000; ++i) {
    const std::string name = "s" + std::to_string(i);
    schedules.push_back(make_schedule(name));
    rows.push_back(make_run(name, 1));
  }
  flush(schedules, rows);
  EXPECT_EQ(load().size(), 5'000U);
  EXPECT_THAT(runs("s14999"), ElementsAre(1));
  core::Changes changes;
  for (const Schedule& schedule : schedules) changes.deleted_schedules.push_back(schedule.name);
  flush(changes);
  EXPECT_THAT(load(), IsEmpty());
  EXPECT_THAT(runs("s14999"), IsEmpty());
}

// For users who query the database with SQL.
TEST(PostgresSchedules, AreShownByAView) {
  const std::string url = new_postgres_store();
  {
    const Store store = open_postgres(url);
    core::Changes changes;
    changes.schedules = {make_schedule("a"), make_schedule("b")};
    Schedule& every = changes.schedules[1];
    every.spec.cron = {};
    every.spec.every = Duration{60'000};
    every.spec.managed_by = SharedBytes("crontab");
    every.paused = true;
    every.progress.next = time_from_ms(86'400'000);
    every.progress.last_scheduled_at = time_from_ms(0);
    every.progress.last_job = id_of(1);
    Flusher flusher;
    ASSERT_TRUE(flusher.flush(*store.tables, changes));
    PostgresSession session(url);
    session.ask("SET TIME ZONE 'UTC'");
    const auto row = [&](const std::string& name) {
      return session.ask(
          "SELECT concat_ws(' ', name, cron, every_ms, timezone, queue, managed_by, "
          "state, next_at, last_scheduled_at, last_job_id, version, shard) FROM "
          "millrace.schedules WHERE name = '" +
          name + "'");
    };
    EXPECT_EQ(row("a"), "a 0 9 * * * Europe/Zurich mail active 1 0");
    EXPECT_EQ(row("b"),
              "b 60000 Europe/Zurich mail crontab paused 1970-01-02 00:00:00+00 "
              "1970-01-01 00:00:00+00 " +
                  to_string(id_of(1)) + " 1 0");
  }
  PostgresCluster::shared().drop_database(url);
}

}  // namespace
}  // namespace millrace::store
