// The store on PostgreSQL beyond the contract: doubt, fences, unacceptable servers.
#include "store/postgres/postgres_store.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <fstream>
#include <thread>

#include "store/postgres/schema.h"
#include "store/testing/jobs.h"
#include "store/testing/pg_bouncer.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using std::chrono_literals::operator""ms;

class PostgresStore : public ::testing::Test {
 protected:
  PostgresStore() : url_(new_postgres_store()), beside_(url_) { open(); }
  ~PostgresStore() override { store_ = Store(); }

  PostgresOptions options() const {
    PostgresOptions made = postgres_options(url_);
    made.clock = [] { return std::chrono::steady_clock::now(); };
    return made;
  }
  void open() {
    auto opened = open_postgres_store(options());
    ASSERT_TRUE(opened) << opened.error().message;
    store_ = std::move(*opened);
  }
  // A different process, as far as the database can tell.
  Store another() { return open_postgres_store(options()).value(); }
  Journal& journal() { return *store_.journal; }
  Tables& tables() { return *store_.tables; }
  std::string ask(const std::string& sql) { return beside_.ask(sql); }

  const std::string url_;
  PostgresSession beside_;
  Store store_;
};

// Repeatedly ends the other sessions of this database while it lives.
class SessionKiller {
 public:
  explicit SessionKiller(const std::string& url)
      : thread_([this, url] {
          PostgresSession session(url);
          session.ask("SET client_min_messages = error");  // sessions that ended by themselves
          while (!over_) {
            session.ask(
                "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
                "datname = current_database() AND application_name LIKE 'millrace %'");
            std::this_thread::sleep_for(20ms);
          }
        }) {}
  ~SessionKiller() {
    over_ = true;
    thread_.join();
  }

 private:
  std::atomic<bool> over_ = false;
  std::thread thread_;
};

TEST_F(PostgresStore, AnAppendWhoseSessionIsEndedIsSettledByAppendingAgain) {
  std::vector<std::string> expected;
  Checksum predecessor;
  int doubts = 0;
  {
    const SessionKiller killer(url_);
    for (std::uint64_t seq = 1; seq <= 60; ++seq) {
      expected.push_back("row " + std::to_string(seq));
      const JournalRow row = make_row(seq, predecessor, expected.back());
      AppendResult result;
      while ((result = journal().append(row)).outcome != AppendOutcome::kDurable) {
        ++doubts;
        ASSERT_TRUE(result.outcome == AppendOutcome::kUnknown ||
                    result.outcome == AppendOutcome::kFailed)
            << result.message;
        ASSERT_LT(doubts, 20'000);
      }
      predecessor = row.checksum;
    }
  }
  EXPECT_GT(doubts, 0);
  EXPECT_EQ(bodies(journal(), 1), expected);
}

TEST_F(PostgresStore, AFlushWhoseSessionIsEndedIsSettledByFlushingAgain) {
  Flusher flusher;
  int doubts = 0;
  {
    const SessionKiller killer(url_);
    for (std::uint64_t n = 1; n <= 20; ++n) {
      core::Changes changes;
      changes.jobs = {make_job(n)};
      changes.attempts = {{n, {1, 1, {}, {}, {}, core::AttemptOutcome::kFailed, nullptr}}};
      while (!flusher.flush(tables(), changes)) ASSERT_LT(++doubts, 20'000);
    }
  }
  EXPECT_GT(doubts, 0);
  EXPECT_EQ(ask("SELECT count(*) FROM millrace.jobs"), "20");
  EXPECT_EQ(ask("SELECT count(*) FROM millrace.attempts"), "20");
  auto synced = tables().sync();
  if (!synced) synced = tables().sync();  // after the killer's last strike
  EXPECT_EQ(synced.value(), Seq{20});
}

TEST_F(PostgresStore, AReadOnlyServerDeposesTheLeader) {
  const auto rows = fill(journal(), 2);
  const std::string database = url_.substr(url_.rfind('/') + 1);
  ask("ALTER DATABASE " + database + " SET default_transaction_read_only = on");
  Store late = Store();  // a new session, in which the setting applies
  auto opened = open_postgres_store(options());
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("read-only"));
  PostgresSession(PostgresCluster::shared().url("postgres"))
      .ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + database +
           "' AND application_name LIKE 'millrace %'");
  const JournalRow row = make_row(3, rows[1].checksum, "row 3");
  AppendResult result = journal().append(row);
  if (result.outcome == AppendOutcome::kUnknown) result = journal().append(row);
  EXPECT_EQ(result.outcome, AppendOutcome::kFenced) << result.message;
  EXPECT_THAT(result.message, HasSubstr("25006"));
}

// Simulates a standby that lagged behind its primary, and was promoted.
TEST_F(PostgresStore, ADatabaseThatHasLostWhatItAcknowledgedIsSaidToBe) {
  const auto rows = fill(journal(), 2);
  const std::string table = ask("SELECT 2 / rows_a_table % 16 FROM millrace.shards");
  ask("DELETE FROM millrace.journal_0_" + table + " WHERE seq = 2");
  const AppendResult result = journal().append(make_row(3, rows[1].checksum, "row 3"));
  EXPECT_EQ(result.outcome, AppendOutcome::kFenced);
  EXPECT_THAT(result.message, HasSubstr("the database lost row 2"));
}

TEST_F(PostgresStore, ALoweredSynchronousCommitEndsTheAppends) {
  const auto rows = fill(journal(), 2);
  const std::string database = url_.substr(url_.rfind('/') + 1);
  ask("ALTER DATABASE " + database + " SET synchronous_commit = local");
  ask("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '" + database +
      "' AND application_name LIKE 'millrace %'");
  const JournalRow row = make_row(3, rows[1].checksum, "row 3");
  AppendResult result = journal().append(row);
  if (result.outcome == AppendOutcome::kUnknown) result = journal().append(row);
  EXPECT_EQ(result.outcome, AppendOutcome::kBroken);
  EXPECT_THAT(result.message, HasSubstr("synchronous_commit is local now"));
}

TEST_F(PostgresStore, ANewerSchemaIsRefusedUnlessItSaysOtherwise) {
  ask("INSERT INTO millrace.migrations VALUES (98, 'ahead', 1, now(), '9.9')");
  EXPECT_TRUE(open_postgres_store(options()));
  ask("INSERT INTO millrace.migrations VALUES (99, 'other', 99, now(), '9.9')");
  const auto opened = open_postgres_store(options());
  ASSERT_FALSE(opened);
  EXPECT_THAT(opened.error().message, HasSubstr("made by a newer Millrace"));
}

TEST_F(PostgresStore, WhoComesLaterTakesTheShard) {
  Flusher flusher;
  ASSERT_TRUE(tables().take(Epoch{5}));
  ASSERT_TRUE(flusher.flush(tables(), {make_job(1)}));
  Store successor = another();
  EXPECT_EQ(successor.tables->take(Epoch{3}).value(), Epoch{6});
  EXPECT_FALSE(flusher.flush(tables(), {make_job(2)}));
  ASSERT_TRUE(flusher.flush(*successor.tables, {make_job(3)}));
  EXPECT_EQ(ask("SELECT string_agg(ord::text, ' ') FROM millrace.jobs"), "1 3");
}

TEST_F(PostgresStore, OnlyTheLeaderTrims) {
  ASSERT_TRUE(tables().take(Epoch{5}));
  fill(journal(), 5);
  Store successor = another();
  ASSERT_TRUE(successor.tables->take(Epoch{6}));
  EXPECT_EQ(journal().trim(Seq{5}).value(), 0u);
  EXPECT_EQ(to_number(journal().extent()->oldest), 1u);
  EXPECT_EQ(successor.journal->trim(Seq{5}).value(), 1u);
  EXPECT_EQ(to_number(journal().extent()->oldest), 2u);
}

TEST_F(PostgresStore, YoungRowsAreNotTrimmed) {
  fill(journal(), 5);
  PostgresOptions patient = options();
  patient.trim_age = std::chrono::minutes(1);
  Store other = open_postgres_store(patient).value();
  EXPECT_EQ(other.journal->trim(Seq{5}).value(), 0u);
  ask("UPDATE millrace.journal_0_1 SET at = at - interval '2 minutes'");
  EXPECT_EQ(other.journal->trim(Seq{5}).value(), 1u);
}

TEST_F(PostgresStore, ATableInUseIsTrimmedAnotherTime) {
  fill(journal(), 5);
  {
    PostgresSession dump(url_);
    dump.ask("BEGIN; SELECT count(*) FROM millrace.journal_0_1");
    // At once: appends wait for it. (The quickest of some, on a machine with much to do.)
    auto quickest = std::chrono::steady_clock::duration::max();
    for (int tries = 0; tries < 10; ++tries) {
      const auto begin = std::chrono::steady_clock::now();
      EXPECT_EQ(journal().trim(Seq{5}).value(), 0u);
      quickest = std::min(quickest, std::chrono::steady_clock::now() - begin);
    }
    EXPECT_LT(quickest, 100ms);
  }
  EXPECT_EQ(journal().trim(Seq{5}).value(), 1u);
}

TEST_F(PostgresStore, ASnapshotThatIsHeldOpenHoldsUpNoTrim) {
  auto rows = fill(journal(), 40);
  PostgresSession reader(url_);
  reader.ask("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT count(*) FROM millrace.shards");
  while (journal().trim(Seq{40}).value() > 0) {
  }
  EXPECT_EQ(to_number(journal().extent()->oldest), 40u);
  EXPECT_EQ(journal().append(make_row(41, rows.back().checksum, "row 41")).outcome,
            AppendOutcome::kDurable);
}

TEST_F(PostgresStore, ALeaderThatSleptWhileTheRingCameRoundIsFenced) {
  const auto rows = fill(journal(), 40);
  // Table 9 is emptied, table 8 is not: it holds the newest row, and row 24 still.
  ASSERT_GT(journal().trim(Seq{40}).value(), 0u);
  ASSERT_EQ(ask("SELECT count(*) FROM millrace.journal_0_9"), "0");
  ASSERT_EQ(ask("SELECT count(*) FROM millrace.journal_0_8 WHERE seq = 24"), "1");
  const JournalRow late = make_row(25, rows[23].checksum, "late");
  EXPECT_EQ(journal().append(late).outcome, AppendOutcome::kFenced);
  EXPECT_EQ(ask("SELECT count(*) FROM millrace.journal_0_9"), "0");
}

// A leader that was stopped in the middle of an append: its transaction is open, and its row blocks
// others.
TEST_F(PostgresStore, APredecessorThatStandsInTheWayIsEnded) {
  const auto rows = fill(journal(), 2);
  PostgresSession stopped(url_ + "?application_name=millrace%20stopped");
  stopped.ask(
      "BEGIN; INSERT INTO millrace.journal_0_3 VALUES (3, 9, DEFAULT, '\\x00', '\\x00', '')");
  const auto begin = std::chrono::steady_clock::now();
  EXPECT_EQ(journal().append(make_row(3, rows[1].checksum, "row 3")).outcome,
            AppendOutcome::kDurable);
  const auto took = std::chrono::steady_clock::now() - begin;
  EXPECT_GE(took, 900ms);
  EXPECT_LT(took, 20'000ms);
  EXPECT_THAT(bodies(journal(), 1), ElementsAre("row 1", "row 2", "row 3"));
}

TEST_F(PostgresStore, ANeighbourThatStandsInTheWayIsNotEnded) {
  const auto rows = fill(journal(), 2);
  PostgresSession neighbour(url_ + "?application_name=psql");
  neighbour.ask("BEGIN; LOCK TABLE millrace.journal_0_3 IN ACCESS EXCLUSIVE MODE");
  const JournalRow row = make_row(3, rows[1].checksum, "row 3");
  const AppendResult result = journal().append(row);
  EXPECT_EQ(result.outcome, AppendOutcome::kFailed) << result.message;
  EXPECT_EQ(neighbour.ask("COMMIT; SELECT 7"), "7");
  EXPECT_EQ(journal().append(row).outcome, AppendOutcome::kDurable);
}

TEST_F(PostgresStore, ZeroBytesSurvive) {
  core::Job job = make_job(1);
  job.payload = SharedBytes(R"({"text": "\u0000"})");
  job.result = SharedBytes(std::string_view("\"\0\"", 3));
  job.state = core::State::kSucceeded;
  job.finished_at = job.created_at;
  core::Job plain = make_job(2);
  Flusher flusher;
  ASSERT_TRUE(flusher.flush(tables(), {job, plain}));
  EXPECT_TRUE(tables().fetch({job.id})->at(0) == job);
  EXPECT_EQ(ask("SELECT payload IS NULL AND length(payload_bytes) = 18 FROM millrace.jobs "
                "WHERE state = 'succeeded'"),
            "t");
  EXPECT_EQ(ask("SELECT payload->>'n' FROM millrace.jobs WHERE state = 'ready'"), "2");
}

TEST_F(PostgresStore, ViewsShowWhatPeopleLookFor) {
  core::Changes changes;
  changes.jobs = {make_job(1, "mail", core::State::kDead)};
  core::JobError error;
  error.type = SharedBytes("Timeout");
  error.message = SharedBytes("after 30 s");
  changes.jobs[0].last_error = std::make_shared<core::JobError>(error);
  changes.queues = {make_queue("mail")};
  changes.queues[0].counts[static_cast<std::size_t>(core::State::kDead)] = 1;
  Flusher flusher;
  ASSERT_TRUE(flusher.flush(tables(), changes));
  EXPECT_EQ(
      ask("SELECT concat_ws('|', id, queue, type, state, error, created_at AT TIME ZONE "
          "'UTC') FROM millrace.jobs"),
      to_string(id_of(1)) + "|mail|mail.send|dead|Timeout: after 30 s|1970-01-01 00:16:40.001");
  EXPECT_EQ(ask("SELECT dead FROM millrace.queues WHERE name = 'mail'"), "1");
}

// A table of the journal is never analyzed, and without statistics a planner reads it whole.
TEST_F(PostgresStore, AnAppendDoesNotReadTheJournal) {
  ask("UPDATE millrace.shards SET rows_a_table = 8192");
  store_ = another();
  fill(journal(), 200);
  EXPECT_EQ(journal().append(make_row(150, {}, "another's")).outcome, AppendOutcome::kFenced);
  store_ = Store();
  const std::string sessions =
      "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'millrace %' "
      "AND datname = current_database()";
  while (ask(sessions) != "0") std::this_thread::sleep_for(5ms);
  const std::string table = " FROM pg_stat_user_tables WHERE relname = 'journal_0_0'";
  EXPECT_EQ(ask("SELECT n_tup_ins" + table), "200");
  EXPECT_EQ(ask("SELECT seq_tup_read" + table), "0");
}

TEST_F(PostgresStore, ViewsBearAParallelPlan) {
  ask("INSERT INTO millrace.job_rows_0(shard, ord, id, queue, type, state, priority, attempt, "
      "created_at, run_at, detail, payload, error) "
      "VALUES (0, 1, gen_random_uuid(), 'q', 't', 'ready', 0, 1, 1000, 0, '', '[1]', 'sad')");
  ask("SELECT set_config(name, 'on', false) FROM pg_settings "
      "WHERE name IN ('force_parallel_mode', 'debug_parallel_query')");
  EXPECT_EQ(ask("SELECT concat(payload, error, extract(epoch FROM created_at) = 1) "
                "FROM millrace.jobs"),
            "[1]sadt");
}

TEST_F(PostgresStore, NeverHoldsMoreThanEightSessions) {
  Flusher flusher;
  ASSERT_TRUE(flusher.flush(tables(), {make_job(1)}));
  std::vector<std::thread> readers;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 16; ++i) {
    readers.emplace_back([&] {
      for (int n = 0; n < 20; ++n) failures += tables().fetch({id_of(1)}).has_value() ? 0 : 1;
    });
  }
  fill(journal(), 20);
  for (std::thread& reader : readers) reader.join();
  EXPECT_EQ(failures, 0);
  const std::string sessions =
      ask("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
          "application_name LIKE 'millrace %'");
  EXPECT_LE(std::stoi(sessions), 8);
}

TEST_F(PostgresStore, SurvivesARestartOfTheServer) {
  PostgresCluster cluster;
  const std::string url = cluster.new_database();
  PostgresOptions here = options();
  here.url = url;
  Store store = open_postgres_store(here).value();
  const auto rows = fill(*store.journal, 3);
  cluster.stop(SIGQUIT);
  const JournalRow row = make_row(4, rows[2].checksum, "row 4");
  const AppendOutcome down = store.journal->append(row).outcome;
  EXPECT_TRUE(down == AppendOutcome::kFailed || down == AppendOutcome::kUnknown);
  EXPECT_FALSE(store.tables->progress());
  cluster.start();
  EXPECT_EQ(store.journal->append(row).outcome, AppendOutcome::kDurable);
  EXPECT_THAT(bodies(*store.journal, 1), ElementsAre("row 1", "row 2", "row 3", "row 4"));
}

TEST_F(PostgresStore, ACancelledWaitForAStandbyIsUnknownUntilACleanCommit) {
  PostgresCluster cluster;
  PostgresOptions here = options();
  here.url = cluster.new_database();
  Store store = open_postgres_store(here).value();
  const auto rows = fill(*store.journal, 2);
  PostgresSession operating(here.url);
  operating.ask("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  operating.ask("SELECT pg_reload_conf()");
  while (operating.ask("SHOW synchronous_standby_names") != "nobody") {
    std::this_thread::sleep_for(10ms);
  }
  std::thread cancel([&] {
    const char* const waiting =
        "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'";
    for (int cancelled = 0; cancelled < 2;) {
      cancelled += operating.ask(waiting) != "0" ? 1 : 0;
      std::this_thread::sleep_for(200ms);
    }
  });
  const JournalRow row = make_row(3, rows[1].checksum, "row 3");
  AppendResult result = store.journal->append(row);
  EXPECT_EQ(result.outcome, AppendOutcome::kUnknown);
  EXPECT_THAT(result.message, HasSubstr("wait for synchronous replication"));
  // It is visible, which proves nothing.
  EXPECT_EQ(store.journal->append(row).outcome, AppendOutcome::kUnknown);
  cancel.join();
  operating.ask("ALTER SYSTEM RESET synchronous_standby_names");
  operating.ask("SELECT pg_reload_conf()");
  EXPECT_EQ(store.journal->append(row).outcome, AppendOutcome::kDurable);
  EXPECT_THAT(bodies(*store.journal, 1), ElementsAre("row 1", "row 2", "row 3"));
}

TEST_F(PostgresStore, FindsFewAmongManyInTime) {
  Flusher flusher;
  std::vector<core::Job> jobs;
  for (std::uint64_t ord = 1; ord <= 150'000; ++ord) {
    jobs.push_back(make_job(ord, "mail", core::State::kSucceeded));
    if (ord % 70'000 == 1) jobs.back().type = SharedBytes("rare");
  }
  jobs[4].state = core::State::kReady;
  ASSERT_TRUE(flusher.flush(tables(), jobs));
  ask("ANALYZE millrace.job_rows_0");
  JobQuery query;
  core::Condition rare;
  rare.field = core::JobField::kType;
  rare.values = {"rare"};
  query.filter.conditions = {rare};
  std::vector<std::uint64_t> found;
  for (const core::Job& job : tables().list(query)->jobs) found.push_back(job.ord);
  EXPECT_THAT(found, ElementsAre(140'001, 70'001, 1));
  // The planner knows that all jobs are of this queue, and must not walk them for one.
  core::Condition queue = rare;
  queue.field = core::JobField::kQueue;
  queue.values = {"mail"};
  core::Condition state = rare;
  state.field = core::JobField::kState;
  state.values = {"ready"};
  query.filter.conditions = {queue, state};
  // The quickest of several: a machine may stand still meanwhile.
  auto quickest = std::chrono::steady_clock::duration::max();
  for (int i = 0; i < 20 && quickest >= 100ms; ++i) {
    const auto begin = std::chrono::steady_clock::now();
    ASSERT_EQ(tables().list(query)->jobs.size(), 1u);
    quickest = std::min(quickest, std::chrono::steady_clock::now() - begin);
  }
  EXPECT_LT(quickest, 100ms);
}

TEST(UnsafePostgres, IsRefusedUnlessAskedFor) {
  PostgresCluster cluster({"fsync=off"});
  PostgresOptions options = postgres_options(cluster.new_database());
  const auto refused = open_postgres_store(options);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("fsync is off"));
  EXPECT_THAT(refused.error().message, HasSubstr("--allow-unsafe-postgres"));
  options.allow_unsafe = true;
  EXPECT_TRUE(open_postgres_store(options));
}

TEST(PostgresAddress, IsToldApartFromADatabaseThatIsAway) {
  PostgresOptions options = postgres_options("postgres://[");
  EXPECT_THAT(open_postgres_store(options).error().message, HasSubstr("can't parse the address"));
  options.url = "postgres://nobody@127.0.0.1:1/none";
  EXPECT_THAT(open_postgres_store(options).error().message, HasSubstr("can't reach the database"));
}

TEST(Migrations, ManyMayStartAtOnce) {
  const std::string url = PostgresCluster::shared().new_database();
  std::vector<std::thread> starts;
  std::atomic<int> failures = 0;
  for (int i = 0; i < 4; ++i) {
    starts.emplace_back([&] {
      const auto opened = open_postgres_store(postgres_options(url));
      if (opened) return;
      ++failures;
      ADD_FAILURE() << opened.error().message;
    });
  }
  for (std::thread& start : starts) start.join();
  EXPECT_EQ(failures, 0);
  EXPECT_EQ(PostgresSession(url).ask("SELECT count(*) FROM millrace.migrations"),
            std::to_string(newest_schema()));
}

TEST(Migrations, NeedNoMoreThanASchemaOfTheirOwn) {
  std::string url = PostgresCluster::shared().new_database();
  PostgresSession beside(url);
  const std::string role = "owner_" + beside.ask("SELECT current_database()");
  beside.ask("CREATE ROLE " + role + " LOGIN; CREATE SCHEMA millrace AUTHORIZATION " + role);
  url.replace(url.find("millrace@"), std::string_view("millrace").size(), role);
  const auto opened = open_postgres_store(postgres_options(url));
  EXPECT_TRUE(opened) << opened.error().message;
}

// Functions and operators that fit a statement's types better than the built-in ones.
TEST(SearchPath, LeadsNowhereButToTheServersOwn) {
  const std::string url = PostgresCluster::shared().new_database();
  PostgresSession beside(url);
  beside.ask(
      "CREATE FUNCTION public.concat(uuid, uuid, uuid) RETURNS text LANGUAGE sql "
      "AS 'SELECT ''known''::text';"
      "CREATE FUNCTION public.trap(bigint, interval) RETURNS interval LANGUAGE plpgsql "
      "AS 'BEGIN RAISE ''called''; END';"
      "CREATE FUNCTION public.trap(bigint, numeric) RETURNS numeric LANGUAGE plpgsql "
      "AS 'BEGIN RAISE ''called''; END';"
      "CREATE OPERATOR public.* (FUNCTION = public.trap, LEFTARG = bigint, RIGHTARG = interval);"
      "CREATE OPERATOR public./ (FUNCTION = public.trap, LEFTARG = bigint, RIGHTARG = numeric)");
  const auto node = PostgresNode::open(postgres_options(url));
  ASSERT_TRUE(node) << node.error().message;
  EXPECT_NE(beside.ask("SELECT value FROM millrace.meta WHERE name = 'node_secret'"),
            beside.ask("SELECT encode(sha256('known'), 'hex')"));
  const auto renewed = (*node)->make_registry()->renew(
      {NodeId{1}, "http://10.0.0.1:7600", "host", "0.1.0", 1}, std::chrono::seconds{60});
  EXPECT_TRUE(renewed) << renewed.error().message;
  EXPECT_EQ(beside.ask("SELECT extract(epoch FROM millrace.as_time(1500)) = 1.5"), "t");
}

// Its answers may be older than those of the primary.
TEST(Standby, IsNeverUsed) {
  PostgresCluster cluster;
  const std::string url = cluster.new_database();
  const PgBouncer bouncer(cluster);
  PostgresOptions here = postgres_options(url);
  PostgresOptions through = postgres_options(bouncer.url(url));
  Store direct = open_postgres_store(here).value();
  Store pooled = open_postgres_store(through).value();
  fill(*direct.journal, 2);
  // A server that does not identify itself.
  here.url = cluster.new_database();
  PostgresSession(here.url).ask(
      "ALTER FUNCTION pg_catalog.pg_control_system() RENAME TO pg_control_unknown");
  Store untold = open_postgres_store(here).value();

  const std::string signal = cluster.directory() + "/data/standby.signal";
  cluster.stop();
  std::ofstream(signal).flush();
  cluster.start();
  for (Store* store : {&direct, &pooled, &untold}) {
    // Their connections have ended.
    if (store->tables->progress()) ADD_FAILURE() << "the tables were read";
    EXPECT_THAT(store->tables->progress().error().message, HasSubstr("standby"));
    EXPECT_THAT(store->tables->list({}).error().message, HasSubstr("standby"));
    EXPECT_THAT(bodies(*store->journal, 1), ElementsAre(HasSubstr("standby")));
    EXPECT_EQ(store->journal->append(make_row(1, {}, "row")).outcome, AppendOutcome::kFailed);
    EXPECT_FALSE(store->journal->trim(Seq{2}));
  }
  EXPECT_THAT(open_postgres_store(postgres_options(url)).error().message, HasSubstr("standby"));

  cluster.stop();
  std::filesystem::remove(signal);
  cluster.start();
  EXPECT_THAT(bodies(*direct.journal, 1), ElementsAre("row 1", "row 2"));
}

// The whole contract in short, through PgBouncer in transaction mode.
TEST_F(PostgresStore, WorksThroughPgBouncer) {
  const PgBouncer bouncer(PostgresCluster::shared());
  PostgresOptions through = options();
  through.url = bouncer.url(url_);
  Store store = open_postgres_store(through).value();
  ASSERT_TRUE(store.tables->take(Epoch{7}));
  const auto rows = fill(*store.journal, 30);
  EXPECT_EQ(store.journal->append(rows.back()).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(store.journal->append(make_row(30, rows[28].checksum, "other")).outcome,
            AppendOutcome::kFenced);
  EXPECT_EQ(bodies(*store.journal, 1).size(), 30u);
  Flusher flusher;
  for (std::uint64_t ord = 1; ord <= 20; ++ord) {
    ASSERT_TRUE(flusher.flush(*store.tables, {make_job(ord)}));
  }
  LoadedState state;
  ASSERT_TRUE(store.tables->load(state));
  EXPECT_EQ(state.jobs.size(), 20u);
  EXPECT_EQ(store.tables->list({})->jobs.size(), 20u);
  EXPECT_GT(store.journal->trim(Seq{20}).value(), 0u);
  // A session shared with others keeps none of our limits.
  PostgresSession other(through.url);
  EXPECT_EQ(other.ask("SHOW lock_timeout"), "0");
}

TEST_F(PostgresStore, EndsAPredecessorThroughPgBouncerToo) {
  const PgBouncer bouncer(PostgresCluster::shared());
  PostgresOptions through = options();
  through.url = bouncer.url(url_);
  Store store = open_postgres_store(through).value();
  const auto rows = fill(*store.journal, 2);
  PostgresSession stopped(url_ + "?application_name=millrace%20stopped");
  stopped.ask(
      "BEGIN; INSERT INTO millrace.journal_0_3 VALUES (3, 9, DEFAULT, '\\x00', '\\x00', '')");
  EXPECT_EQ(store.journal->append(make_row(3, rows[1].checksum, "row 3")).outcome,
            AppendOutcome::kDurable);
}

}  // namespace
}  // namespace millrace::store
