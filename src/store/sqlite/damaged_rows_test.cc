// Rows on sound pages whose content Millrace does not write: by another program, or a bug of ours.
// Reading one is an error, never different content.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sqlite3.h>

#include <string>

#include "store/event_codec.h"
#include "store/sqlite/checked_pages.h"
#include "store/sqlite/maintenance.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using std::chrono_literals::operator""s;

class DamagedRows : public ::testing::Test {
 protected:
  DamagedRows() {
    Store store = open_sqlite(directory_.path());
    JournalRow last;
    for (std::uint64_t seq = 1; seq <= 3; ++seq) {
      std::string body;
      encode_events({time_from_ms(1), {core::KeysExpired{}}}, body);
      last = make_row(seq, last.checksum, body);
      MILLRACE_CHECK(store.journal->append(last).outcome == AppendOutcome::kDurable);
    }
    core::Changes changes;
    changes.jobs = {make_job(1), make_job(2, "mail", core::State::kDead)};
    changes.jobs[0].latest.n = 2;
    changes.attempts = {{1, core::Attempt{1, 1, SharedBytes("w"), {}, {}, {}, nullptr}}};
    changes.logs = {{1, {1, 1, 1, {}, 1, SharedBytes("a line")}}};
    changes.marks = {{1, {core::MarkKind::kEdited, {}, 1, {}}}};
    changes.queues = {make_queue("mail")};
    changes.keys = {{{{1, 1}, {2, 2}, time_from_ms(5'000)}, id_of(1)}};
    changes.held_uniques = {{SharedBytes("mail"), SharedBytes("k"), id_of(2), time_from_ms(9'000)}};
    changes.ended_leases = {
        {LeaseToken{1}, id_of(2), core::AttemptOutcome::kFailed, core::State::kDead}};
    changes.schedules = {core::Schedule{}};
    changes.schedules[0].name = SharedBytes("nightly");
    changes.schedule_runs = {{SharedBytes("nightly"), 1, {}}};
    core::Workflow& workflow = changes.workflows.emplace_back();
    workflow.id = id_of(7);
    workflow.members = 1;
    workflow.counts = {1, 0, 0, 0, 0};
    changes.member_chunks = {{id_of(7), 0, {{}}}};
    changes.fate_pages = {{id_of(7), 0, {{}}}};
    Progress to;
    to.seq = Seq{3};
    to.checksum = last.checksum;
    MILLRACE_CHECK(store.tables->flush(changes, Seq{}, to).has_value());
  }

  void sql(const std::string& name, const std::string& text) {
    sqlite3* db = nullptr;
    ASSERT_EQ(
        sqlite3_open_v2(directory_.file(name).c_str(), &db, SQLITE_OPEN_READWRITE, checked_pages()),
        SQLITE_OK);
    char* error = nullptr;
    EXPECT_EQ(sqlite3_exec(db, text.c_str(), nullptr, nullptr, &error), SQLITE_OK)
        << text << ": " << error;
    sqlite3_close(db);
  }

  // Which reads fail: "load fetch history list ids retention runs workflows image journal", or
  // "open".
  std::string failing() const {
    const auto store = open_sqlite_store(sqlite_options(directory_.path()));
    if (!store) return "open";
    std::string names;
    const auto note = [&](const char* name, bool fine) {
      if (!fine) names += (names.empty() ? "" : " ") + std::string(name);
    };
    Tables& tables = *store->tables;
    LoadedState loaded;
    note("load", tables.load(loaded).has_value());
    note("fetch", tables.fetch({id_of(1), id_of(2)}).has_value());
    note("history", tables.history(id_of(1), {}).has_value());
    JobQuery query;
    note("list", tables.list(query).has_value());
    core::JobFilter dead;
    dead.conditions = {
        {core::JobField::kState, core::Comparison::kEqual, false, {"dead"}, 0, 0, {}}};
    note("ids", tables.select_ids(dead, std::nullopt, 10, 2s).has_value());
    note("retention",
         tables.finished_until(SharedBytes("mail"), core::State::kDead, time_from_ms(9'000'000), 10)
             .has_value());
    note("runs", tables.schedule_runs(SharedBytes("nightly")).has_value());
    note("workflows", tables.list_workflows({}).has_value());
    note("image", tables.workflow(id_of(7), 0, 1).has_value());
    note("journal",
         store->journal->read(Seq{1}, [](const JournalRow&) { return true; }).has_value());
    return names;
  }

  const TemporaryDirectory directory_;
};

struct Damage {
  const char* file;
  const char* statement;
  const char* fails;
};

class EachDamage : public DamagedRows, public ::testing::WithParamInterface<Damage> {};

TEST_P(EachDamage, IsAnErrorToWhoeverReadsIt) {
  EXPECT_EQ(failing(), "");
  sql(GetParam().file, GetParam().statement);
  EXPECT_EQ(failing(), GetParam().fails) << GetParam().statement;
}

constexpr Damage kDamages[] = {
    {"jobs.db", "UPDATE jobs SET detail = x'ff' WHERE ord = 1", "load fetch list"},
    {"jobs.db", "UPDATE jobs SET id = x'01' WHERE ord = 2", "list ids retention"},
    {"jobs.db", "UPDATE jobs SET queue = 99 WHERE ord = 1", "load fetch list"},
    {"jobs.db", "UPDATE jobs SET state = 77 WHERE ord = 2", "fetch list"},
    {"jobs.db", "UPDATE jobs SET state = -1 WHERE ord = 1", "fetch list"},
    {"jobs.db", "UPDATE attempts SET detail = x'ff'", "history"},
    {"jobs.db", "UPDATE logs SET line = x'ff'", "history"},
    {"jobs.db", "UPDATE marks SET mark = x'ff'", "history"},
    {"jobs.db", "UPDATE queues SET detail = x'ff'", "load"},
    {"jobs.db", "UPDATE keys SET key = x'ff'", "load"},
    {"jobs.db", "UPDATE keys SET body = x'ff'", "load"},
    {"jobs.db", "UPDATE keys SET job = x'ff'", "load"},
    {"jobs.db", "UPDATE uniques SET job = x'ff'", "load"},
    {"jobs.db", "UPDATE ended_leases SET leases = x'ff'", "load"},
    {"jobs.db", "UPDATE schedules SET detail = x'ff'", "load"},
    {"jobs.db", "UPDATE schedule_runs SET run = x'ff'", "runs"},
    {"jobs.db", "UPDATE workflows SET detail = x'ff'", "load workflows image"},
    {"jobs.db", "UPDATE workflows SET id = x'ff'", "load"},
    {"jobs.db", "UPDATE member_chunks SET chunk = x'ff'", "load image"},
    {"jobs.db", "UPDATE fate_pages SET page = x'ff'", "load image"},
    {"jobs.db", "DELETE FROM fate_pages", "load image"},
    {"jobs.db", "UPDATE progress SET checksum = x'ff'", "open"},
    {"journal.db", "UPDATE journal SET checksum = x'ff' WHERE seq = 2", "journal"},
    {"journal.db", "UPDATE journal SET predecessor = x'ff' WHERE seq = 2", "journal"},
    {"journal.db", "UPDATE journal SET epoch = 7 WHERE seq = 3", "journal"},
};
INSTANTIATE_TEST_SUITE_P(All, EachDamage, ::testing::ValuesIn(kDamages));

TEST_F(DamagedRows, AreFoundByVerification) {
  const auto problems = [&] {
    const auto report = verify_store(directory_.path());
    return report ? report->problems.size() : 99;
  };
  EXPECT_EQ(problems(), 0u);
  sql("jobs.db", "UPDATE jobs SET detail = x'ff' WHERE ord = 1");
  EXPECT_EQ(problems(), 1u);
  sql("jobs.db", "UPDATE jobs SET id = x'ff' WHERE ord = 2");
  EXPECT_EQ(problems(), 2u);
  sql("jobs.db", "UPDATE schedules SET detail = x'ff'");
  EXPECT_EQ(problems(), 3u);
  sql("jobs.db", "UPDATE schedule_runs SET run = x'ff'");
  EXPECT_EQ(problems(), 4u);
  EXPECT_THAT(verify_store(directory_.path())->problems,
              Contains(HasSubstr("schedules: row nightly:")));
  sql("jobs.db", "UPDATE fate_pages SET page = x'ff'");
  EXPECT_EQ(problems(), 5u);
  sql("jobs.db", "DELETE FROM fate_pages");
  EXPECT_THAT(verify_store(directory_.path())->problems,
              Contains(HasSubstr("the fate of member 0 is missing")));
  sql("jobs.db", "DELETE FROM workflows");
  EXPECT_THAT(verify_store(directory_.path())->problems,
              Contains(HasSubstr("member_chunks: row ")));
  EXPECT_EQ(problems(), 5u);
  sql("journal.db", "UPDATE journal SET checksum = x'ff' WHERE seq = 2");
  EXPECT_GT(problems(), 5u);
}

TEST_F(DamagedRows, CountsOfAWorkflowAreRecomputed) {
  Store store = open_sqlite(directory_.path());
  core::Changes changes;
  core::Workflow& workflow = changes.workflows.emplace_back();
  workflow.id = id_of(7);
  workflow.members = 1;
  workflow.counts = {0, 0, 1, 0, 0};
  Progress to;
  to.seq = Seq{4};
  ASSERT_TRUE(store.tables->flush(changes, Seq{3}, to).has_value());
  store = Store();
  EXPECT_THAT(verify_store(directory_.path())->problems,
              Contains(HasSubstr("its counts are not those of its members")));
}

TEST_F(DamagedRows, OfTheJournalAreNotCopied) {
  const Store store = open_sqlite(directory_.path());
  sql("journal.db", "UPDATE journal SET checksum = x'ff' WHERE seq = 2");
  const TemporaryDirectory place;
  EXPECT_FALSE(store.backup->backup_to(place.file("backup")));
  EXPECT_FALSE(std::filesystem::exists(place.file("backup")));
}

TEST_F(DamagedRows, TheMillionthLeaseAndThoseBeforeAreForgotten) {
  Store store = open_sqlite(directory_.path());
  Seq seq{3};
  const auto end_leases = [&](std::uint64_t count, std::uint64_t token) {
    core::Changes changes;
    for (std::uint64_t i = 0; i < count; ++i) {
      changes.ended_leases.push_back(
          {LeaseToken{token}, id_of(2), core::AttemptOutcome::kFailed, core::State::kDead});
    }
    Progress to;
    to.seq = next(seq);
    ASSERT_TRUE(store.tables->flush(changes, seq, to).has_value());
    seq = to.seq;
  };
  const auto oldest = [&] {
    LoadedState loaded;
    EXPECT_TRUE(store.tables->load(loaded));
    return std::pair(loaded.leases.front().token, loaded.leases.size());
  };
  constexpr std::uint64_t kHalf = core::kEndedLeasesRemembered / 2;
  end_leases(kHalf, 2);
  end_leases(kHalf - 1, 3);
  EXPECT_EQ(oldest(), std::pair(LeaseToken{1}, core::kEndedLeasesRemembered));
  end_leases(1, 4);
  EXPECT_EQ(oldest(), std::pair(LeaseToken{2}, core::kEndedLeasesRemembered));
  end_leases(kHalf, 5);
  EXPECT_EQ(oldest().first, LeaseToken{3});
  EXPECT_GE(oldest().second, core::kEndedLeasesRemembered);
}

}  // namespace
}  // namespace millrace::store
