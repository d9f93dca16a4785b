// The registry on PostgreSQL beyond the contract: the order of locks, fences, doubt.
#include "store/postgres/postgres_registry.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <future>
#include <thread>
#include <utility>
#include <vector>

#include "store/testing/jobs.h"
#include "store/testing/pg_bouncer.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using ::testing::HasSubstr;
using ::testing::MatchesRegex;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr NodeId kA{0xa};
constexpr NodeId kB{0xb};
constexpr Duration kLease = 60s;

NodeFacts facts_of(NodeId id) { return {id, "http://10.0.0.1:7600", "host", "0.1.0", 1}; }

// One process.
struct Process {
  explicit Process(const PostgresOptions& options)
      : node(PostgresNode::open(options).value()),
        store(node->open_shard(0).value()),
        registry(node->make_registry()) {}

  ShardView renew(NodeId id) { return registry->renew(facts_of(id), kLease).value().shards[0]; }
  std::optional<Term> take(NodeId id, const ShardView& seen) {
    return registry->take(id, seen, Epoch{1}).value();
  }

  std::unique_ptr<PostgresNode> node;
  Store store;
  std::unique_ptr<Registry> registry;
};

class PostgresRegistryTest : public ::testing::Test {
 protected:
  PostgresRegistryTest()
      : url_(new_postgres_store()), beside_(url_), a_(options()), b_(options()) {}

  // With a clock that stands still, so that no call becomes impatient.
  PostgresOptions options() const { return postgres_options(url_); }
  PostgresOptions options_with_a_clock() const {
    PostgresOptions made = options();
    made.clock = [] { return std::chrono::steady_clock::now(); };
    return made;
  }
  std::string ask(const std::string& sql) { return beside_.ask(sql); }

  ShardView lead_a() {
    MILLRACE_CHECK(a_.take(kA, a_.renew(kA)).has_value());
    return a_.renew(kA);
  }
  // Ends the node's lease; none of its renewals may be running.
  void end_lease(NodeId id) {
    ask(fmt::format("UPDATE millrace.nodes SET expires_at = clock_timestamp() WHERE node = '{}'",
                    to_string(id)));
  }
  // Makes changes to `table` wait, with their locks, until go_on().
  void hold(const std::string& when, const std::string& condition = "true") {
    ask("CREATE FUNCTION public.hold() RETURNS trigger LANGUAGE plpgsql AS "
        "'BEGIN PERFORM pg_advisory_xact_lock(7); RETURN NEW; END'");
    ask(fmt::format("CREATE TRIGGER hold {} FOR EACH ROW WHEN ({}) EXECUTE FUNCTION public.hold()",
                    when, condition));
    ask("SELECT pg_advisory_lock(7)");
  }
  void go_on() { ask("SELECT pg_advisory_unlock(7)"); }
  // Waits until this many sessions wait for locks of this kind: "advisory", or "transactionid" for
  // a row.
  void await_waiting(std::size_t sessions, const std::string& event) {
    const std::string count = fmt::format(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND "
        "wait_event_type = 'Lock' AND wait_event = '{}'",
        event);
    while (ask(count) != std::to_string(sessions)) std::this_thread::sleep_for(5ms);
  }

  const std::string url_;
  PostgresSession beside_;
  Process a_;
  Process b_;
};

TEST_F(PostgresRegistryTest, ATakeThatWaitedForARenewalTakesNothing) {
  const ShardView seen = lead_a();
  end_lease(kA);
  hold("AFTER UPDATE ON millrace.nodes", fmt::format("NEW.node = '{}'", to_string(kA)));
  auto renewal = std::async(std::launch::async, [&] { return a_.renew(kA); });
  await_waiting(1, "advisory");
  auto taken = std::async(std::launch::async, [&] { return b_.take(kB, seen); });
  await_waiting(1, "transactionid");
  go_on();
  EXPECT_EQ(renewal.get().leader, kA);
  EXPECT_FALSE(taken.get());
  EXPECT_EQ(b_.renew(kB).epoch, seen.epoch);
}

TEST_F(PostgresRegistryTest, ARenewalThatWaitedForATakeSeesIt) {
  const ShardView seen = lead_a();
  end_lease(kA);
  hold("BEFORE UPDATE ON millrace.shards");
  auto taken = std::async(std::launch::async, [&] { return b_.take(kB, seen); });
  await_waiting(1, "advisory");
  auto renewal = std::async(std::launch::async, [&] { return a_.renew(kA); });
  await_waiting(1, "transactionid");
  go_on();
  const ShardView after = renewal.get();
  EXPECT_EQ(after.leader, kB);
  ASSERT_TRUE(taken.get());
  EXPECT_GT(after.epoch, seen.epoch);
}

// The former leader's row does not exist, so it cannot be locked.
TEST_F(PostgresRegistryTest, WhoComesBackAfterBeingForgottenSeesATakeUnderWay) {
  const ShardView seen = lead_a();
  ask("DELETE FROM millrace.nodes");
  hold("BEFORE UPDATE ON millrace.shards");
  auto taken = std::async(std::launch::async, [&] { return b_.take(kB, seen); });
  await_waiting(1, "advisory");
  auto renewal = std::async(std::launch::async, [&] { return a_.renew(kA); });
  await_waiting(1, "transactionid");
  go_on();
  EXPECT_EQ(renewal.get().leader, kB);
  EXPECT_TRUE(taken.get());
}

TEST_F(PostgresRegistryTest, WhoWasForgottenAndComesBackFirstIsNotTakenFrom) {
  const ShardView seen = lead_a();
  ask("DELETE FROM millrace.nodes");
  hold("AFTER INSERT ON millrace.nodes", fmt::format("NEW.node = '{}'", to_string(kA)));
  auto renewal = std::async(std::launch::async, [&] { return a_.renew(kA); });
  await_waiting(1, "advisory");
  auto taken = std::async(std::launch::async, [&] { return b_.take(kB, seen); });
  await_waiting(1, "transactionid");
  go_on();
  EXPECT_EQ(renewal.get().leader, kA);
  EXPECT_FALSE(taken.get());
}

TEST_F(PostgresRegistryTest, AFormerLeaderNeitherFlushesNorTrims) {
  const ShardView seen = lead_a();
  fill(*a_.store.journal, 5);
  Flusher flusher;
  ASSERT_TRUE(flusher.flush(*a_.store.tables, {make_job(1)}));
  end_lease(kA);
  ASSERT_TRUE(b_.take(kB, seen));
  EXPECT_FALSE(flusher.flush(*a_.store.tables, {make_job(2)}));
  EXPECT_EQ(a_.store.journal->trim(Seq{5}).value(), 0u);
  EXPECT_TRUE(flusher.flush(*b_.store.tables, {make_job(3)}));
  EXPECT_EQ(b_.store.journal->trim(Seq{5}).value(), 1u);
  EXPECT_EQ(ask("SELECT string_agg(ord::text, ' ') FROM millrace.jobs"), "1 3");
}

// Its predecessor was stopped in the middle of a flush.
TEST_F(PostgresRegistryTest, APredecessorThatStandsInTheWayIsEnded) {
  const ShardView seen = lead_a();
  end_lease(kA);
  PostgresSession stopped(url_ + "?application_name=millrace%20stopped");
  stopped.ask("BEGIN; UPDATE millrace.shards SET seq = seq");
  Process b(options_with_a_clock());
  EXPECT_TRUE(b.take(kB, seen));
}

TEST_F(PostgresRegistryTest, ANeighbourThatStandsInTheWayIsNotEnded) {
  const ShardView seen = lead_a();
  end_lease(kA);
  PostgresSession neighbour(url_ + "?application_name=psql");
  neighbour.ask("BEGIN; UPDATE millrace.shards SET seq = seq");
  Process b(options_with_a_clock());
  EXPECT_FALSE(b.registry->take(kB, seen, Epoch{1}));
  EXPECT_EQ(neighbour.ask("COMMIT; SELECT 7"), "7");
  EXPECT_TRUE(b.take(kB, seen));
}

TEST_F(PostgresRegistryTest, ALeaseDoesNotWaitForFlushes) {
  ask("SELECT pg_advisory_lock(7)");
  std::atomic<int> done = 0;
  std::vector<std::thread> flushes;
  for (std::size_t i = 0; i < ConnectionPool::kMostConnections; ++i) {
    flushes.emplace_back([&] {
      SqlMessage message(SqlLimits{.lock = 0ms, .statement = 0ms});
      message.add("SELECT pg_advisory_xact_lock_shared(7)");
      EXPECT_TRUE(a_.node->pool().run(ConnectionPool::Use::kWriting, message));
      ++done;
    });
  }
  await_waiting(
      ConnectionPool::kMostConnections - ConnectionPool::kReserve - ConnectionPool::kForLease,
      "advisory");
  EXPECT_EQ(a_.renew(kA).leader, kNobody);
  EXPECT_EQ(done, 0);
  go_on();
  for (std::thread& flush : flushes) flush.join();
}

// Long reads, as of a search or the load of a shard; one more than there is room for.
class LongReaders {
 public:
  explicit LongReaders(ConnectionPool& pool) {
    for (std::size_t i = 0; i < ConnectionPool::kMostReading + 1; ++i) {
      threads_.emplace_back([&pool] {
        SqlMessage message(SqlLimits{.lock = 0ms, .statement = 0ms});
        message.add("SELECT pg_advisory_xact_lock_shared(7)");
        EXPECT_TRUE(pool.run(ConnectionPool::Use::kReading, message));
      });
    }
  }
  ~LongReaders() {
    for (std::thread& thread : threads_) thread.join();
  }

 private:
  std::vector<std::thread> threads_;
};

TEST_F(PostgresRegistryTest, ReadersKeepNobodyElseWaiting) {
  lead_a();
  const std::vector<JournalRow> rows = fill(*a_.store.journal, 3);
  Flusher flusher;
  ASSERT_TRUE(flusher.flush(*a_.store.tables, {make_job(1)}));
  const std::unique_ptr<Inbox> inbox = a_.node->make_inbox();
  InboxReader reader;
  reader.place.advance(inbox->read({&reader, 1})->front());  // the first read may be a long one
  reader.read_at += 1s;  // the clock stands still: after its connection was made
  ask("SELECT pg_advisory_lock(7)");
  const LongReaders readers(a_.node->pool());
  await_waiting(ConnectionPool::kMostReading, "advisory");

  Journal& journal = *a_.store.journal;
  Tables& tables = *a_.store.tables;
  const SharedBytes mail("mail");
  const auto end = time_from_ms(9'000'000);
  const std::vector<std::pair<const char*, std::function<bool()>>> calls = {
      {"a step's lookup", [&] { return tables.fetch({id_of(1)}).has_value(); }},
      {"a sweep",
       [&] {
         return tables.finished_until(mail, core::State::kSucceeded, end, 10).has_value() &&
                tables.oldest_finished(mail, core::State::kSucceeded).has_value();
       }},
      {"the measuring of the journal", [&] { return journal.extent().has_value(); }},
      {"a trim", [&] { return journal.trim(Seq{2}) == 1U; }},
      {"an append",
       [&] {
         return journal.append(make_row(4, rows.back().checksum, "row 4")).outcome ==
                AppendOutcome::kDurable;
       }},
      {"a takeover",
       [&] { return bodies(journal, 3).size() == 2 && tables.progress().has_value(); }},
      {"a poll of the inbox", [&] { return inbox->read({&reader, 1}).has_value(); }},
  };
  std::vector<std::future<bool>> done;
  for (const auto& [what, call] : calls) {
    done.push_back(std::async(std::launch::async, call));
    EXPECT_EQ(done.back().wait_for(30s), std::future_status::ready) << what;
  }
  go_on();
  for (std::size_t n = 0; n < calls.size(); ++n) EXPECT_TRUE(done[n].get()) << calls[n].first;
}

TEST_F(PostgresRegistryTest, LookupsKeepNoAppendWaiting) {
  lead_a();
  ask("SELECT pg_advisory_lock(7)");
  std::vector<std::thread> lookups;
  for (std::size_t i = 0; i < ConnectionPool::kMostConnections; ++i) {
    lookups.emplace_back([&] {
      SqlMessage message(SqlLimits{.lock = 0ms, .statement = 0ms});
      message.add("SELECT pg_advisory_xact_lock_shared(7)");
      EXPECT_TRUE(a_.node->pool().run(ConnectionPool::Use::kLookup, message));
    });
  }
  await_waiting(ConnectionPool::kMostConnections - ConnectionPool::kReserve -
                    ConnectionPool::kForLease - ConnectionPool::kForWriting,
                "advisory");
  auto filled = std::async(std::launch::async, [&] { return fill(*a_.store.journal, 1).size(); });
  EXPECT_EQ(filled.wait_for(30s), std::future_status::ready);
  go_on();
  EXPECT_EQ(filled.get(), 1U);
  for (std::thread& lookup : lookups) lookup.join();
}

TEST_F(PostgresRegistryTest, ATakeWhoseCommitIsInDoubtIsAnError) {
  PostgresCluster cluster;
  PostgresOptions here = options();
  here.url = cluster.new_database();
  Process process(here);
  const ShardView seen = process.renew(kA);
  PostgresSession operating(here.url);
  operating.ask("ALTER SYSTEM SET synchronous_standby_names = 'nobody'");
  operating.ask("SELECT pg_reload_conf()");
  while (operating.ask("SHOW synchronous_standby_names") != "nobody") {
    std::this_thread::sleep_for(10ms);
  }
  std::this_thread::sleep_for(500ms);  // until the server's own processes have read it too
  auto taken =
      std::async(std::launch::async, [&] { return process.registry->take(kA, seen, Epoch{1}); });
  while (taken.wait_for(0ms) != std::future_status::ready &&
         operating.ask("SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE "
                       "wait_event = 'SyncRep'") == "0") {
    std::this_thread::sleep_for(10ms);
  }
  const auto doubtful = taken.get();
  ASSERT_FALSE(doubtful);
  EXPECT_THAT(doubtful.error().message, HasSubstr("wait for synchronous replication"));
  operating.ask("ALTER SYSTEM RESET synchronous_standby_names");
  operating.ask("SELECT pg_reload_conf()");
  while (!operating.ask("SHOW synchronous_standby_names").empty()) {
    std::this_thread::sleep_for(10ms);
  }
  // The take succeeded; this process does not know its term yet.
  const ShardView after = process.renew(kA);
  EXPECT_EQ(after.leader, kA);
  Flusher flusher;
  EXPECT_FALSE(flusher.flush(*process.store.tables, {make_job(1)}));
  ASSERT_TRUE(process.take(kA, after));
  EXPECT_TRUE(flusher.flush(*process.store.tables, {make_job(1)}));
}

TEST_F(PostgresRegistryTest, WorksThroughPgBouncer) {
  const PgBouncer bouncer(PostgresCluster::shared());
  PostgresOptions through = options();
  through.url = bouncer.url(url_);
  Process process(through);
  const std::optional<Term> term = process.take(kA, process.renew(kA));
  ASSERT_TRUE(term);
  EXPECT_TRUE(process.registry->hand_over(kA, 0, term->epoch, kB).value());
  EXPECT_EQ(b_.renew(kB).leader, kB);
  EXPECT_TRUE(process.registry->leave(kA));
}

TEST_F(PostgresRegistryTest, TheSecretIsMadeOnce) {
  const std::string secret = a_.registry->secret().value();
  EXPECT_THAT(secret, MatchesRegex("[0-9a-f]{64}"));
  EXPECT_EQ(Process(options()).registry->secret().value(), secret);
  const std::string other = PostgresCluster::shared().new_database();
  EXPECT_NE(Process(postgres_options(other)).registry->secret().value(), secret);
}

TEST_F(PostgresRegistryTest, ARowThatSomebodyWroteIsNamed) {
  ask("UPDATE millrace.shards SET leader = 'me'");
  const auto view = a_.registry->renew(facts_of(kA), kLease);
  ASSERT_FALSE(view);
  EXPECT_THAT(view.error().message, HasSubstr("millrace.shards is damaged: \"me\""));
}

// --- How many shards there are.

TEST(PostgresShards, AreAsManyAsWereWantedFirst) {
  PostgresOptions wanted = postgres_options(PostgresCluster::shared().new_database());
  wanted.shards = 65;
  EXPECT_THAT(PostgresNode::open(wanted).error().message, HasSubstr("at most 64 shards"));
  wanted.shards = 3;
  EXPECT_EQ(PostgresNode::open(wanted).value()->shards(), 3u);
  wanted.shards = 0;
  const auto node = PostgresNode::open(wanted).value();
  EXPECT_EQ(node->shards(), 3u);
  wanted.shards = 4;
  EXPECT_THAT(PostgresNode::open(wanted).error().message, HasSubstr("has 3 shards"));
  EXPECT_TRUE(node->open_shard(0));
  EXPECT_TRUE(node->open_shard(2));
  EXPECT_EQ(node->make_registry()->renew(facts_of(kA), kLease)->shards.size(), 2u);
}

TEST(PostgresShards, AreEightOfANewStore) {
  PostgresOptions wanted = postgres_options(PostgresCluster::shared().new_database());
  wanted.shards = 0;
  EXPECT_EQ(PostgresNode::open(wanted).value()->shards(), 8u);
}

}  // namespace
}  // namespace millrace::store
