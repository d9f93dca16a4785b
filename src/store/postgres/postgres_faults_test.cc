// Cuts each call of the store on PostgreSQL at each of its messages, and tests rows that another
// program has changed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <libpq-fe.h>

#include <atomic>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "digest/fingerprint.h"
#include "store/postgres/postgres_store.h"
#include "store/postgres/schema.h"
#include "store/testing/cutting_proxy.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

// Each of these calls of libpq can be made to fail, as it does without memory or when used out of
// order. (The linker puts the wrappers in: see CMakeLists.txt.)
namespace {

enum class Call {
  kNone,
  kSetNonBlocking,
  kEnterPipeline,
  kSendQueryParams,
  kPipelineSync,
  kFlush,
  kConsumeInput,
  kExitPipeline,
  kSendQuery,
};
Call failing = Call::kNone;
int calls_before = 0;  // successful calls before the failure

bool fails(Call call) { return call == failing && calls_before-- <= 0; }

}  // namespace

// NOLINTBEGIN(bugprone-reserved-identifier)
extern "C" {
int __real_PQsetnonblocking(PGconn*, int);
int __wrap_PQsetnonblocking(PGconn* c, int on) {
  return fails(Call::kSetNonBlocking) ? -1 : __real_PQsetnonblocking(c, on);
}
int __real_PQenterPipelineMode(PGconn*);
int __wrap_PQenterPipelineMode(PGconn* c) {
  return fails(Call::kEnterPipeline) ? 0 : __real_PQenterPipelineMode(c);
}
int __real_PQsendQueryParams(PGconn*, const char*, int, const Oid*, const char* const*, const int*,
                             const int*, int);
int __wrap_PQsendQueryParams(PGconn* c, const char* sql, int count, const Oid* types,
                             const char* const* values, const int* lengths, const int* formats,
                             int result) {
  if (fails(Call::kSendQueryParams)) return 0;
  return __real_PQsendQueryParams(c, sql, count, types, values, lengths, formats, result);
}
int __real_PQpipelineSync(PGconn*);
int __wrap_PQpipelineSync(PGconn* c) {
  return fails(Call::kPipelineSync) ? 0 : __real_PQpipelineSync(c);
}
int __real_PQflush(PGconn*);
int __wrap_PQflush(PGconn* c) { return fails(Call::kFlush) ? -1 : __real_PQflush(c); }
int __real_PQconsumeInput(PGconn*);
int __wrap_PQconsumeInput(PGconn* c) {
  return fails(Call::kConsumeInput) ? 0 : __real_PQconsumeInput(c);
}
int __real_PQexitPipelineMode(PGconn*);
int __wrap_PQexitPipelineMode(PGconn* c) {
  return fails(Call::kExitPipeline) ? 0 : __real_PQexitPipelineMode(c);
}
int __real_PQsendQuery(PGconn*, const char*);
int __wrap_PQsendQuery(PGconn* c, const char* sql) {
  return fails(Call::kSendQuery) ? 0 : __real_PQsendQuery(c, sql);
}
}
// NOLINTEND(bugprone-reserved-identifier)

namespace millrace::store {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;
using Cut = CuttingProxy::Cut;

constexpr std::uint64_t kMostMessages = 200;  // of one call

class NoState final : public StateVisitor {
 public:
  void progress(const Progress&) override {}
  void queue(const core::Queue&) override {}
  void job(const core::Job&) override {}
  void key(const core::KeyRow&) override {}
  void held_unique(const core::HeldUnique&) override {}
  void ended_lease(const core::EndedLease&) override {}
  void schedule(const core::Schedule&) override {}
  void limit(const core::Limit&) override {}
  void bucket(const core::BucketRow&) override {}
  void catalog_entry(const core::CatalogEntry&) override {}
  void operation(const core::OperationPart&) override {}
  void audited(const core::AuditRow&) override {}
  void workflow(const core::WorkflowImage&) override {}
};

core::Changes something_of_everything() {
  core::Changes changes;
  core::Job job = make_job(1);
  job.result = SharedBytes("[1]");
  changes.jobs = {job, make_job(2, "mail", core::State::kSucceeded)};
  changes.queues = {make_queue("mail")};
  changes.attempts = {{1, {1, 1, {}, {}, {}, core::AttemptOutcome::kFailed, nullptr}}};
  changes.logs = {{1, {1, 1, 1, {}, 1, SharedBytes("line")}}};
  changes.marks = {{1, {}}};
  core::CatalogEntry entry;
  entry.name = SharedBytes("t");
  entry.revision = 3;
  changes.catalog = {entry};
  changes.deleted_catalog = {{core::CatalogKind::kPushTarget, SharedBytes("gone")}};
  core::OperationPart part;
  part.id = id_of(50);
  changes.operations = {part};
  changes.deleted_operations = {id_of(51)};
  core::Workflow workflow;
  workflow.id = id_of(60);
  workflow.members = 1;
  changes.workflows = {workflow};
  changes.member_chunks = {{id_of(60), 0, {{}}}};
  changes.fate_pages = {{id_of(60), 0, {{}}}};
  changes.deleted_workflows = {id_of(61)};
  core::KeyRow key;
  key.key.key = fingerprint("key");
  key.key.body = fingerprint("body");
  key.key.expires_at = time_from_ms(9'000'000);
  key.job = id_of(1);
  changes.keys = {key};
  changes.held_uniques = {
      {SharedBytes("mail"), SharedBytes("u"), id_of(1), time_from_ms(9'000'000)}};
  changes.ended_leases = {
      {LeaseToken{7}, id_of(2), core::AttemptOutcome::kSucceeded, core::State::kSucceeded}};
  return changes;
}

core::Condition condition(core::JobField field, std::vector<std::string> values) {
  core::Condition condition;
  condition.field = field;
  condition.values = std::move(values);
  return condition;
}
core::Condition at(core::Comparison comparison, std::int64_t created_ms) {
  core::Condition condition;
  condition.field = core::JobField::kCreatedAt;
  condition.comparison = comparison;
  condition.number = created_ms;
  return condition;
}
core::JobFilter all_of_mail() {
  core::JobFilter filter;
  filter.conditions = {condition(core::JobField::kQueue, {"mail"})};
  return filter;
}

JobQuery list_of_mail() {
  JobQuery query;
  query.filter = all_of_mail();
  return query;
}

// The error; empty: none.
template <typename T>
std::string wrong_with(const Result<T>& result) {
  return result ? "" : result.error().message + " ";
}

class PostgresFaults : public ::testing::Test {
 protected:
  PostgresFaults()
      : url_(new_postgres_store()), proxy_(PostgresCluster::shared().port()), beside_(url_) {
    options_ = postgres_options(proxy_.url(url_));
    options_.clock = [this] {
      leapt_ms_ += leap_ms_;
      return std::chrono::steady_clock::now() + std::chrono::milliseconds{leapt_ms_};
    };
    auto opened = open_postgres_store(options_);
    MILLRACE_CHECK(opened.has_value());
    store_ = std::move(*opened);
    MILLRACE_CHECK(store_.tables->take(Epoch{5}).has_value());
  }
  ~PostgresFaults() override {
    proxy_.let_through(CuttingProxy::kAll);
    store_ = Store();
  }

  void fill_store() {
    last_ = fill(*store_.journal, 3).back().checksum;
    ASSERT_TRUE(flusher_.flush(*store_.tables, something_of_everything()));
  }

  std::string load() {
    NoState visitor;
    return wrong_with(store_.tables->load(visitor));
  }
  std::string read_from(std::uint64_t seq) {
    return wrong_with(store_.journal->read(Seq{seq}, [](const JournalRow&) { return true; }));
  }

  // Cuts `call` at ever later messages until it succeeds; `call` returns its error or an empty
  // text. Returns the number of cuts.
  int cut_everywhere(const char* what, Cut cut, const std::function<std::string()>& call) {
    int cuts = 0;
    for (std::uint64_t messages = 0; messages < kMostMessages; ++messages) {
      proxy_.let_through(messages, cut);
      const std::string wrong = call();
      proxy_.let_through(CuttingProxy::kAll);
      if (wrong.empty()) return cuts;
      ++cuts;
    }
    ADD_FAILURE() << what << " never succeeds";
    return cuts;
  }

  const std::string url_;
  CuttingProxy proxy_;
  PostgresSession beside_;
  PostgresOptions options_;
  Store store_;
  Flusher flusher_;
  Checksum last_;
  // The clock advances by this much at each reading.
  std::atomic<std::int64_t> leap_ms_ = 0;
  std::atomic<std::int64_t> leapt_ms_ = 0;
};

TEST_F(PostgresFaults, EveryReadSaysThatItWasCutOff) {
  fill_store();
  Journal& journal = *store_.journal;
  Tables& tables = *store_.tables;
  JobQuery query = list_of_mail();
  query.columns = {.payload = true, .result = true};
  const auto minute = std::chrono::minutes{1};
  const std::vector<std::pair<const char*, std::function<std::string()>>> reads = {
      {"read", [&] { return read_from(1); }},
      {"read from beyond", [&] { return read_from(4); }},
      {"extent", [&] { return wrong_with(journal.extent()); }},
      {"trim", [&] { return wrong_with(journal.trim(Seq{2})); }},
      {"load", [&] { return load(); }},
      {"progress", [&] { return wrong_with(tables.progress()); }},
      {"fetch", [&] { return wrong_with(tables.fetch({id_of(1)})); }},
      {"history", [&] { return wrong_with(tables.history(id_of(1), {})); }},
      {"list", [&] { return wrong_with(tables.list(query)); }},
      {"select_ids", [&] { return wrong_with(tables.select_ids(query.filter, {}, 10, minute)); }},
      {"list of a time",
       [&] {
         JobQuery of_time;
         of_time.filter.conditions = {at(core::Comparison::kGreaterEqual, 1),
                                      at(core::Comparison::kLess, 9'000'000)};
         return wrong_with(tables.list(of_time));
       }},
      {"list of a type",
       [&] {
         JobQuery of_type;
         of_type.filter.conditions = {condition(core::JobField::kType, {"mail.send"})};
         return wrong_with(tables.list(of_type));
       }},
      {"count", [&] { return wrong_with(tables.count(query.filter, 10, minute)); }},
      {"finished_until",
       [&] {
         return wrong_with(tables.finished_until(SharedBytes("mail"), core::State::kSucceeded,
                                                 time_from_ms(9'000'000), 10));
       }},
      {"workflow", [&] { return wrong_with(tables.workflow(id_of(60), 0, 1)); }},
      {"list_workflows", [&] { return wrong_with(tables.list_workflows({})); }},
      {"finished_workflows_until",
       [&] {
         return wrong_with(tables.finished_workflows_until(SharedBytes("mail"), core::State::kDead,
                                                           time_from_ms(9'000'000), 10));
       }},
      {"oldest_finished_workflow",
       [&] {
         return wrong_with(
             tables.oldest_finished_workflow(SharedBytes("mail"), core::State::kDead));
       }},
      {"oldest_finished",
       [&] {
         return wrong_with(tables.oldest_finished(SharedBytes("mail"), core::State::kSucceeded));
       }},
      {"get_blob", [&] { return wrong_with(tables.get_blob("name")); }},
  };
  for (const auto& [what, call] : reads) {
    EXPECT_GE(cut_everywhere(what, Cut::kBefore, call), 1) << what;
    EXPECT_GE(cut_everywhere(what, Cut::kAfter, call), 1) << what;
  }
}

TEST_F(PostgresFaults, EveryWriteThatWasCutOffCanBeDoneAgain) {
  fill_store();
  Tables& tables = *store_.tables;
  for (const Cut cut : {Cut::kBefore, Cut::kAfter}) {
    const JournalRow row = make_row(cut == Cut::kBefore ? 4 : 5, last_, "more");
    const auto append = [&] {
      const AppendResult result = store_.journal->append(row);
      EXPECT_TRUE(result.outcome == AppendOutcome::kDurable ||
                  result.outcome == AppendOutcome::kUnknown ||
                  result.outcome == AppendOutcome::kFailed)
          << result.message;
      return result.outcome == AppendOutcome::kDurable ? "" : result.message + " ";
    };
    last_ = row.checksum;
    EXPECT_GE(cut_everywhere("append", cut, append), 1);

    core::Changes changes;
    changes.jobs = {make_job(cut == Cut::kBefore ? 10 : 11)};
    changes.ended_leases = {
        {LeaseToken{8}, id_of(2), core::AttemptOutcome::kSucceeded, core::State::kSucceeded}};
    const auto flush = [&] { return wrong_with(flusher_.flush(tables, changes)); };
    EXPECT_GE(cut_everywhere("flush", cut, flush), 1);
    EXPECT_GE(
        cut_everywhere("put_blob", cut, [&] { return wrong_with(tables.put_blob("a", "b")); }), 1);
    cut_everywhere("sync", cut, [&] { return wrong_with(tables.sync()); });
    EXPECT_GE(cut_everywhere("take", cut, [&] { return wrong_with(tables.take(Epoch{5})); }), 1);
  }
  EXPECT_EQ(beside_.ask("SELECT count(*) FROM millrace.jobs"), "4");
  EXPECT_EQ(bodies(*store_.journal, 4), (std::vector<std::string>{"more", "more"}));
}

TEST_F(PostgresFaults, AFirstStartThatIsCutOffAnywhereGoesOnWithTheNext) {
  for (const Cut cut : {Cut::kBefore, Cut::kAfter}) {
    PostgresOptions options = options_;
    const std::string fresh = PostgresCluster::shared().new_database();
    options.url = proxy_.url(fresh);
    const auto start = [&] { return wrong_with(open_postgres_store(options)); };
    EXPECT_GE(cut_everywhere("the first start", cut, start), 3);
    EXPECT_EQ(PostgresSession(fresh).ask("SELECT count(*) FROM millrace.migrations"),
              std::to_string(newest_schema()));
  }
}

TEST_F(PostgresFaults, ASessionThatEndedWhileNobodyUsedItIsReplaced) {
  fill_store();
  ASSERT_TRUE(store_.tables->progress());
  beside_.ask(
      "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE "
      "datname = current_database() AND application_name LIKE 'millrace %'");
  EXPECT_TRUE(store_.tables->progress());
  EXPECT_TRUE(store_.tables->put_blob("a", "b"));
}

TEST_F(PostgresFaults, AConnectionThatVanishedWhileNobodyUsedItIsReplaced) {
  fill_store();
  proxy_.drop_all();
  EXPECT_TRUE(store_.tables->put_blob("a", "b"));
  proxy_.drop_all();
  EXPECT_TRUE(store_.tables->progress());
}

TEST_F(PostgresFaults, WhoeverFindsAllConnectionsTakenWaits) {
  fill_store();
  beside_.ask("BEGIN; LOCK TABLE millrace.blob_rows IN ACCESS EXCLUSIVE MODE");
  std::vector<std::thread> writers;
  std::atomic<int> done = 0;
  for (int n = 0; n < 12; ++n) {
    writers.emplace_back([this, &done, n] {
      while (!store_.tables->put_blob("name " + std::to_string(n), "b")) {
      }
      ++done;
    });
  }
  PostgresSession looking(url_);
  const auto all_wait = [&] {
    return looking.ask(
               "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND "
               "datname = current_database()") == "6";
  };
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds{30};
  bool waited = false;
  while (!(waited = all_wait()) && std::chrono::steady_clock::now() < deadline) {
    std::this_thread::sleep_for(std::chrono::milliseconds{1});
  }
  EXPECT_TRUE(waited);
  EXPECT_EQ(done, 0);
  beside_.ask("COMMIT");
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(beside_.ask("SELECT count(*) FROM millrace.blob_rows"), "12");
}

TEST_F(PostgresFaults, EveryCallOfTheLibraryMayFail) {
  fill_store();
  const JournalRow row = make_row(4, last_, "more");
  const auto write = [&] { return wrong_with(store_.tables->put_blob("a", "b")); };
  const auto trim = [&] { return wrong_with(store_.journal->trim(Seq{2})); };
  const auto append = [&] {
    const AppendResult result = store_.journal->append(row);
    EXPECT_NE(result.outcome, AppendOutcome::kFenced) << result.message;
    return result.outcome == AppendOutcome::kDurable ? "" : result.message + " ";
  };
  PostgresOptions fresh = options_;
  fresh.url = proxy_.url(PostgresCluster::shared().new_database());
  const auto first_start = [&] { return wrong_with(open_postgres_store(fresh)); };
  using Attempts = std::vector<std::function<std::string()>>;
  const auto fail_each = [&](std::initializer_list<Call> calls, const Attempts& attempts) {
    for (const Call call : calls) {
      bool failed = false;
      for (const auto& attempt : attempts) {
        for (int before = 0; before < 8; ++before) {
          proxy_.drop_all();  // so that a connection is opened too
          failing = call;
          calls_before = before;
          (void)attempt();
          failing = Call::kNone;
          failed |= calls_before < 0;
          EXPECT_EQ(attempt(), "");
        }
      }
      EXPECT_TRUE(failed) << static_cast<int>(call);
    }
  };
  fail_each({Call::kSetNonBlocking, Call::kEnterPipeline, Call::kSendQueryParams,
             Call::kPipelineSync, Call::kFlush, Call::kConsumeInput, Call::kExitPipeline},
            {append, write, trim});
  fail_each({Call::kSendQuery}, {first_start});
  EXPECT_EQ(bodies(*store_.journal, 4), (std::vector<std::string>{"more"}));
}

TEST_F(PostgresFaults, AServerThatFallsSilentIsGivenUp) {
  fill_store();
  beside_.ask("BEGIN; LOCK TABLE millrace.blob_rows IN ACCESS EXCLUSIVE MODE");
  leap_ms_ = 20'000;
  EXPECT_THAT(wrong_with(store_.tables->put_blob("a", "b")), HasSubstr("did not answer within"));
  beside_.ask("COMMIT");
  const AppendResult result = store_.journal->append(make_row(4, last_, "more"));
  leap_ms_ = 0;
  EXPECT_TRUE(result.outcome == AppendOutcome::kUnknown ||
              result.outcome == AppendOutcome::kDurable);
  EXPECT_EQ(store_.journal->append(make_row(4, last_, "more")).outcome, AppendOutcome::kDurable);
}

TEST_F(PostgresFaults, WhoeverCanNotEndABlockerWaitsOn) {
  fill_store();
  // The append looks for blocking sessions at once, and that query never gets through.
  leap_ms_ = 2'000;
  proxy_.let_through(0);
  const AppendResult result = store_.journal->append(make_row(4, last_, "more"));
  leap_ms_ = 0;
  proxy_.let_through(CuttingProxy::kAll);
  EXPECT_NE(result.outcome, AppendOutcome::kFenced);
  EXPECT_EQ(store_.journal->append(make_row(4, last_, "more")).outcome, AppendOutcome::kDurable);
}

TEST_F(PostgresFaults, AnotherStateAtTheSameRowIsNotTakenForOnesOwn) {
  fill_store();
  Tables& tables = *store_.tables;
  const Progress stands = tables.progress().value();
  EXPECT_TRUE(tables.flush({}, Seq{0}, stands));  // the same again: it is there
  Progress other = stands;
  other.checksum.low ^= 1;
  EXPECT_FALSE(tables.flush({}, Seq{0}, other));
  ASSERT_TRUE(open_postgres_store(options_).value().tables->take(Epoch{50}));
  EXPECT_FALSE(tables.flush({}, Seq{0}, stands));
}

TEST_F(PostgresFaults, ALaterStartThatIsCutOffAnywhereGoesOnWithTheNext) {
  const auto start = [&] { return wrong_with(open_postgres_store(options_)); };
  EXPECT_GE(cut_everywhere("a start", Cut::kBefore, start), 3);
  EXPECT_GE(cut_everywhere("a start", Cut::kAfter, start), 3);
}

TEST_F(PostgresFaults, LargeJobsGoInSeveralStatements) {
  core::Changes changes;
  for (std::uint64_t n = 1; n <= 40; ++n) {
    changes.jobs.push_back(make_job(n));
    changes.jobs.back().payload = SharedBytes('"' + std::string(1 << 20, 'x') + '"');
  }
  const SharedBytes large(std::string(1 << 20, 'x'));
  auto error = std::make_shared<core::JobError>();
  error->message = large;
  for (std::uint32_t n = 1; n <= 40; ++n) {
    changes.attempts.push_back({1, {n, n, {}, {}, {}, core::AttemptOutcome::kFailed, error}});
    changes.logs.push_back({1, {n, 1, 1, {}, 1, large}});
  }
  EXPECT_EQ(wrong_with(flusher_.flush(*store_.tables, changes)), "");
  EXPECT_EQ(beside_.ask("SELECT count(*) FROM millrace.job_rows WHERE length(payload) > 1000000"),
            "40");
  EXPECT_EQ(beside_.ask("SELECT count(*) FROM millrace.attempt_rows"), "40");
  EXPECT_EQ(beside_.ask("SELECT count(*) FROM millrace.log_rows"), "40");
}

TEST_F(PostgresFaults, SearchesBearOddFiltersAndEndInTime) {
  core::Changes changes;
  for (std::uint64_t n = 1; n <= 1'500; ++n) changes.jobs.push_back(make_job(100 + n));
  changes.jobs.push_back(make_job(5'000'000));
  ASSERT_TRUE(flusher_.flush(*store_.tables, changes));
  Tables& tables = *store_.tables;
  const auto count = [&](std::vector<core::Condition> conditions, ReadBudget budget) {
    return tables.count({std::move(conditions)}, 1'000'000, budget);
  };
  const auto minute = std::chrono::minutes{1};
  EXPECT_EQ(count({condition(core::JobField::kQueue, {"mail", std::string("m\0l", 3)})}, minute),
            1'501U);
  std::vector<std::string> names{"mail"};
  for (int n = 0; n < 200; ++n) names.push_back("queue-" + std::to_string(n));
  EXPECT_EQ(count({condition(core::JobField::kQueue, names)}, minute), 1'501U);
  EXPECT_EQ(count({at(core::Comparison::kGreaterEqual, 1'000'101)}, minute), 1'501U);
  EXPECT_EQ(count({at(core::Comparison::kLess, 1'000'050)}, minute), 0U);
  core::Condition odd = at(core::Comparison::kContains, 0);
  EXPECT_TRUE(count({odd}, minute).has_value());

  // Without an index, jobs are examined one by one while there is time.
  JobQuery query;
  query.filter.conditions = {condition(core::JobField::kTag, {"none"})};
  query.limit = 1;
  EXPECT_FALSE(tables.list(query).value().next_after_ord.has_value());
  query.budget = std::chrono::milliseconds{0};
  leap_ms_ = 500;
  EXPECT_TRUE(tables.list(query).value().next_after_ord.has_value());
  const auto counted =
      count({condition(core::JobField::kType, {"none"})}, std::chrono::milliseconds{0});
  leap_ms_ = 0;
  EXPECT_THAT(wrong_with(counted), HasSubstr("could not count the jobs in time"));
}

TEST_F(PostgresFaults, RowsThatSomebodyChangedAreFoundDamaged) {
  fill_store();
  Tables& tables = *store_.tables;
  const auto loads = [&] { return load(); };
  const auto fetch = [&] { return wrong_with(tables.fetch({id_of(1), id_of(2)})); };
  const auto list = [&] { return wrong_with(tables.list(list_of_mail())); };
  const auto history = [&] { return wrong_with(tables.history(id_of(1), {})); };
  const auto read = [&] { return read_from(1); };
  struct Damage {
    const char* table;
    const char* set;
    std::vector<std::function<std::string()>> found_by;
  };
  const std::vector<Damage> damages = {
      {"job_rows", "detail = '\\xff'", {loads, fetch, list}},
      {"job_rows", "state = 'asleep'", {fetch}},
      {"attempt_rows", "detail = '\\xff'", {history}},
      {"log_rows", "line = '\\xff'", {history}},
      {"mark_rows", "mark = '\\xff'", {history}},
      {"queue_rows", "detail = '\\xff'", {loads}},
      {"key_rows", "key = '\\x01'", {loads}},
      {"key_rows", "body = '\\x01'", {loads}},
      {"ended_lease_rows", "leases = '\\xff'", {loads}},
      {"shards", "checksum = '\\x01'", {loads, [&] { return wrong_with(tables.progress()); }}},
      {"journal_0_1", "checksum = '\\x01'", {read, [&] { return read_from(2); }}},
      {"journal_0_2", "predecessor = '\\x01'", {read}},
      {"journal_0_2", "body = 'other'", {read}},
  };
  for (const Damage& damage : damages) {
    const std::string copy = std::string("kept_") + damage.table;
    const std::string table = std::string("millrace.") + damage.table;
    beside_.ask("CREATE TABLE " + copy + " AS TABLE " + table);
    beside_.ask("UPDATE " + table + " SET " + damage.set);
    for (const auto& call : damage.found_by) {
      EXPECT_THAT(call(), Not("")) << damage.table << ": " << damage.set;
    }
    beside_.ask("DELETE FROM " + table + "; INSERT INTO " + table + " SELECT * FROM " + copy +
                "; DROP TABLE " + copy);
    EXPECT_EQ(loads() + fetch() + list() + history() + read(), "") << damage.table;
  }
}

TEST_F(PostgresFaults, AJournalWithoutItsFirstRowIsFoundDamaged) {
  fill_store();
  beside_.ask(
      "DELETE FROM millrace.journal_0_1 WHERE seq = 1; "
      "DELETE FROM millrace.journal_0_0 WHERE seq = 1");
  EXPECT_THAT(read_from(1), Not(""));
  EXPECT_EQ(read_from(2), "");
}

TEST(PostgresServers, ThatCanNotKeepWhatTheyAreGivenAreRefused) {
  PostgresCluster& cluster = PostgresCluster::shared();
  const std::string latin = cluster.new_database("template0 ENCODING 'LATIN1' LOCALE 'C'");
  EXPECT_THAT(open_postgres_store(postgres_options(latin)).error().message,
              HasSubstr("ENCODING 'UTF8'"));

  const std::string hasty = cluster.new_database();
  const std::string name = hasty.substr(hasty.rfind('/') + 1);
  PostgresSession(hasty).ask("ALTER DATABASE " + name + " SET synchronous_commit = off");
  EXPECT_THAT(open_postgres_store(postgres_options(hasty)).error().message,
              HasSubstr("synchronous_commit is off"));

  const std::string nameless = new_postgres_store();
  PostgresSession(nameless).ask("DELETE FROM millrace.meta WHERE name = 'store'");
  EXPECT_THAT(open_postgres_store(postgres_options(nameless)).error().message,
              HasSubstr("the store's id is missing"));
}

}  // namespace
}  // namespace millrace::store
