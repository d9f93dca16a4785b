#include <gtest/gtest.h>

#include "service/findings/judge_testing.h"

namespace millrace::service {
namespace {

using namespace std::chrono_literals;
using enum api::FindingCode;
using enum api::Severity;

constexpr std::uint64_t kMiB = 1024 * 1024;
constexpr std::uint64_t kGiB = 1024 * kMiB;

class NodeTest : public JudgeTest {
 protected:
  // The only finding about a node with these facts.
  std::optional<api::Finding> look(const api::Diagnosis& facts) {
    judge_diagnosis(judge_, node_, facts);
    return only();
  }
  std::optional<api::Severity> disk(std::uint64_t free, std::uint64_t total) {
    api::Diagnosis facts;
    facts.disk = api::DiskRoom{.path = "/var", .free_bytes = free, .total_bytes = total};
    const auto found = look(facts);
    if (!found || found->code != kDiskFull) return std::nullopt;
    return found->severity;
  }
  NodeName node_{"00000000000000aa", "node a"};
};

TEST_F(NodeTest, ADiskIsNearlyFull) {
  EXPECT_EQ(disk(2 * kGiB, 10 * kGiB), std::nullopt);
  EXPECT_EQ(disk(kGiB - 1, 2 * kGiB), kWarn) << "less than the bytes";
  EXPECT_EQ(disk(9 * kGiB, 100 * kGiB), kWarn) << "less than the share";
  EXPECT_EQ(disk(20 * kGiB, 1000 * kGiB), std::nullopt) << "a small share, and still much";
  EXPECT_EQ(disk(199 * kMiB, kGiB), kBad);
  EXPECT_EQ(disk(2 * kGiB, 100 * kGiB), kBad);
}

TEST_F(NodeTest, ThresholdsAreTheCallers) {
  at_.free_percent = 0;
  at_.free_bytes = 0;
  EXPECT_EQ(disk(0, kGiB), std::nullopt);
}

TEST_F(NodeTest, SyncsAreSlow) {
  api::Diagnosis facts;
  facts.syncs = api::SyncTimes{.count = 9, .p50_ms = 1, .p99_ms = 5'000, .max_ms = 5'000};
  EXPECT_FALSE(look(facts)) << "few say little";
  facts.syncs->count = 10;
  EXPECT_EQ(look(facts)->severity, kBad);
  facts.syncs->p99_ms = 100;
  const auto found = look(facts);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, kSlowSyncs);
  EXPECT_EQ(found->what, "Node a's syncs are slow");
  EXPECT_EQ(found->about.node, node_.id);
  facts.syncs->p99_ms = 99.9;
  EXPECT_FALSE(look(facts));
}

TEST_F(NodeTest, Clocks) {
  api::Diagnosis facts;
  facts.wall_ahead_ms = -60'000;
  const auto found = look(facts);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, kClockChanged);
  EXPECT_EQ(found->what,
            "Somebody changed the clock of node a, which is 1m behind its shards' time");
  facts.wall_ahead_ms = 0;
  facts.database.emplace().clock_ahead_ms = 2'000;
  EXPECT_EQ(look(facts)->what, "The database's clock is 2s ahead of that of node a");
  facts.database->clock_ahead_ms = 1'999;
  EXPECT_FALSE(look(facts));
}

TEST_F(NodeTest, WhatItCannotWrite) {
  api::Diagnosis facts;
  facts.failing = {"journal"};
  const auto found = look(facts);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->code, kCannotWrite);
  EXPECT_EQ(found->what, "Node a can't write its journal");
}

TEST_F(NodeTest, TablesAreBehind) {
  api::Diagnosis facts;
  facts.projection_lag_ms = 4'999;
  EXPECT_FALSE(look(facts));
  facts.projection_lag_ms = 59'999;
  EXPECT_EQ(look(facts)->severity, kWarn);
  facts.projection_lag_ms = 60'000;
  const auto found = look(facts);
  EXPECT_EQ(found->code, kTablesBehind);
  EXPECT_EQ(found->severity, kBad);
}

TEST_F(NodeTest, MemoryIsShort) {
  api::Diagnosis facts;
  facts.memory_room = "wide";
  EXPECT_FALSE(look(facts));
  facts.memory_room = "tight";
  EXPECT_EQ(look(facts)->severity, kWarn);
  facts.memory_room = "none";
  EXPECT_EQ(look(facts)->severity, kBad);
  EXPECT_EQ(look(facts)->code, kMemoryShort);
}

TEST_F(NodeTest, ACertificateEnds) {
  api::Diagnosis facts;
  facts.certificate_expires_at = kJudged + at_.certificate;
  EXPECT_FALSE(look(facts));
  facts.certificate_expires_at = kJudged + 24h;
  EXPECT_EQ(look(facts)->what, "Node a's certificate expires in 1d");
  facts.certificate_expires_at = kJudged;
  EXPECT_EQ(look(facts)->severity, kBad);
  EXPECT_EQ(look(facts)->code, kCertificateExpires);
}

TEST_F(NodeTest, TheDatabase) {
  api::Diagnosis facts;
  facts.database_error = "connection refused";
  EXPECT_EQ(look(facts)->code, kDatabaseSilent);
  facts.database_error.clear();
  facts.database.emplace().oldest = api::OpenTransaction{.pid = 42,
                                                         .user = "app",
                                                         .application = "psql",
                                                         .state = "idle in transaction",
                                                         .age_ms = 60'000};
  const auto open = look(facts);
  ASSERT_TRUE(open);
  EXPECT_EQ(open->code, kTransactionOpen);
  EXPECT_EQ(open->severity, kWarn);
  EXPECT_EQ(open->command, "SELECT pg_terminate_backend(42)");
  EXPECT_NE(open->why.find("of user app (psql), idle in transaction"), std::string::npos);
  facts.database->oldest->age_ms = 600'000;
  EXPECT_EQ(look(facts)->severity, kBad);
  facts.database->oldest->age_ms = 59'999;
  EXPECT_FALSE(look(facts));
  facts.database->prepared = 1;
  EXPECT_EQ(look(facts)->code, kTransactionPrepared);
  facts.database->prepared = 0;
  facts.database->max_connections = 100;
  facts.database->connections = 89;
  EXPECT_FALSE(look(facts));
  facts.database->connections = 90;
  EXPECT_EQ(look(facts)->code, kDatabaseConnections);
}

TEST_F(NodeTest, AReadinessCheckFails) {
  judge_check(judge_, node_, {"store", true, "fine"});
  EXPECT_TRUE(nothing());
  judge_check(judge_, node_, {"store", false, "the disk is gone"});
  const auto found = only(kCheckFails, kBad);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->what, "Node a's check \"store\" fails");
  EXPECT_EQ(found->why, "the disk is gone.");
  EXPECT_EQ(found->about.check, "store");
}

TEST_F(JudgeTest, NodesTogether) {
  api::Cluster cluster;
  cluster.nodes.resize(2);
  for (api::NodeInfo& node : cluster.nodes) {
    node.live = true;
    node.version = "0.1.0";
  }
  cluster.shards.resize(2);
  for (api::ShardInfo& shard : cluster.shards) shard.leader = "00000000000000aa";
  judge_cluster(judge_, cluster);
  EXPECT_TRUE(nothing());
  cluster.shards[1].leader.clear();
  judge_cluster(judge_, cluster);
  EXPECT_EQ(only(kShardWithoutLeader, kBad)->what, "1 shard is without a leader");
}

TEST_F(JudgeTest, NodesOfTwoVersionsOfWhichOneIsGone) {
  api::Cluster cluster;
  cluster.nodes.resize(2);
  cluster.nodes[0].self = cluster.nodes[0].live = true;
  cluster.nodes[0].version = "0.1.0";
  cluster.nodes[1].id = "00000000000000bb";
  cluster.nodes[1].url = "http://b:7600";
  cluster.nodes[1].version = "0.2.0";
  judge_cluster(judge_, cluster);
  const auto gone = only(kNodeGone, kNote);
  ASSERT_TRUE(gone) << "the version of one that is gone does not count";
  EXPECT_EQ(gone->what, "Node 00000000000000bb at http://b:7600 is gone");
  EXPECT_EQ(gone->about.node, "00000000000000bb");
}

TEST_F(JudgeTest, NodesOfTwoVersions) {
  api::Cluster cluster;
  cluster.nodes.resize(2);
  cluster.nodes[0].live = cluster.nodes[1].live = true;
  cluster.nodes[0].version = "0.1.0";
  cluster.nodes[1].version = "0.2.0";
  judge_cluster(judge_, cluster);
  EXPECT_EQ(only(kVersionsDiffer, kWarn)->why,
            "They are 0.1.0, 0.2.0. What only the newer one knows is refused until all are of one "
            "version.");
}

}  // namespace
}  // namespace millrace::service
