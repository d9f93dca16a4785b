#include "engine/routing/leadership.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace millrace::engine {
namespace {

using store::ClusterView;
using store::kNobody;
using store::NodeId;

constexpr std::uint32_t kFormat = 1;

class Cluster {
 public:
  explicit Cluster(std::uint32_t shards) {
    view.format = kFormat;
    for (std::uint32_t shard = 0; shard < shards; ++shard) view.shards.push_back({shard});
  }
  Cluster& node(std::uint64_t id) {
    store::NodeView node;
    node.facts.id = NodeId{id};
    node.facts.newest_format = kFormat;
    node.left = Duration{2'000};
    view.nodes.push_back(node);
    return *this;
  }
  store::NodeView& at(std::uint64_t id) {
    return *std::ranges::find_if(view.nodes,
                                 [&](const auto& n) { return n.facts.id == NodeId{id}; });
  }
  Cluster& leader(std::uint32_t shard, std::uint64_t id) {
    view.shards[shard].leader = NodeId{id};
    return *this;
  }
  std::vector<Assignment> seen_by(std::uint64_t self) const { return assign(view, NodeId{self}); }
  std::map<NodeId, int> load() const {
    std::map<NodeId, int> load;
    for (const Assignment& assignment : seen_by(0)) ++load[assignment.owner];
    return load;
  }

  ClusterView view;
};

TEST(Leadership, ANodeAloneTakesEverythingAndThenLeadsIt) {
  Cluster cluster(3);
  cluster.node(1);
  for (const Assignment& shard : cluster.seen_by(1)) {
    EXPECT_EQ(shard.duty, Duty::kTake);
    EXPECT_EQ(shard.heir, kNobody);
  }
  for (std::uint32_t shard = 0; shard < 3; ++shard) cluster.leader(shard, 1);
  for (const Assignment& shard : cluster.seen_by(1)) EXPECT_EQ(shard.duty, Duty::kLead);
}

TEST(Leadership, NoNodeOwnsMoreThanItsShare) {
  for (std::uint64_t nodes = 1; nodes <= 9; ++nodes) {
    Cluster cluster(8);
    for (std::uint64_t node = 1; node <= nodes; ++node) cluster.node(node * 7919);
    for (const auto& [node, owned] : cluster.load()) {
      EXPECT_NE(node, kNobody);
      EXPECT_LE(owned, static_cast<int>((8 + nodes - 1) / nodes)) << nodes << " nodes";
    }
  }
}

TEST(Leadership, AllNodesComeToTheSame) {
  Cluster cluster(16);
  cluster.node(11).node(22).node(33);
  const auto first = cluster.seen_by(11);
  std::ranges::reverse(cluster.view.nodes);
  const auto second = cluster.seen_by(22);
  for (std::size_t i = 0; i < first.size(); ++i) {
    EXPECT_EQ(first[i].owner, second[i].owner);
    EXPECT_EQ(first[i].heir, second[i].heir);
    EXPECT_NE(first[i].owner, first[i].heir);
  }
}

TEST(Leadership, TheHeirIsWhoOwnsItWhenTheOwnerHasGone) {
  Cluster cluster(8);
  cluster.node(1).node(2).node(3);
  const auto before = cluster.seen_by(1);
  cluster.at(2).left = Duration{0};
  const auto after = cluster.seen_by(1);
  for (std::size_t i = 0; i < before.size(); ++i) {
    if (before[i].owner == NodeId{2}) {
      EXPECT_EQ(after[i].owner, before[i].heir);
    }
  }
}

TEST(Leadership, WhoCanNotLeadOwnsNothing) {
  Cluster cluster(8);
  cluster.node(1).node(2).node(3).node(4);
  cluster.at(2).draining = true;
  cluster.at(3).left = Duration{-1};
  cluster.at(4).facts.newest_format = kFormat - 1;
  EXPECT_EQ(cluster.load(), (std::map<NodeId, int>{{NodeId{1}, 8}}));
  cluster.at(1).left = Duration{0};
  EXPECT_EQ(cluster.load(), (std::map<NodeId, int>{{kNobody, 8}}));
}

TEST(Leadership, WhatALiveNodeLeadsIsAskedForNotTaken) {
  Cluster cluster(8);
  cluster.node(1).node(2);
  for (std::uint32_t shard = 0; shard < 8; ++shard) cluster.leader(shard, 1);
  int asked_for = 0;
  for (const Assignment& shard : cluster.seen_by(2)) {
    ASSERT_TRUE(shard.duty == Duty::kAskFor || shard.duty == Duty::kFollow);
    EXPECT_EQ(shard.duty == Duty::kAskFor, shard.owner == NodeId{2});
    asked_for += shard.duty == Duty::kAskFor ? 1 : 0;
  }
  EXPECT_EQ(asked_for, 4);
  for (const Assignment& shard : cluster.seen_by(1)) EXPECT_EQ(shard.duty, Duty::kLead);

  // The node dies: the other one must take its shards.
  cluster.at(1).left = Duration{-500};
  for (const Assignment& shard : cluster.seen_by(2)) EXPECT_EQ(shard.duty, Duty::kTake);
}

TEST(Leadership, ADrainingLeaderLeadsUntilItIsAskedFor) {
  Cluster cluster(4);
  cluster.node(1).node(2);
  for (std::uint32_t shard = 0; shard < 4; ++shard) cluster.leader(shard, 1);
  cluster.at(1).draining = true;
  for (const Assignment& shard : cluster.seen_by(1)) EXPECT_EQ(shard.duty, Duty::kLead);
  for (const Assignment& shard : cluster.seen_by(2)) EXPECT_EQ(shard.duty, Duty::kAskFor);
}

TEST(Leadership, ANewNodeMovesNoMoreThanItMust) {
  Cluster cluster(64);
  cluster.node(1).node(2).node(3);
  const auto before = cluster.seen_by(1);
  cluster.node(4);
  const auto after = cluster.seen_by(1);
  int moved = 0;
  for (std::size_t i = 0; i < before.size(); ++i) {
    moved += before[i].owner != after[i].owner ? 1 : 0;
  }
  EXPECT_GE(moved, 16 - 2);
  EXPECT_LE(moved, 32);
}

}  // namespace
}  // namespace millrace::engine
