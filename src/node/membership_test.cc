#include "node/membership.h"

#include <gtest/gtest.h>

#include "engine/routing/leader_lease.h"

namespace millrace::node {
namespace {

using std::chrono_literals::operator""ms;
using store::NodeId;

constexpr NodeId kSelf{1};
constexpr NodeId kOther{2};

class OneHost final : public Host {
 public:
  void renewed(Instant, const store::ShardView&) override { in_doubt = false; }
  void doubt() override { in_doubt = true; }
  void order(ShardOrders orders) override { last = std::move(orders); }
  bool leads() const override { return led; }

  bool in_doubt = true;
  bool led = false;
  std::optional<ShardOrders> last;
};

class MembershipTest : public testing::Test {
 protected:
  static store::ClusterView view(std::uint32_t format = 1) {
    store::ClusterView view;
    view.format = format;
    view.nodes.push_back({{kSelf, "http://self", "a", "1", 1}, {}, false, Duration{2'000}});
    view.shards.push_back({0, store::kNobody, {}, {}});
    return view;
  }
  Status renew(Result<store::ClusterView> view) {
    member_.begin_renewal(now_);
    return member_.renewed(std::move(view), now_);
  }

  Instant now_{std::chrono::hours{1}};
  OneHost host_;
  engine::StoreFormat store_format_;
  Membership member_{{kSelf, "http://self", "a", "1", 1}, {&host_}, store_format_, Logger()};
};

TEST_F(MembershipTest, RenewsAsItShouldAndSoonerWhereItIsAskedToLook) {
  ASSERT_TRUE(renew(view()));
  EXPECT_EQ(member_.next_renewal(), now_ + engine::LeaderLease::kRenewPause);
  member_.look();
  EXPECT_EQ(member_.next_renewal(), now_ + 20ms);
  ASSERT_TRUE(host_.last);
  EXPECT_EQ(host_.last->assignment.duty, engine::Duty::kTake);
}

TEST_F(MembershipTest, LooksWhenAnothersLeaseIsOver) {
  store::ClusterView two = view();
  two.nodes.push_back({{kOther, "http://other", "b", "1", 1}, {}, false, Duration{100}});
  ASSERT_TRUE(renew(two));
  EXPECT_EQ(member_.next_renewal(), now_ + 105ms);
}

TEST_F(MembershipTest, ADoubtIsToldAndNoLookComesSoonerForBeingAskedFor) {
  ASSERT_TRUE(renew(view()));
  EXPECT_FALSE(host_.in_doubt);
  EXPECT_TRUE(renew(failure("the connection is lost")));
  EXPECT_TRUE(host_.in_doubt);
  member_.look();
  EXPECT_EQ(member_.next_renewal(), now_ + 100ms);
  ASSERT_TRUE(renew(view()));
  EXPECT_FALSE(host_.in_doubt);
}

TEST_F(MembershipTest, TheFirstRenewalSaysWhetherItCanTakePart) {
  EXPECT_FALSE(renew(failure("the connection is lost")));
  EXPECT_FALSE(renew(view(2)));
  EXPECT_TRUE(member_.too_old());
  EXPECT_FALSE(host_.last);
}

TEST_F(MembershipTest, AStoreThatBecomesTooNewIsNoReasonToEnd) {
  ASSERT_TRUE(renew(view()));
  EXPECT_TRUE(renew(view(2)));
  EXPECT_TRUE(member_.too_old());
  EXPECT_EQ(host_.last->assignment.duty, engine::Duty::kNothing);
}

TEST_F(MembershipTest, HandsOverWhileSomebodyCouldTakeIt) {
  using Handover = Membership::Handover;
  store::ClusterView two = view();
  two.nodes.push_back({{kOther, "http://other", "b", "1", 1}, {}, false, Duration{2'000}});
  ASSERT_TRUE(renew(two));
  host_.led = true;
  EXPECT_EQ(member_.handover(now_, now_ + 1ms), Handover::kGoesOn);
  EXPECT_EQ(member_.handover(now_ + 1ms, now_ + 1ms), Handover::kInVain);
  two.nodes.back().draining = true;
  ASSERT_TRUE(renew(two));
  EXPECT_EQ(member_.handover(now_, now_ + 1ms), Handover::kInVain);
  host_.led = false;
  EXPECT_EQ(member_.handover(now_, now_ + 1ms), Handover::kDone);
}

TEST_F(MembershipTest, WhoLeavesDoubtsAndRenewsNoMore) {
  ASSERT_TRUE(renew(view()));
  member_.look();
  member_.leave();
  EXPECT_TRUE(host_.in_doubt);
  EXPECT_EQ(member_.next_renewal(), Instant::max());
}

}  // namespace
}  // namespace millrace::node
