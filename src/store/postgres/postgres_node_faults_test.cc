// Cuts the database calls of nodes other than journal and tables (registry, inbox, fences) at each
// message: they return an error and can be repeated.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "store/postgres/postgres_store.h"
#include "store/testing/cutting_proxy.h"
#include "store/testing/jobs.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using ::testing::HasSubstr;
using Cut = CuttingProxy::Cut;

constexpr std::uint64_t kMostMessages = 20;
constexpr Duration kLease{60'000};

class PostgresNodeFaults : public ::testing::Test {
 protected:
  PostgresNodeFaults()
      : url_(new_postgres_store()),
        proxy_(PostgresCluster::shared().port()),
        beside_(url_),
        node_(open_postgres_node(proxy_.url(url_), &std::chrono::steady_clock::now)),
        inbox_(node_->make_inbox()),
        registry_(node_->make_registry()),
        store_(node_->open_shard(0).value()) {
    self_.id = NodeId{7};
    self_.url = "http://127.0.0.1:7600";
    self_.name = "here";
    self_.version = "0.1.0";
    self_.newest_format = 1;
  }
  ~PostgresNodeFaults() override {
    proxy_.let_through(CuttingProxy::kAll);
    store_ = Store();
  }

  // Cuts `call` at ever later messages, in both ways, until it succeeds.
  void cut_everywhere(const char* what, const std::function<bool()>& call) {
    for (const Cut cut : {Cut::kBefore, Cut::kAfter}) {
      bool done = false;
      std::uint64_t messages = 0;
      for (; !done && messages < kMostMessages; ++messages) {
        proxy_.drop_all();
        proxy_.let_through(messages, cut);
        done = call();
        proxy_.let_through(CuttingProxy::kAll);
      }
      EXPECT_TRUE(done) << what;
      EXPECT_GT(messages, 1U) << what << " was never cut off";
    }
  }

  // A transaction of a user's.
  void fill_inbox(int rows) {
    beside_.ask(
        fmt::format("INSERT INTO millrace.inbox_rows(shard, kind, job, spec, payload) "
                    "SELECT 0, 1, gen_random_uuid(), '{{}}', convert_to('1', 'UTF8') FROM "
                    "generate_series(1, {})",
                    rows));
  }
  std::vector<InboxKey> keys() {
    InboxReader reader;
    const auto pages = inbox_->read({&reader, 1});
    MILLRACE_CHECK(pages.has_value());
    std::vector<InboxKey> found;
    for (const InboxRow& row : pages->front().rows) found.push_back(row.key);
    return found;
  }
  std::string rows_left(const char* table) {
    return beside_.ask(fmt::format("SELECT count(*) FROM millrace.{}", table));
  }

  const std::string url_;
  CuttingProxy proxy_;
  PostgresSession beside_;
  std::unique_ptr<PostgresNode> node_;
  std::unique_ptr<Inbox> inbox_;
  std::unique_ptr<Registry> registry_;
  Store store_;
  NodeFacts self_;
};

TEST_F(PostgresNodeFaults, EachCallOfTheRegistrySaysThatItWasCutOff) {
  ASSERT_TRUE(registry_->renew(self_, kLease).has_value());
  cut_everywhere("secret", [&] { return registry_->secret().has_value(); });
  cut_everywhere("renew", [&] { return registry_->renew(self_, kLease).has_value(); });
  cut_everywhere("set_draining",
                 [&] { return registry_->set_draining(self_.id, true).has_value(); });
  // A change that was committed unnoticed is seen, and not repeated.
  cut_everywhere("take and hand over", [&] {
    const auto view = registry_->renew(self_, kLease);
    if (!view) return false;
    const ShardView seen = view->shards.front();
    const auto term = registry_->take(self_.id, seen, seen.epoch);
    if (!term) return false;
    const auto given = registry_->hand_over(self_.id, seen.shard, (*term)->epoch, kNobody);
    EXPECT_TRUE(!given || *given);
    return given.has_value();
  });
  cut_everywhere("leave", [&] { return registry_->leave(self_.id).has_value(); });
}

TEST_F(PostgresNodeFaults, EachCallOfTheInboxSaysThatItWasCutOff) {
  cut_everywhere("in_use", [&] { return inbox_->in_use().has_value(); });
  fill_inbox(8);
  cut_everywhere("read", [&] {
    InboxReader reader;
    return inbox_->read({&reader, 1}).has_value();
  });
  cut_everywhere("finishes", [&] { return inbox_->finishes(0).has_value(); });
  const std::vector<InboxKey> all = keys();
  ASSERT_EQ(all.size(), 8U);
  cut_everywhere("fetch", [&] { return inbox_->fetch(0, all).has_value(); });
  const std::span<const InboxKey> keys = all;
  cut_everywhere("drop", [&] { return inbox_->drop(0, keys.first(2)).has_value(); });
  cut_everywhere("move", [&] { return inbox_->move(0, keys[2], 3).has_value(); });
  const std::vector<RejectedRow> rejected = {{keys[3], "no good"}, {keys[4], "nor this"}};
  cut_everywhere("reject", [&] { return inbox_->reject(0, rejected).has_value(); });
  EXPECT_EQ(rows_left("inbox_rows"), "4");
  EXPECT_EQ(rows_left("inbox_rejected"), "2");
  cut_everywhere("sweep_fences", [&] { return inbox_->sweep_fences({}).has_value(); });
  cut_everywhere("sweep_rejected", [&] { return inbox_->sweep_rejected().has_value(); });
}

// A position is dropped only with its connection: the database may come back without some rows.
TEST_F(PostgresNodeFaults, ARefusedReadOfSeveralInboxesLosesNoPlace) {
  for (const int shard : {0, 2}) {
    beside_.ask(
        fmt::format("INSERT INTO millrace.inbox_rows(shard, kind, job, spec, payload) "
                    "VALUES ({}, 1, gen_random_uuid(), '{{}}', '1')",
                    shard));
  }
  std::vector<InboxReader> readers(2);
  readers[1].shard = 2;
  const auto pages = inbox_->read(readers);
  ASSERT_TRUE(pages && pages->size() == 2);
  for (std::size_t i = 0; i < readers.size(); ++i) {
    EXPECT_EQ((*pages)[i].shard, readers[i].shard);
    EXPECT_EQ((*pages)[i].rows.size(), 1U);
    readers[i].place.advance((*pages)[i]);
  }
  const InboxKey after = readers[1].place.after();
  beside_.ask("ALTER TABLE millrace.inbox_rows RENAME TO away");
  EXPECT_FALSE(inbox_->read(readers));
  EXPECT_EQ(readers[1].place.after(), after);
  beside_.ask("ALTER TABLE millrace.away RENAME TO inbox_rows");
  EXPECT_TRUE(inbox_->read(readers));
}

TEST_F(PostgresNodeFaults, WhatSomebodyDeletedOrWroteIsNamed) {
  ASSERT_TRUE(registry_->renew(self_, kLease));
  const auto said = [&] {
    const auto view = registry_->renew(self_, kLease);
    return view ? "" : view.error().message;
  };
  beside_.ask("UPDATE millrace.nodes SET node = 'somebody'");
  EXPECT_THAT(said(), HasSubstr("millrace.nodes is damaged: \"somebody\""));
  beside_.ask("DELETE FROM millrace.nodes; DELETE FROM millrace.meta WHERE name = 'format'");
  EXPECT_THAT(said(), HasSubstr("the store's format is missing"));
  beside_.ask("DELETE FROM millrace.meta WHERE name = 'node_secret'");
  EXPECT_THAT(registry_->secret().error().message, HasSubstr("the nodes' secret is missing"));
  for (const char* shards : {"0", "65"}) {
    beside_.ask(fmt::format("UPDATE millrace.meta SET value = '{}' WHERE name = 'shards'", shards));
    EXPECT_THAT(PostgresNode::open(postgres_options(url_)).error().message,
                HasSubstr("the number of shards is missing"));
  }
}

TEST_F(PostgresNodeFaults, AFenceWhoseRaiseWasCutOffIsRaisedAgain) {
  ASSERT_TRUE(store_.tables->take(Epoch{7}).has_value());
  const JobId ended = id_of(1);
  cut_everywhere("raise", [&] {
    const auto raised = store_.tables->fences()->raise({&ended, 1}, LeaseToken{6});
    EXPECT_TRUE(!raised || raised->size() == 1);
    return raised.has_value();
  });
  EXPECT_EQ(beside_.refusal(fmt::format("SELECT millrace.finish('{}', 5)", to_string(ended))),
            "ML003");
}

}  // namespace
}  // namespace millrace::store
