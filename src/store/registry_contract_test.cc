// The contract of every registry: store/registry.h. For PostgreSQL's locks see
// postgres_registry_test.cc.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <thread>
#include <utility>

#include "store/memory/memory_registry.h"
#include "store/registry.h"
#include "store/testing/store_under_test.h"

namespace millrace::store {
namespace {

using ::testing::ElementsAre;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr NodeId kA{0xa};
constexpr NodeId kB{0xb};
constexpr NodeId kC{0xc};
constexpr Duration kLease = 60s;
constexpr std::uint32_t kShards = 2;

NodeFacts facts_of(NodeId id) {
  return {id, fmt::format("http://10.0.0.{}:7600", to_number(id)), "host", "0.1.0", 3};
}

class RegistryContract : public ::testing::TestWithParam<StoreKind> {
 protected:
  RegistryContract() {
    if (GetParam() == StoreKind::kMemory) {
      memory_ = std::make_unique<MemoryRegistry>(
          MemoryRegistry::Options{.shards = kShards,
                                  .now = [this] { return now_; },
                                  .projected = [this](std::uint32_t n) { return projected_[n]; },
                                  .secret = "known to all"});
      return;
    }
    url_ = PostgresCluster::shared().new_database(made());
    beside_ = std::make_unique<PostgresSession>(url_);
    for (std::unique_ptr<PostgresNode>& node : nodes_) {
      node = PostgresNode::open(options(url_)).value();
      registries_.push_back(node->make_registry());
      stores_.push_back(node->open_shard(0).value());
    }
  }
  ~RegistryContract() override {
    beside_.reset();
    registries_.clear();
    stores_.clear();
    for (std::unique_ptr<PostgresNode>& node : nodes_) node.reset();
    if (!url_.empty()) PostgresCluster::shared().drop_database(url_);
  }

  // The registry of one process.
  Registry& of(NodeId id) {
    if (memory_ != nullptr) return *memory_;
    return *registries_.at(to_number(id) - to_number(kA));
  }
  ClusterView renew(NodeId id) {
    auto view = of(id).renew(facts_of(id), kLease);
    EXPECT_TRUE(view) << view.error().message;
    return view.value();
  }
  std::optional<Term> take(NodeId id, const ShardView& seen, Epoch at_least = Epoch{1}) {
    auto taken = of(id).take(id, seen, at_least);
    EXPECT_TRUE(taken) << taken.error().message;
    return taken.value();
  }
  // `id` leads shard 0.
  ShardView lead(NodeId id) {
    EXPECT_TRUE(take(id, renew(id).shards[0]));
    const ShardView seen = renew(id).shards[0];
    EXPECT_EQ(seen.leader, id);
    return seen;
  }
  void pass(Duration time) {
    now_ += time;
    if (memory_ != nullptr) return;
    const std::string span = fmt::format("interval '{} ms'", time.count());
    beside_->ask(
        fmt::format("UPDATE millrace.nodes SET started_at = started_at - {0}, renewed_at = "
                    "renewed_at - {0}, expires_at = expires_at - {0}",
                    span));
    beside_->ask(fmt::format("UPDATE millrace.shards SET silent_since = silent_since - {}", span));
  }
  // `id` leads shard 0.
  void flush(NodeId id) {
    if (memory_ != nullptr) {
      projected_[0] = next(projected_[0]);
      return;
    }
    Tables& tables = *stores_.at(to_number(id) - to_number(kA)).tables;
    Progress to = tables.progress().value();
    const Seq from = std::exchange(to.seq, next(to.seq));
    const Status done = tables.flush({}, from, to);
    ASSERT_TRUE(done) << done.error().message;
  }
  void project(std::uint32_t shard, Seq seq) {
    projected_[shard] = seq;
    if (memory_ != nullptr) return;
    beside_->ask(
        fmt::format("UPDATE millrace.shards SET seq = {} WHERE shard = {}", to_number(seq), shard));
  }
  // Compares durations by the registry's clock, which advances by itself.
  static void expect_about(Duration found, Duration expected) {
    EXPECT_GE(found, expected);
    EXPECT_LE(found, expected + 600s);
  }

 private:
  static PostgresOptions options(const std::string& url) {
    PostgresOptions wanted = postgres_options(url);
    wanted.shards = kShards;
    return wanted;
  }
  // A database with the shards, to be copied.
  static const std::string& made() {
    static const std::string name = [] {
      const std::string url = PostgresCluster::shared().new_database();
      const auto node = PostgresNode::open(options(url)).value();
      for (std::uint32_t shard = 0; shard < kShards; ++shard) {
        MILLRACE_CHECK(node->open_shard(shard).has_value());
      }
      return url.substr(url.rfind('/') + 1);
    }();
    return name;
  }

  Time now_ = time_from_ms(1'700'000'000'000);
  std::array<Seq, kShards> projected_{};
  std::unique_ptr<MemoryRegistry> memory_;  // or, on PostgreSQL:
  std::string url_;
  std::unique_ptr<PostgresSession> beside_;
  std::array<std::unique_ptr<PostgresNode>, 3> nodes_;
  std::vector<std::unique_ptr<Registry>> registries_;
  std::vector<Store> stores_;  // of shard 0
};
INSTANTIATE_TEST_SUITE_P(EveryRegistry, RegistryContract,
                         ::testing::Values(StoreKind::kMemory, StoreKind::kPostgres), kind_name);

TEST_P(RegistryContract, ANodeFindsItselfAndAllShards) {
  const ClusterView view = renew(kA);
  ASSERT_EQ(view.nodes.size(), 1u);
  const NodeView& node = view.nodes[0];
  EXPECT_EQ(node.facts.id, kA);
  EXPECT_EQ(node.facts.url, "http://10.0.0.10:7600");
  EXPECT_EQ(node.facts.name, "host");
  EXPECT_EQ(node.facts.version, "0.1.0");
  EXPECT_EQ(node.facts.newest_format, 3u);
  EXPECT_GT(to_ms(node.started_at), 1'600'000'000'000);
  EXPECT_FALSE(node.draining);
  EXPECT_GT(node.left, 0ms);
  EXPECT_LE(node.left, kLease);
  ASSERT_EQ(view.shards.size(), kShards);
  for (std::uint32_t shard = 0; shard < kShards; ++shard) {
    EXPECT_EQ(view.shards[shard].shard, shard);
    EXPECT_EQ(view.shards[shard].leader, kNobody);
    EXPECT_EQ(view.shards[shard].epoch, Epoch{});
    EXPECT_EQ(view.shards[shard].projected, Seq{});
  }
}

TEST_P(RegistryContract, NodesFindEachOther) {
  renew(kC);
  const Time started = renew(kA).nodes[0].started_at;
  pass(1s);
  const ClusterView view = renew(kB);
  std::vector<NodeId> ids;
  for (const NodeView& node : view.nodes) ids.push_back(node.facts.id);
  EXPECT_THAT(ids, ElementsAre(kA, kB, kC));
  EXPECT_LE(view.nodes[0].left, kLease - 1s);
  EXPECT_GT(view.nodes[1].left, view.nodes[2].left);
  pass(1s);
  EXPECT_LE(renew(kA).nodes[0].started_at, started);  // unchanged, but measured later
}

TEST_P(RegistryContract, TheFormatIsTheNewestThatAllWhoLiveCanRead) {
  const auto format_seen_by = [&](NodeId id, std::uint32_t newest) {
    NodeFacts facts = facts_of(id);
    facts.newest_format = newest;
    return of(id).renew(facts, kLease).value().format;
  };
  EXPECT_EQ(format_seen_by(kA, 1), 1u);
  EXPECT_EQ(format_seen_by(kB, 2), 1u);
  pass(kLease / 2);
  EXPECT_EQ(format_seen_by(kB, 3), 1u);
  pass(kLease / 2 + 1ms);
  EXPECT_EQ(format_seen_by(kB, 3), 3u);  // A's lease is over
  EXPECT_EQ(format_seen_by(kA, 1), 3u);  // and A learns it when it wakes up
  EXPECT_EQ(format_seen_by(kB, 4), 3u);
  ASSERT_TRUE(of(kA).leave(kA));
  ASSERT_TRUE(of(kA).leave(NodeId{99})) << "nobody has seen it";
  EXPECT_EQ(format_seen_by(kB, 4), 4u);
}

TEST_P(RegistryContract, TellsHowFarTheTablesAre) {
  project(1, Seq{77});
  const ClusterView view = renew(kA);
  EXPECT_EQ(view.shards[0].projected, Seq{0});
  EXPECT_EQ(view.shards[1].projected, Seq{77});
}

TEST_P(RegistryContract, WhatIsNobodysIsTaken) {
  const std::optional<Term> term = take(kA, renew(kA).shards[1], Epoch{500});
  ASSERT_TRUE(term);
  EXPECT_EQ(term->epoch, Epoch{500});
  EXPECT_FALSE(term->silent_for);
  renew(kB);
  const ClusterView view = renew(kA);
  EXPECT_EQ(view.shards[1].leader, kA);
  EXPECT_EQ(view.shards[1].epoch, Epoch{500});
  EXPECT_EQ(view.shards[0].leader, kNobody);
}

TEST_P(RegistryContract, EpochsOnlyGrow) {
  ASSERT_EQ(take(kA, renew(kA).shards[0], Epoch{500})->epoch, Epoch{500});
  const std::optional<Term> again = take(kA, renew(kA).shards[0], Epoch{3});
  ASSERT_TRUE(again);  // its own
  EXPECT_EQ(again->epoch, Epoch{501});
  EXPECT_FALSE(again->silent_for);
}

TEST_P(RegistryContract, AnothersIsNotTakenBeforeItsLeaseIsOver) {
  lead(kA);
  pass(1s);
  EXPECT_FALSE(take(kB, renew(kB).shards[0]));
  EXPECT_EQ(renew(kB).shards[0].leader, kA);
  pass(kLease - 1s);
  const std::optional<Term> term = take(kB, renew(kB).shards[0]);
  ASSERT_TRUE(term);
  EXPECT_EQ(term->epoch, Epoch{2});
  ASSERT_TRUE(term->silent_for);
  expect_about(*term->silent_for, kLease);
  EXPECT_EQ(renew(kA).shards[0].leader, kB);
}

TEST_P(RegistryContract, ALeaseThatWasOverAndThatNobodyUsedGoesOn) {
  lead(kA);
  pass(kLease * 10);
  const ShardView seen = renew(kA).shards[0];
  EXPECT_EQ(seen.leader, kA);
  EXPECT_EQ(seen.epoch, Epoch{1});
  EXPECT_FALSE(take(kB, seen));
}

TEST_P(RegistryContract, WhatWasSeenTooLongAgoIsNotTaken) {
  const ShardView nobodys = renew(kA).shards[0];
  const ShardView first = lead(kA);
  pass(kLease);
  EXPECT_FALSE(take(kB, nobodys));
  ASSERT_TRUE(take(kA, first));  // the same leader, a later epoch
  EXPECT_FALSE(take(kB, first));
  ASSERT_TRUE(take(kB, renew(kB).shards[0]));
  EXPECT_FALSE(take(kA, first));
  EXPECT_EQ(renew(kC).shards[0].leader, kB);
}

TEST_P(RegistryContract, HandsOverToItsSuccessor) {
  const ShardView seen = lead(kA);
  renew(kB);
  renew(kC);
  EXPECT_FALSE(of(kA).hand_over(kA, 0, Epoch{99}, kB).value());
  EXPECT_FALSE(of(kB).hand_over(kB, 0, seen.epoch, kB).value());
  EXPECT_TRUE(of(kA).hand_over(kA, 0, seen.epoch, kB).value());
  EXPECT_FALSE(of(kA).hand_over(kA, 0, seen.epoch, kC).value());
  const ShardView handed = renew(kB).shards[0];
  EXPECT_EQ(handed.leader, kB);
  EXPECT_FALSE(take(kC, handed));
  pass(2s);
  const std::optional<Term> term = take(kB, handed);
  ASSERT_TRUE(term);
  EXPECT_EQ(term->epoch, Epoch{2});
  ASSERT_TRUE(term->silent_for);
  expect_about(*term->silent_for, 2s);
}

TEST_P(RegistryContract, HandsOverToNobody) {
  const ShardView seen = lead(kA);
  EXPECT_TRUE(of(kA).hand_over(kA, 0, seen.epoch, kNobody).value());
  const ShardView handed = renew(kB).shards[0];
  EXPECT_EQ(handed.leader, kNobody);
  EXPECT_TRUE(take(kB, handed));
}

TEST_P(RegistryContract, WhoLeavesLeadsNothing) {
  lead(kA);
  ASSERT_TRUE(take(kB, renew(kB).shards[1]));
  ASSERT_TRUE(of(kA).leave(kA));
  const ClusterView view = renew(kB);
  ASSERT_EQ(view.nodes.size(), 2u);
  EXPECT_LE(view.nodes[0].left, 0ms);
  EXPECT_EQ(view.shards[0].leader, kNobody);
  EXPECT_EQ(view.shards[1].leader, kB);
  pass(2s);
  const std::optional<Term> term = take(kB, view.shards[0]);
  ASSERT_TRUE(term);
  ASSERT_TRUE(term->silent_for);
  expect_about(*term->silent_for, 2s);
}

// The taker may have died before it answered anyone.
TEST_P(RegistryContract, WhoTakesAndNeverFlushesDoesNotEndTheSilence) {
  lead(kA);
  flush(kA);
  pass(kLease);
  ASSERT_TRUE(take(kB, renew(kB).shards[0]));
  const std::optional<Term> again = take(kB, renew(kB).shards[0]);  // its first answer was lost
  ASSERT_TRUE(again && again->silent_for);
  expect_about(*again->silent_for, kLease);
  pass(kLease * 20);
  const std::optional<Term> term = take(kC, renew(kC).shards[0]);
  ASSERT_TRUE(term && term->silent_for);
  expect_about(*term->silent_for, kLease * 21);
}

TEST_P(RegistryContract, AFlushEndsTheSilence) {
  lead(kA);
  flush(kA);
  pass(kLease * 20);
  ASSERT_TRUE(take(kB, renew(kB).shards[0]));
  flush(kB);
  pass(kLease);
  const std::optional<Term> term = take(kC, renew(kC).shards[0]);
  ASSERT_TRUE(term && term->silent_for);
  expect_about(*term->silent_for, kLease);
}

TEST_P(RegistryContract, DrainingLastsUntilItIsTakenBack) {
  EXPECT_FALSE(of(kB).set_draining(kA, true).value());  // not there
  renew(kA);
  EXPECT_TRUE(of(kB).set_draining(kA, true).value());
  EXPECT_TRUE(renew(kA).nodes[0].draining);
  const ClusterView view = renew(kB);
  EXPECT_TRUE(view.nodes[0].draining);
  EXPECT_FALSE(view.nodes[1].draining);
  EXPECT_TRUE(of(kA).set_draining(kA, false).value());
  EXPECT_FALSE(renew(kB).nodes[0].draining);
}

TEST_P(RegistryContract, WhoIsAwayForAnHourIsForgotten) {
  lead(kA);
  flush(kA);
  pass(kLease + kNodeForgottenAfter - 60s);
  EXPECT_EQ(renew(kB).nodes.size(), 2u);
  pass(61s);
  const ClusterView view = renew(kB);
  ASSERT_EQ(view.nodes.size(), 1u);
  EXPECT_EQ(view.nodes[0].facts.id, kB);
  EXPECT_EQ(view.shards[0].leader, kA);
  const std::optional<Term> term = take(kB, view.shards[0]);
  ASSERT_TRUE(term && term->silent_for);
  EXPECT_GE(*term->silent_for, kNodeForgottenAfter);
  EXPECT_EQ(renew(kB).nodes.size(), 1u);
  const ClusterView back = renew(kA);
  EXPECT_EQ(back.nodes.size(), 2u);
  EXPECT_EQ(back.nodes[0].facts.url, facts_of(kA).url);
  EXPECT_EQ(back.shards[0].leader, kB);
}

TEST_P(RegistryContract, OfAllWhoTakeAtOnceOneWins) {
  for (int round = 0; round < 10; ++round) {
    const ShardView seen = renew(kA).shards[0];
    pass(kLease);
    std::array<std::optional<Term>, 3> terms;
    std::vector<std::thread> threads;
    for (std::size_t i = 0; i < terms.size(); ++i) {
      threads.emplace_back([&, i] { terms[i] = take(NodeId{to_number(kA) + i}, seen); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(std::ranges::count_if(terms, [](const auto& term) { return term.has_value(); }), 1);
    const ShardView after = renew(kA).shards[0];
    EXPECT_TRUE(terms.at(to_number(after.leader) - to_number(kA)).has_value());
    EXPECT_GT(after.epoch, seen.epoch);
  }
}

// Whichever comes first, both learn of it.
TEST_P(RegistryContract, ARenewalAndATakeNeverBothWin) {
  renew(kB);
  for (int round = 0; round < 20; ++round) {
    const ShardView seen = lead(kA);
    pass(kLease);
    std::optional<Term> term;
    ClusterView view;
    std::thread taker([&] { term = take(kB, seen); });
    std::thread leader([&] { view = renew(kA); });
    taker.join();
    leader.join();
    EXPECT_EQ(view.shards[0].leader, term ? kB : kA);
    EXPECT_EQ(renew(kC).shards[0].leader, term ? kB : kA);
    pass(kLease);
  }
}

TEST_P(RegistryContract, TheSecretIsTheSameForAll) {
  const std::string secret = of(kA).secret().value();
  EXPECT_GE(secret.size(), 8u);
  EXPECT_EQ(of(kB).secret().value(), secret);
  lead(kA);
  EXPECT_EQ(of(kC).secret().value(), secret);
}

TEST(NodeIds, AreWrittenAsSixteenDigits) {
  EXPECT_EQ(to_string(NodeId{0xfeed}), "000000000000feed");
  EXPECT_EQ(parse_node_id("000000000000feed"), NodeId{0xfeed});
  EXPECT_EQ(parse_node_id("ffffffffffffffff"), NodeId{~std::uint64_t{0}});
  for (const char* bad : {"", "feed", "000000000000FEED", "000000000000fee ", "000000000000feeg",
                          "0000000000000feed0"}) {
    EXPECT_EQ(parse_node_id(bad), std::nullopt) << bad;
  }
}

}  // namespace
}  // namespace millrace::store
