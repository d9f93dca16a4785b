// A store of an older format becomes one of today's when it is opened; nothing else changes it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

#include "store/sqlite/checked_pages.h"
#include "store/sqlite/maintenance.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class SqliteUpgrade : public ::testing::Test {
 protected:
  void sql(const std::string& text) {
    sqlite3* db = nullptr;
    ASSERT_EQ(sqlite3_open_v2(directory_.file("jobs.db").c_str(), &db, SQLITE_OPEN_READWRITE,
                              checked_pages()),
              SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, &error), SQLITE_OK) << error;
    sqlite3_close(db);
  }

  TemporaryDirectory directory_;
  Flusher flusher_;
};

TEST_F(SqliteUpgrade, FromTablesWithoutWorkflows) {
  {
    const Store store = open_sqlite(directory_.path());
    core::Changes changes;
    changes.queues = {make_queue("mail")};
    changes.jobs = {make_job(1), make_job(2, "mail", core::State::kSucceeded)};
    ASSERT_TRUE(flusher_.flush(*store.tables, changes));
  }
  sql("DROP TABLE workflows; DROP TABLE member_chunks; DROP TABLE fate_pages;"
      "DROP INDEX jobs_by_workflow; ALTER TABLE jobs DROP COLUMN workflow;"
      "ALTER TABLE jobs DROP COLUMN member; ALTER TABLE jobs DROP COLUMN kept_at;"
      "PRAGMA user_version = 1");
  const auto report = verify_store(directory_.path());
  ASSERT_TRUE(report) << report.error().message;
  // The journal of this test is empty.
  EXPECT_THAT(report->problems,
              ElementsAre("the tables include row 1, but the journal ends at row 0"));

  const Store store = open_sqlite(directory_.path());
  const auto jobs = store.tables->list({})->jobs;
  ASSERT_EQ(jobs.size(), 2U);
  EXPECT_EQ(jobs[0].finished_at, make_job(2, "mail", core::State::kSucceeded).finished_at);
  EXPECT_THAT(
      store.tables
          ->finished_until(SharedBytes("mail"), core::State::kSucceeded, time_from_ms(9'000'000), 9)
          .value(),
      ElementsAre(id_of(2)));
  EXPECT_THAT(store.tables->list_workflows({})->workflows, IsEmpty());
  core::Changes changes;
  changes.workflows.emplace_back().id = id_of(7);
  ASSERT_TRUE(flusher_.flush(*store.tables, changes));
  EXPECT_TRUE(store.tables->workflow(id_of(7), 0, 1).value());
}

}  // namespace
}  // namespace millrace::store
