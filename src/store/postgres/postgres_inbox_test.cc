// The inbox beside a running journal: every row is read once, in order, and deleted by the append
// that takes it.
#include "store/postgres/postgres_inbox.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <future>
#include <random>
#include <set>
#include <thread>

#include "store/postgres/postgres_store.h"
#include "store/testing/cutting_proxy.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

class PostgresInboxTest : public ::testing::Test {
 protected:
  PostgresInboxTest()
      : url_(new_postgres_store()),
        proxy_(PostgresCluster::shared().port()),
        beside_(url_),
        node_(open_postgres_node(proxy_.url(url_), &std::chrono::steady_clock::now)),
        inbox_(node_->make_inbox()),
        store_(node_->open_shard(kOnlyShard).value()) {}
  ~PostgresInboxTest() override {
    proxy_.let_through(CuttingProxy::kAll);
    store_ = Store();
  }

  std::string ask(const std::string& sql) { return beside_.ask(sql); }
  std::string rows_left() { return ask("SELECT count(*) FROM millrace.inbox_rows"); }

  InboxPage read_on() {
    auto pages = inbox_->read({&reader_, 1});
    MILLRACE_CHECK(pages.has_value() && pages->size() == 1);
    reader_.place.advance(pages->front());
    return std::move(pages->front());
  }
  std::vector<InboxKey> keys_of(const InboxPage& page) {
    std::vector<InboxKey> keys;
    for (const InboxRow& row : page.rows) keys.push_back(row.key);
    return keys;
  }

  const std::string url_;
  CuttingProxy proxy_;
  PostgresSession beside_;
  std::unique_ptr<PostgresNode> node_;
  std::unique_ptr<Inbox> inbox_;
  Store store_;
  InboxReader reader_;
};

constexpr const char* kFill =
    "INSERT INTO millrace.inbox_rows(shard, kind, job, spec, payload) "
    "SELECT 0, 1, gen_random_uuid(), '{{}}', convert_to(n::text, 'UTF8') "
    "FROM generate_series(1, {}) AS n";

// A version-7 id of the time `days` days from now.
std::string id_made(int days, int number) {
  const auto ms = to_ms(std::chrono::floor<Duration>(std::chrono::system_clock::now())) +
                  days * std::int64_t{86'400'000};
  return fmt::format("{:08x}-{:04x}-7000-8000-{:012x}", ms >> 16, ms & 0xffff, number);
}

TEST_F(PostgresInboxTest, ARowSaysAllThatTheCallSaid) {
  EXPECT_FALSE(inbox_->in_use().value());
  const std::string id =
      ask("SELECT millrace.enqueue('mail.send', '{\"a\": 1}', queue => 'mail', priority => 3, "
          "idempotency_key => 'k')");
  EXPECT_TRUE(inbox_->in_use().value());
  ask("SELECT millrace.finish('" + id + "', 7, '[1]')");
  const InboxPage page = read_on();
  ASSERT_EQ(page.rows.size(), 2U);
  const InboxRow& enqueue = page.rows[0];
  EXPECT_EQ(enqueue.kind, InboxKind::kEnqueue);
  EXPECT_EQ(to_string(enqueue.job), id);
  EXPECT_EQ(queue_bits(enqueue.job), queue_bits("mail"));
  EXPECT_TRUE(is_uuid_v7(enqueue.job));
  EXPECT_EQ(enqueue.spec, R"({"type": "mail.send", "queue": "mail", "priority": 3})");
  EXPECT_EQ(enqueue.payload, R"({"a": 1})");
  EXPECT_EQ(enqueue.idempotency_key, "k");
  const InboxRow& finish = page.rows[1];
  EXPECT_EQ(finish.kind, InboxKind::kFinish);
  EXPECT_EQ(finish.job, enqueue.job);
  EXPECT_EQ(finish.token, LeaseToken{7});
  EXPECT_EQ(finish.payload, "[1]");
  EXPECT_LT(enqueue.key, finish.key);
  EXPECT_THAT(read_on().rows, IsEmpty());
}

TEST_F(PostgresInboxTest, TagsAreAPlainList) {
  EXPECT_EQ(beside_.refusal("SELECT millrace.enqueue('t', tags => '{{a, b}, {c, d}}')"), "22023");
  ask("SELECT millrace.enqueue('t', tags => '{}'), millrace.enqueue('t', tags => '{a, b}')");
  EXPECT_EQ(rows_left(), "2");
}

TEST_F(PostgresInboxTest, DotsAreNoNames) {
  for (const std::string call :
       {"enqueue('.')", "enqueue('t', queue => '..')",
        R"(schedule('.', '{"every_ms": 1000, "job": {"type": "t"}}'))",
        R"(schedule('s', '{"every_ms": 1000, "job": {"type": "t", "queue": "."}}'))"}) {
    EXPECT_EQ(beside_.refusal("SELECT millrace." + call), "22023") << call;
  }
  ask("SELECT millrace.enqueue('...')");
  EXPECT_EQ(rows_left(), "1");
}

TEST_F(PostgresInboxTest, LimitsAndKeysComeThrough) {
  const std::string call =
      R"(SELECT millrace.enqueue('t', limits => '[{"name": "stripe", "key": "a", "cost": 2}]',)"
      R"( order_key => 'o', order_on_failure => 'pass', fair_key => 'f'))";
  ask(call);
  const InboxPage page = read_on();
  ASSERT_EQ(page.rows.size(), 1U);
  EXPECT_EQ(
      page.rows[0].spec,
      R"({"type": "t", "queue": "default", "limits": [{"key": "a", "cost": 2, )"
      R"("name": "stripe"}], "fair_key": "f", "order_key": "o", "order_on_failure": "pass"})");
}

TEST_F(PostgresInboxTest, WhatIsNoLimitIsRefused) {
  for (const std::string arguments :
       {R"(limits => '{}')", R"(limits => '[1]')", R"(limits => '[{"name": 1}]')",
        R"(limits => '[{"name": "a b"}]')", R"(limits => '[{"key": "k"}]')",
        R"(limits => '[{"name": "a", "key": ""}]')", R"(limits => '[{"name": "a", "cost": 0}]')",
        R"(limits => '[{"name": "a", "cost": 1000001}]')",
        R"(limits => '[{"name": "a", "cost": 1.5}]')", R"(limits => '[{"name": "a", "more": 1}]')",
        R"(limits => (SELECT jsonb_agg(jsonb_build_object('name', n::text))
                      FROM generate_series(1, 9) AS n))",
        R"(order_key => '')", R"(order_key => repeat('k', 129))", R"(fair_key => '')",
        R"(order_on_failure => 'pass')", R"(order_key => 'k', order_on_failure => 'wait')",
        R"(unique_key => 'u', on_conflict => 'debounce')",
        R"(unique_key => 'u', on_conflict => 'return', max_wait => '1 s')"}) {
    EXPECT_EQ(beside_.refusal("SELECT millrace.enqueue('t', " + arguments + ")"), "22023")
        << arguments;
  }
  ask(R"(SELECT millrace.enqueue('t', limits => '[]'), millrace.enqueue('t', limits => NULL),
         millrace.enqueue('t', limits => '[{"name": "a", "key": null, "cost": 1000000}]'))");
  EXPECT_EQ(rows_left(), "3");
}

// Converting a row to JSON calls code of its types' owner.
TEST_F(PostgresInboxTest, ATriggerHasTheRightsOfWhoWrites) {
  const std::string role = "writer_" + ask("SELECT current_database()");
  ask(
      fmt::format("CREATE ROLE {0}; GRANT USAGE ON SCHEMA millrace TO {0};"
                  "GRANT EXECUTE ON FUNCTION millrace.enqueue TO {0}",
                  role));
  ask("CREATE TYPE public.mood AS ENUM ('fine');"
      "CREATE FUNCTION public.as_json(public.mood) RETURNS json LANGUAGE sql "
      "AS 'SELECT to_json(current_user::text)';"
      "CREATE CAST (public.mood AS json) WITH FUNCTION public.as_json(public.mood);"
      "CREATE TABLE public.notes(mood public.mood);"
      "CREATE TRIGGER notes_to_jobs AFTER INSERT ON public.notes "
      "FOR EACH ROW EXECUTE FUNCTION millrace.enqueue_row('note.made')");
  ask(fmt::format("GRANT INSERT ON public.notes TO {}", role));
  const std::string write =
      fmt::format("SET ROLE {}; INSERT INTO public.notes VALUES ('fine'); RESET ROLE", role);
  ask(write);
  const InboxPage page = read_on();
  ASSERT_EQ(page.rows.size(), 1U);
  EXPECT_EQ(
      page.rows[0].payload,
      fmt::format(R"({{"op": "insert", "row": {{"mood": "{}"}}, "table": "public.notes"}})", role));
  ask(fmt::format("REVOKE EXECUTE ON FUNCTION millrace.enqueue FROM {}", role));
  EXPECT_EQ(beside_.refusal(write), "42501");
}

// Transactions that open, write and end in any order, and pages that are cut off.
TEST_F(PostgresInboxTest, EveryRowIsReadOnceHoweverLateItsTransactionCommits) {
  constexpr int kSessions = 8;
  struct Writer {
    explicit Writer(const std::string& url) : session(url) {}
    PostgresSession session;
    int rows = 0;  // of the current transaction; 0: none
  };
  std::vector<std::unique_ptr<Writer>> writers;
  for (int i = 0; i < kSessions; ++i) writers.push_back(std::make_unique<Writer>(url_));
  std::mt19937 random(7);
  std::size_t committed = 0;
  std::set<InboxKey> seen;
  std::size_t cut = 0;
  const auto read = [&] {
    const InboxPage page = read_on();
    const std::vector<InboxKey> keys = keys_of(page);
    EXPECT_TRUE(std::ranges::is_sorted(keys));
    for (const InboxKey& key : keys) EXPECT_TRUE(seen.insert(key).second) << key.xid;
    cut += page.cut ? 1 : 0;
    return page.cut;
  };
  for (int round = 0; round < 600; ++round) {
    Writer& writer = *writers[random() % kSessions];
    if (writer.rows == 0) writer.session.ask("BEGIN");
    if (writer.rows == 0 || random() % 2 == 0) {
      const int rows = random() % 8 == 0 ? 900 : 1;
      writer.session.ask(fmt::format(fmt::runtime(kFill), rows));
      writer.rows += rows;
    } else if (random() % 4 == 0) {
      writer.session.ask("ROLLBACK");
      writer.rows = 0;
    } else {
      writer.session.ask("COMMIT");
      committed += static_cast<std::size_t>(std::exchange(writer.rows, 0));
    }
    if (random() % 3 == 0) read();
  }
  for (auto& writer : writers) {
    if (writer->rows == 0) continue;
    writer->session.ask("COMMIT");
    committed += static_cast<std::size_t>(writer->rows);
  }
  while (read()) {
  }
  EXPECT_EQ(seen.size(), committed);
  EXPECT_EQ(rows_left(), std::to_string(committed));
  EXPECT_GT(cut, 10U);
}

TEST_F(PostgresInboxTest, APageHasNoMoreThanItsBytes) {
  ask("INSERT INTO millrace.inbox_rows(shard, kind, job, spec, payload) SELECT 0, 1, "
      "gen_random_uuid(), '{}', convert_to(repeat('x', 1048576), 'UTF8') "
      "FROM generate_series(1, 10)");
  std::vector<std::size_t> pages;
  for (bool more = true; more;) {
    const InboxPage page = read_on();
    pages.push_back(page.rows.size());
    more = page.cut;
  }
  EXPECT_THAT(pages, ElementsAre(4, 4, 2));
}

// As after a restore of a dump into another cluster: the rows' transactions are in this one's
// future.
TEST_F(PostgresInboxTest, RowsOfAnotherClustersTransactionsHideNothing) {
  ask("INSERT INTO millrace.inbox_rows(shard, xid, kind, job, spec) SELECT 0, 1000000000 + n, 1, "
      "gen_random_uuid(), '{}' FROM generate_series(1, 3) AS n");
  EXPECT_EQ(read_on().rows.size(), 3U);
  ask(fmt::format(fmt::runtime(kFill), 1));
  const InboxPage page = read_on();
  ASSERT_EQ(page.rows.size(), 4U);  // the others again, until they are taken
  EXPECT_EQ(page.rows.front().payload, "1");
}

// Another reader may detect the server's crash first and reconnect.
TEST_F(PostgresInboxTest, AReaderBeginsAnewOnAConnectionThatIsYoungerThanItsLastRead) {
  ask(fmt::format(fmt::runtime(kFill), 2));
  EXPECT_EQ(read_on().rows.size(), 2U);
  EXPECT_THAT(read_on().rows, IsEmpty());
  proxy_.drop_all();
  EXPECT_TRUE(inbox_->drop(kOnlyShard, {}));
  EXPECT_EQ(read_on().rows.size(), 2U);
  EXPECT_THAT(read_on().rows, IsEmpty());
  proxy_.drop_all();
  EXPECT_EQ(read_on().rows.size(), 2U);
  EXPECT_THAT(read_on().rows, IsEmpty());
}

// A read does not scan rows taken long ago, although no VACUUM may remove them.
TEST_F(PostgresInboxTest, AReadDoesNotMeetDeadRows) {
  PostgresSession reader(url_);
  reader.ask("BEGIN ISOLATION LEVEL REPEATABLE READ");
  reader.ask("SELECT 1");
  ask(fmt::format(fmt::runtime(kFill), 100'000));
  while (read_on().cut) {
  }
  ask("DELETE FROM millrace.inbox_rows");
  ask("VACUUM millrace.inbox_rows");
  const auto blocks = [&](const InboxKey& after) {
    const std::string explain = fmt::format(
        "EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) "
        "SELECT * FROM millrace.read_inbox('{{0}}', '{{{}}}', '{{{}}}', '{{}}', '{{}}', '{{}}')",
        after.xid, after.id);
    ask(explain);  // plans it
    const std::string plan = ask(explain);
    const std::string name = "\"Shared Hit Blocks\": ";
    const std::size_t at = plan.find(name);
    MILLRACE_CHECK(at != std::string::npos);
    return std::stoi(plan.substr(at + name.size()));
  };
  EXPECT_GT(blocks({}), 1'000);
  EXPECT_LT(blocks(reader_.place.after()), 30);
  ask(fmt::format(fmt::runtime(kFill), 1));
  EXPECT_EQ(read_on().rows.size(), 1U);
}

TEST_F(PostgresInboxTest, AnAppendDeletesWhatItTakesAndNothingElse) {
  ask(fmt::format(fmt::runtime(kFill), 5));
  const std::vector<InboxKey> keys = keys_of(read_on());
  JournalRow row = make_row(1, {}, "row 1");
  row.taken = {keys[1], keys[3]};
  ASSERT_EQ(store_.journal->append(row).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(ask("SELECT string_agg(convert_from(payload, 'UTF8'), ' ' ORDER BY id) "
                "FROM millrace.inbox_rows"),
            "1 3 5");
  // Append it again, as after an unknown outcome.
  EXPECT_EQ(store_.journal->append(row).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(rows_left(), "3");

  JournalRow next = make_row(2, row.checksum, "row 2");
  next.taken = {keys[0], keys[2], keys[4]};
  ASSERT_EQ(store_.journal->append(next).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(rows_left(), "0");
}

TEST_F(PostgresInboxTest, AnAppendThatInsertsNothingDeletesNothing) {
  const auto rows = fill(*store_.journal, 2);
  ask(fmt::format(fmt::runtime(kFill), 2));
  const std::vector<InboxKey> keys = keys_of(read_on());
  JournalRow deposed = make_row(2, rows[0].checksum, "another leader's");
  deposed.taken = keys;
  EXPECT_EQ(store_.journal->append(deposed).outcome, AppendOutcome::kFenced);
  JournalRow astray = make_row(3, rows[0].checksum, "after another row");
  astray.taken = keys;
  EXPECT_EQ(store_.journal->append(astray).outcome, AppendOutcome::kFenced);
  EXPECT_EQ(rows_left(), "2");
}

// A crash of the server may undo an asynchronous commit that was already read.
TEST_F(PostgresInboxTest, AnAppendThatTakesWhatIsGoneInsertsNothing) {
  ask(fmt::format(fmt::runtime(kFill), 2));
  JournalRow row = make_row(1, {}, "row 1");
  row.taken = keys_of(read_on());
  ASSERT_EQ(row.taken.size(), 2U);
  ask("DELETE FROM millrace.inbox_rows WHERE id = (SELECT min(id) FROM millrace.inbox_rows)");
  EXPECT_EQ(store_.journal->append(row).outcome, AppendOutcome::kFenced);
  EXPECT_EQ(rows_left(), "1");
  row.taken = {row.taken[1]};
  EXPECT_EQ(store_.journal->append(row).outcome, AppendOutcome::kDurable);
  EXPECT_EQ(rows_left(), "0");
}

TEST_F(PostgresInboxTest, AnUnknownAppendIsSettledWithWhatItTakes) {
  JournalRow last;
  for (const auto cut : {CuttingProxy::Cut::kBefore, CuttingProxy::Cut::kAfter}) {
    ask(fmt::format(fmt::runtime(kFill), 1));
    JournalRow row = make_row(to_number(last.seq) + 1, last.checksum, "row");
    row.taken = keys_of(read_on());
    ASSERT_EQ(row.taken.size(), 1U);
    proxy_.let_through(0, cut);
    const AppendResult doubtful = store_.journal->append(row);
    EXPECT_TRUE(doubtful.outcome == AppendOutcome::kUnknown ||
                doubtful.outcome == AppendOutcome::kFailed)
        << doubtful.message;
    proxy_.let_through(CuttingProxy::kAll);
    EXPECT_EQ(store_.journal->append(row).outcome, AppendOutcome::kDurable);
    EXPECT_EQ(rows_left(), "0");
    last = row;
  }
}

TEST_F(PostgresInboxTest, WhatIsRejectedIsPutAsideOnce) {
  ask(fmt::format(fmt::runtime(kFill), 2));
  const std::vector<InboxKey> keys = keys_of(read_on());
  const std::vector<RejectedRow> bad = {{keys[0], "no good"}};
  EXPECT_TRUE(inbox_->reject(kOnlyShard, bad));
  EXPECT_TRUE(inbox_->reject(kOnlyShard, bad));
  EXPECT_TRUE(inbox_->drop(kOnlyShard, {&keys[1], 1}));
  EXPECT_EQ(rows_left(), "0");
  EXPECT_EQ(ask("SELECT string_agg(concat(kind, ' ', payload, ' ', reason), ',') "
                "FROM millrace.inbox_rejected"),
            "enqueue 1 no good");
}

TEST_F(PostgresInboxTest, ARowOfAScheduleHasItsNameAndItsSpecification) {
  ask("SELECT millrace.schedule('nightly', '{\"cron\":\"@daily\",\"job\":{\"type\":\"t\"}}')");
  ask("SELECT millrace.unschedule('nightly')");
  const InboxPage page = read_on();
  ASSERT_EQ(page.rows.size(), 2U);
  const InboxRow& set = page.rows[0];
  EXPECT_EQ(set.kind, InboxKind::kSetSchedule);
  EXPECT_EQ(set.schedule, "nightly");
  EXPECT_EQ(set.payload, R"({"job": {"type": "t"}, "cron": "@daily"})");
  EXPECT_EQ(set.job, JobId{});
  EXPECT_EQ(page.rows[1].kind, InboxKind::kDeleteSchedule);
  EXPECT_EQ(page.rows[1].schedule, "nightly");
  EXPECT_EQ(page.rows[1].payload, "");
  // They are no finishes, and found by their keys.
  EXPECT_THAT(inbox_->finishes(kOnlyShard).value(), IsEmpty());
  const std::vector<InboxKey> keys = keys_of(page);
  const auto fetched = inbox_->fetch(kOnlyShard, keys);
  ASSERT_TRUE(fetched && fetched->rows.size() == 2);
  EXPECT_EQ(fetched->rows[0].schedule, "nightly");
  const std::vector<RejectedRow> bad = {{keys[0], "no good"}, {keys[1], "neither"}};
  EXPECT_TRUE(inbox_->reject(kOnlyShard, bad));
  EXPECT_EQ(rows_left(), "0");
  EXPECT_EQ(ask("SELECT string_agg(concat_ws(' ', kind, schedule, spec->>'cron', payload, reason), "
                "', ' ORDER BY id) FROM millrace.inbox_rejected WHERE job IS NULL"),
            "schedule nightly @daily no good, unschedule nightly neither");
}

TEST_F(PostgresInboxTest, FinishesAreFoundBehindSubmissions) {
  ask(fmt::format(fmt::runtime(kFill), 3));
  const JobId job = parse_job_id(id_made(0, 1)).value();
  ask(fmt::format("SELECT millrace.finish('{}', 7, '[1]')", to_string(job)));
  const auto found = inbox_->finishes(kOnlyShard);
  ASSERT_TRUE(found && found->size() == 1);
  const InboxRow& finish = found->front();
  EXPECT_EQ(finish.kind, InboxKind::kFinish);
  EXPECT_EQ(finish.job, job);
  EXPECT_EQ(finish.token, LeaseToken{7});
  EXPECT_EQ(finish.payload, "[1]");
  EXPECT_EQ(finish.key, keys_of(read_on()).back());
  ASSERT_TRUE(inbox_->drop(kOnlyShard, {&finish.key, 1}));
  EXPECT_THAT(inbox_->finishes(kOnlyShard).value(), IsEmpty());
  ask("INSERT INTO millrace.inbox_rows(shard, kind, job, token, payload) SELECT 0, 2, "
      "gen_random_uuid(), 7, convert_to(repeat('x', 1048576), 'UTF8') FROM generate_series(1, 6)");
  EXPECT_EQ(inbox_->finishes(kOnlyShard)->size(), 4U);
}

TEST_F(PostgresInboxTest, RowsAreFetchedByTheirKeys) {
  ask(fmt::format(fmt::runtime(kFill), 3));
  const InboxPage page = read_on();
  std::vector<InboxKey> keys = keys_of(page);
  ASSERT_TRUE(inbox_->drop(kOnlyShard, {&keys[1], 1}));
  const auto fetched = inbox_->fetch(kOnlyShard, keys);
  ASSERT_TRUE(fetched);
  ASSERT_EQ(fetched->rows.size(), 2U);
  EXPECT_EQ(fetched->rows[1].key, keys[2]);
  EXPECT_EQ(fetched->rows[1].job, page.rows[2].job);
  EXPECT_EQ(fetched->rows[1].at, page.rows[2].at);
  EXPECT_EQ(fetched->rows[1].spec, "{}");
  EXPECT_EQ(fetched->rows[1].payload, "3");
  EXPECT_THAT(fetched->gone, ElementsAre(keys[1]));
  EXPECT_THAT(fetched->left, IsEmpty());
}

TEST_F(PostgresInboxTest, WhatIsFetchedIsBoundedInBytes) {
  ask("INSERT INTO millrace.inbox_rows(shard, kind, job, spec, payload) "
      "SELECT 0, 1, gen_random_uuid(), '{}', convert_to(repeat('x', 1048576), 'UTF8') "
      "FROM generate_series(1, 6)");
  std::vector<InboxKey> keys;
  for (int page = 0; page < 2; ++page) {
    for (const InboxKey& key : keys_of(read_on())) keys.push_back(key);
  }
  ASSERT_EQ(keys.size(), 6U);
  const auto fetched = inbox_->fetch(kOnlyShard, keys);
  ASSERT_TRUE(fetched);
  EXPECT_EQ(fetched->rows.size(), 4U);
  EXPECT_THAT(fetched->left, ElementsAre(keys[4], keys[5]));
  EXPECT_THAT(fetched->gone, IsEmpty());
}

// A finish in the inbox belongs to the previous generation: no new one begins until it is taken.
TEST_F(PostgresInboxTest, AFinishedJobBeginsAnewWhenNothingOfItIsToCome) {
  const JobId job = parse_job_id(id_made(0, 1)).value();
  ASSERT_TRUE(store_.tables->take(Epoch{7}).has_value());
  const auto raise = [&](std::uint64_t token) {
    return store_.tables->fences()->raise({&job, 1}, LeaseToken{token}).value().size();
  };
  const auto finish = [&](int token) {
    return fmt::format("SELECT millrace.finish('{}', {})", to_string(job), token);
  };
  EXPECT_EQ(raise(5), 1U);
  EXPECT_EQ(beside_.refusal(finish(4)), "ML003");
  ask(finish(5));
  EXPECT_EQ(raise(6), 0U);
  ASSERT_TRUE(inbox_->drop(0, keys_of(read_on())).has_value());
  EXPECT_EQ(raise(6), 1U);
  EXPECT_EQ(beside_.refusal(finish(5)), "ML003");
  ask(finish(6));
}

// There is another leader by now, and its job may be in a later generation.
TEST_F(PostgresInboxTest, AFormerLeaderRaisesNothing) {
  const JobId job = parse_job_id(id_made(0, 1)).value();
  ASSERT_TRUE(store_.tables->take(Epoch{7}).has_value());
  ask(fmt::format("SELECT millrace.finish('{}', 5)", to_string(job)));
  ask("DELETE FROM millrace.inbox_rows");
  ask("UPDATE millrace.shards SET epoch = epoch + 1");
  EXPECT_THAT(store_.tables->fences()->raise({&job, 1}, LeaseToken{6}).value(), IsEmpty());
  EXPECT_EQ(beside_.refusal(fmt::format("SELECT millrace.finish('{}', 7)", to_string(job))),
            "ML002");
}

// A later leader issued that token, and the raise waited for the transaction that finishes the job
// with it.
TEST_F(PostgresInboxTest, WhatALaterTokenHasFinishedStays) {
  const JobId job = parse_job_id(id_made(0, 1)).value();
  ASSERT_TRUE(store_.tables->take(Epoch{7}).has_value());
  ask(fmt::format("SELECT millrace.finish('{}', 5)", to_string(job)));
  ask("DELETE FROM millrace.inbox_rows");
  PostgresSession later(url_);
  const std::string set = fmt::format("WHERE job = '{}'", to_string(job));
  const auto raise = [&] { return store_.tables->fences()->raise({&job, 1}, LeaseToken{8}); };
  // The lock timeout is short, so retry once if it was exceeded.
  Result<std::vector<JobId>> raised = failure("not tried");
  for (int tries = 0; tries < 50 && !raised; ++tries) {
    later.ask("UPDATE millrace.fences SET token = 5 " + set);
    later.ask("BEGIN");
    later.ask("UPDATE millrace.fences SET token = 9 " + set);
    auto waiting = std::async(std::launch::async, raise);
    while (ask("SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock'") == "0" &&
           waiting.wait_for(std::chrono::milliseconds{0}) != std::future_status::ready) {
    }
    later.ask("COMMIT");
    raised = waiting.get();
  }
  EXPECT_THAT(raised.value(), IsEmpty());
}

TEST_F(PostgresInboxTest, WhoLooksForFinishesDoesNotReadTheWholeInbox) {
  ask(fmt::format(fmt::runtime(kFill), 20'000));
  const JobId job = parse_job_id(id_made(0, 1)).value();
  ASSERT_TRUE(store_.tables->take(Epoch{7}).has_value());
  ask(fmt::format("SELECT millrace.finish('{}', 5)", to_string(job)));
  EXPECT_THAT(store_.tables->fences()->raise({&job, 1}, LeaseToken{6}).value(), IsEmpty());
  EXPECT_EQ(inbox_->finishes(kOnlyShard)->size(), 1U);
  // A session reports its statistics of reads when it ends, at the latest.
  store_ = Store();
  inbox_.reset();
  node_.reset();
  const std::string sessions =
      "SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'millrace %' "
      "AND datname = current_database()";
  while (ask(sessions) != "0") std::this_thread::sleep_for(std::chrono::milliseconds{5});
  EXPECT_EQ(ask("SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'inbox_rows'"), "0");
  EXPECT_EQ(ask("SELECT idx_tup_read FROM pg_stat_user_indexes "
                "WHERE indexrelname = 'inbox_rows_pkey'"),
            "0");
}

TEST_F(PostgresInboxTest, FencesGoADayAfterTheirJob) {
  const auto finish = [&](const std::string& id) {
    ask(fmt::format("INSERT INTO millrace.fences VALUES ('{}', 7, true, clock_timestamp())", id));
  };
  const std::string kept = id_made(-9, 1);
  finish(kept);
  ask(
      fmt::format("INSERT INTO millrace.job_rows_0(shard, ord, id, queue, type, state, priority, "
                  "attempt, created_at, run_at, detail, payload) "
                  "VALUES (0, 1, '{}', 'q', 't', 'succeeded', 0, 1, 0, 0, '', '')",
                  kept));
  const std::string late = id_made(-9, 2);
  finish(late);
  const std::string young = id_made(0, 3);
  finish(young);
  const std::string gone = id_made(-9, 4);
  finish(gone);
  ask(fmt::format("UPDATE millrace.fences SET at = at - interval '25 hours' WHERE job <> '{}'",
                  late));

  const auto left = [&] {
    return ask("SELECT string_agg(right(job::text, 1), '' ORDER BY job) FROM millrace.fences");
  };
  EXPECT_EQ(inbox_->sweep_fences({}).value(), JobId{});
  EXPECT_EQ(left(), "123");
  // No transaction can finish that job any more, whatever the token.
  EXPECT_EQ(beside_.refusal(fmt::format("SELECT millrace.finish('{}', 9)", gone)), "ML004");
  EXPECT_EQ(left(), "123");
}

TEST_F(PostgresInboxTest, ASweepGoesOnWhereTheLastOneStopped) {
  ask("INSERT INTO millrace.fences SELECT gen_random_uuid(), 7, true, clock_timestamp() "
      "FROM generate_series(1, 4500)");
  JobId place{};
  std::vector<bool> wraps;
  for (int i = 0; i < 3; ++i) {
    place = inbox_->sweep_fences(place).value();
    wraps.push_back(place == JobId{});
  }
  EXPECT_THAT(wraps, ElementsAre(false, false, true));
}

TEST_F(PostgresInboxTest, WhatWasRejectedIsKeptForAMonth) {
  ask(fmt::format(fmt::runtime(kFill), 2));
  const std::vector<InboxKey> keys = keys_of(read_on());
  const std::vector<RejectedRow> bad = {{keys[0], "no good"}, {keys[1], "no good"}};
  ASSERT_TRUE(inbox_->reject(kOnlyShard, bad));
  ask(
      fmt::format("UPDATE millrace.inbox_rejected SET rejected_at = rejected_at - interval '31 "
                  "days' WHERE id = {}",
                  keys[0].id));
  ASSERT_TRUE(inbox_->sweep_rejected());
  EXPECT_EQ(ask("SELECT id FROM millrace.inbox_rejected"), std::to_string(keys[1].id));
}

TEST_F(PostgresInboxTest, RejectedRowsGoSomeAtATimeAndWaitForNobody) {
  ask("INSERT INTO millrace.inbox_rejected(id, rejected_at, reason, kind, job, at) "
      "SELECT n, now() - interval '31 days', 'no good', 'enqueue', gen_random_uuid(), now() "
      "FROM generate_series(1, 2500) AS n");
  PostgresSession reader(url_);
  reader.ask("BEGIN; SELECT id FROM millrace.inbox_rejected WHERE id = 7 FOR UPDATE");
  const auto left = [&] { return ask("SELECT count(*) FROM millrace.inbox_rejected"); };
  ASSERT_TRUE(inbox_->sweep_rejected());
  EXPECT_EQ(left(), "500");
  ASSERT_TRUE(inbox_->sweep_rejected());
  EXPECT_EQ(ask("SELECT string_agg(id::text, ' ') FROM millrace.inbox_rejected"), "7");
  reader.ask("ROLLBACK");
  ASSERT_TRUE(inbox_->sweep_rejected());
  EXPECT_EQ(left(), "0");
}

class RejectedFences : public PostgresInboxTest {
 protected:
  std::string finish(std::int64_t token) const {
    return fmt::format("SELECT millrace.finish('{}', {})", id_, token);
  }
  std::string fence(std::int64_t token) const {
    return fmt::format("SELECT millrace.fence('{}', {})", id_, token);
  }
  void reject(std::size_t rows, FenceOfRejected fence, LeaseToken open_to = kNoToken) {
    std::vector<RejectedRow> bad;
    for (const InboxKey& key : keys_of(read_on())) bad.push_back({key, "no good", fence, open_to});
    ASSERT_EQ(bad.size(), rows);
    ASSERT_TRUE(inbox_->reject(kOnlyShard, bad));
  }

  const std::string id_ = id_made(0, 1);
};

TEST_F(RejectedFences, AreOpenedOnlyIfTheTokenWasNeverTheJobs) {
  ask(finish(900));
  EXPECT_EQ(beside_.refusal(finish(6)), "ML002");
  reject(1, FenceOfRejected::kReopened, LeaseToken{5});
  EXPECT_EQ(beside_.refusal(finish(4)), "ML003");
  ask(finish(5));
  reject(1, FenceOfRejected::kStays);
  EXPECT_EQ(beside_.refusal(finish(5)), "ML002");
  EXPECT_EQ(beside_.refusal(finish(6)), "ML002");
}

// Any number of times, each above the last.
TEST_F(RejectedFences, AreOpenedWhereNothingWasFinishedToo) {
  ask(fence(900));
  ask(fence(900));
  ask(fence(901));
  EXPECT_EQ(beside_.refusal(finish(5)), "ML003");
  reject(3, FenceOfRejected::kReopened, LeaseToken{5});
  ask(finish(5));
  EXPECT_EQ(ask("SELECT string_agg(kind, ',') FROM millrace.inbox_rejected"), "fence,fence,fence");
}

// A fence of one token and the finish of another: each row reopens only its own.
TEST_F(RejectedFences, StayWhereAnotherHasRaisedThemSince) {
  ask(fence(7));
  const std::vector<InboxKey> first = keys_of(read_on());
  ask(finish(8));
  const RejectedRow bad{first.at(0), "no good", FenceOfRejected::kReopened, LeaseToken{5}};
  ASSERT_TRUE(inbox_->reject(kOnlyShard, {&bad, 1}));
  EXPECT_EQ(beside_.refusal(finish(9)), "ML002");
}

TEST_F(RejectedFences, AreNotRaisedByARetryBeforeThat) {
  const JobId job = parse_job_id(id_).value();
  ASSERT_TRUE(store_.tables->take(Epoch{7}).has_value());
  const auto raised = [&] {
    return store_.tables->fences()->raise({&job, 1}, LeaseToken{20}).value().size();
  };
  ask(fence(900));
  EXPECT_EQ(raised(), 0U);
  reject(1, FenceOfRejected::kReopened, LeaseToken{5});
  EXPECT_EQ(raised(), 1U);
  EXPECT_EQ(beside_.refusal(finish(19)), "ML003");
  ask(finish(20));
}

TEST_F(PostgresInboxTest, ARowThatIsMovedIsReadThereOnce) {
  ask(fmt::format(fmt::runtime(kFill), 1));
  const InboxPage page = read_on();
  EXPECT_TRUE(inbox_->move(kOnlyShard, page.rows[0].key, 5));
  EXPECT_TRUE(inbox_->move(kOnlyShard, page.rows[0].key, 5));
  InboxReader other{5, {}};
  const auto there = inbox_->read({&other, 1});
  ASSERT_EQ(there.value().front().rows.size(), 1U);
  EXPECT_EQ(there->front().rows[0].job, page.rows[0].job);
  EXPECT_EQ(there->front().rows[0].moves, 1U);
  EXPECT_EQ(rows_left(), "1");
}

}  // namespace
}  // namespace millrace::store
