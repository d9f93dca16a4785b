// Workflows over two shards, with the relays between them: the members on the other shard, and what
// becomes of messages that meet a fault.

#include <gtest/gtest.h>

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "engine/shard/shard_workflows_testing.h"
#include "node/relay.h"

namespace millrace::node {
namespace {

using core::AckOutcome;
using core::Rejection;
using engine::ShardNumber;
using engine::Ticket;
using engine::WorkflowWorld;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;

constexpr ShardNumber kShards = 2;

// The workflow's home is shard 0.
class Cluster {
 public:
  Cluster() {
    for (ShardNumber number = 0; number < kShards; ++number) {
      sides_.push_back(std::make_unique<Side>(number));
      sides_.back()->relay.begin();
    }
    run();
  }
  WorkflowWorld& home() { return sides_[0]->world; }
  WorkflowWorld& other() { return sides_[1]->world; }

  // Everything that can happen without time passing.
  void run() {
    for (bool busy = true; busy;) {
      busy = false;
      for (auto& side : sides_) busy = carry(*side) || busy;
    }
  }
  void pass(Duration length) {
    for (; length > Duration{}; length -= Duration{100}) {
      for (auto& side : sides_) {
        side->world.pass(Duration{100});
        side->relay.tick();
      }
      run();
    }
  }
  void crash(ShardNumber number) {
    Side& side = *sides_[number];
    side.relay.end();
    side.world.crash();
    for (auto& each : sides_) {
      std::erase_if(each->asked, [&](const Asked& asked) { return asked.by == number; });
    }
    for (const Asked& asked : std::exchange(side.asked, {})) {
      sides_[asked.by]->relay.answered(asked.of_relay, engine::Unavailable::kUnknown);
    }
    side.relay.begin();
    run();
  }
  // Requests to the shard get lost, and nobody hears of it, until the next pass().
  void cut_off(ShardNumber number, bool cut) { sides_[number]->cut_off = cut; }

  void end(WorkflowWorld& on, const std::string& name,
           AckOutcome outcome = AckOutcome::kSucceeded) {
    on.end(name, outcome);
    run();
  }

 private:
  struct Asked {
    ShardNumber by = 0;
    Ticket of_relay{};
    Ticket of_shard{};
  };
  struct Side {
    explicit Side(ShardNumber number) : number(number), world(number, kShards) {}
    ShardNumber number;
    WorkflowWorld world;
    Relay relay{Logger()};
    std::vector<Asked> asked;  // of this shard
    bool cut_off = false;
  };

  // True: something happened.
  bool carry(Side& side) {
    side.world.run();
    bool busy = false;
    for (Relay::Asking& ask : side.relay.take_asks()) {
      busy = true;
      const bool own = ask.whom == Relay::Asking::Whom::kShard;
      Side& to = own ? side : *sides_.at(*engine::only_shard(ask.request, kShards));
      if (!own && to.cut_off) {
        side.relay.answered(ask.ticket, engine::Unavailable::kUnknown);
        continue;
      }
      to.asked.push_back({side.number, ask.ticket, to.world.ask(std::move(ask.request))});
    }
    EXPECT_TRUE(side.relay.take_incomplete().empty());
    side.world.run();
    for (std::size_t i = 0; i < side.asked.size();) {
      const Asked asked = side.asked[i];
      if (!side.world.answered(asked.of_shard)) {
        ++i;
        continue;
      }
      busy = true;
      side.asked.erase(side.asked.begin() + static_cast<std::ptrdiff_t>(i));
      sides_[asked.by]->relay.answered(asked.of_relay, side.world.take(asked.of_shard));
    }
    return busy;
  }

  std::vector<std::unique_ptr<Side>> sides_;
};

void create(Cluster& cluster, std::vector<core::MemberDraft> members) {
  EXPECT_EQ(cluster.home().create(std::move(members)), Rejection::kNone);
  cluster.run();
}

TEST(RelayWorkflows, MembersOnTheOtherShardTakePart) {
  Cluster cluster;
  WorkflowWorld& home = cluster.home();
  WorkflowWorld& other = cluster.other();
  create(cluster, {home.member("a", {}, 1), home.member("b", {"a"}), home.member("c", {"b"}, 1)});
  ASSERT_EQ(other.work(), "a");
  cluster.end(other, "a");
  ASSERT_EQ(home.work(), "b");
  cluster.end(home, "b");
  ASSERT_EQ(other.work(), "c");
  EXPECT_EQ(other.leased["c"].extras->member->parents.at(0).ref.view(), "b");
  cluster.end(other, "c");
  EXPECT_EQ(home.workflow_state(), "succeeded");
}

TEST(RelayWorkflows, ReportsOutliveCrashesOfBothSides) {
  Cluster cluster;
  WorkflowWorld& home = cluster.home();
  WorkflowWorld& other = cluster.other();
  create(cluster, {home.member("a", {}, 1), home.member("b", {"a"})});
  ASSERT_EQ(other.work(), "a");
  cluster.cut_off(0, true);
  cluster.end(other, "a");
  cluster.crash(1);
  EXPECT_EQ(home.members(), "a=active b=blocked");
  cluster.cut_off(0, false);
  cluster.crash(0);
  cluster.pass(20s);  // the box's lease, whose relay died with its shard
  EXPECT_EQ(home.members(), "a=succeeded b=active");
  ASSERT_EQ(home.work(), "b");
  cluster.end(home, "b");
  EXPECT_EQ(home.workflow_state(), "succeeded");
}

TEST(RelayWorkflows, ARetryBeginsANewRoundThere) {
  Cluster cluster;
  WorkflowWorld& home = cluster.home();
  WorkflowWorld& other = cluster.other();
  create(cluster, {home.member("a", {}, 1)});
  for (std::uint32_t round = 1; round <= 3; ++round) {
    ASSERT_EQ(other.work(), "a");
    EXPECT_EQ(other.leased["a"].extras->member->round, round);
    EXPECT_EQ(other.leased["a"].generation, round);
    if (round == 3) break;
    cluster.end(other, "a", AckOutcome::kDead);
    EXPECT_EQ(home.workflow_state(), "failed");
    EXPECT_EQ(home.retry(), Rejection::kNone);
    cluster.run();
  }
  cluster.end(other, "a");
  EXPECT_EQ(home.workflow_state(), "succeeded");
}

TEST(RelayWorkflows, ACancelIsRepeatedUntilItIsHeard) {
  Cluster cluster;
  WorkflowWorld& home = cluster.home();
  WorkflowWorld& other = cluster.other();
  create(cluster, {home.member("a", {}, 1), home.member("b", {"a"})});
  ASSERT_EQ(other.work(), "a");
  cluster.cut_off(1, true);
  EXPECT_EQ(home.cancel_workflow(), Rejection::kNone);
  cluster.pass(2s);
  EXPECT_FALSE(other.machine().view(other.leased["a"].id)->job.cancel_requested);
  cluster.cut_off(1, false);
  cluster.pass(2s);
  EXPECT_TRUE(other.machine().view(other.leased["a"].id)->job.cancel_requested);
  EXPECT_EQ(home.workflow_state(), "stopping");
  cluster.end(other, "a", AckOutcome::kCancelled);
  EXPECT_EQ(home.workflow_state(), "cancelled");
}

TEST(RelayWorkflows, ADeletedWorkflowTakesItsJobsWithIt) {
  Cluster cluster;
  WorkflowWorld& home = cluster.home();
  WorkflowWorld& other = cluster.other();
  create(cluster, {home.member("a", {}, 1), home.member("b")});
  ASSERT_EQ(other.work(), "a");
  ASSERT_EQ(home.work(), "b");
  cluster.end(other, "a");
  cluster.end(home, "b");
  cluster.pass(1s);
  EXPECT_EQ(home.delete_workflow(), Rejection::kNone);
  cluster.pass(1s);
  EXPECT_EQ(home.workflow_state(), "gone");
  EXPECT_TRUE(other.store.tables->fetch({other.leased["a"].id})->empty());
  EXPECT_TRUE(home.store.tables->fetch({home.leased["b"].id})->empty());
}

// The member can never become a job.
TEST(RelayWorkflows, AStrangerWithTheIdFailsTheMember) {
  Cluster cluster;
  WorkflowWorld& home = cluster.home();
  WorkflowWorld& other = cluster.other();
  create(cluster, {home.member("a"), home.member("b", {"a"}, 1)});
  const core::WorkflowEntry* const entry = home.machine().workflows().find(home.id);
  core::JobSpec stranger = WorkflowWorld::job_in(other.queue);
  stranger.id = core::member_job_id(home.id, entry->workflow.created_at, 1, other.queue);
  stranger.id_origin = core::IdOrigin::kClient;
  stranger.payload = SharedBytes("2");
  other.ask(engine::ShardFixture::enqueue(stranger));
  other.run();
  ASSERT_EQ(home.work(), "a");
  cluster.end(home, "a");
  EXPECT_EQ(home.members(), "a=succeeded b=failed");
  EXPECT_EQ(home.workflow_state(), "failed");
  EXPECT_EQ(home.delete_workflow(), Rejection::kNone);
  cluster.pass(1s);
  EXPECT_EQ(home.workflow_state(), "gone");
  EXPECT_EQ(other.work(), "a stranger");
}

// --- Begun by others.

TEST(RelayWorkflows, AnAckThereBeginsOneOnce) {
  Cluster cluster;
  WorkflowWorld& home = cluster.home();
  WorkflowWorld& other = cluster.other();
  other.ask(engine::ShardFixture::enqueue(WorkflowWorld::job_in(other.queue)));
  other.run();
  ASSERT_EQ(other.work(), "a stranger");
  core::Command end = other.end_of("a stranger", AckOutcome::kSucceeded);
  std::get<core::Ack>(end).items[0].workflows = {
      home.workflow({home.member("a"), home.member("b", {"a"}, 1)})};
  cluster.cut_off(0, true);
  other.ask(end);
  cluster.run();
  cluster.crash(1);
  EXPECT_EQ(home.workflow_state(), "gone");
  cluster.cut_off(0, false);
  cluster.pass(20s);  // the box's lease, whose relay died with its shard
  EXPECT_EQ(home.members(), "a=active b=blocked");
  other.ask(end);  // a repetition
  cluster.pass(1s);
  ASSERT_EQ(home.work(), "a");
  cluster.end(home, "a");
  ASSERT_EQ(other.work(), "b");
  cluster.end(other, "b");
  EXPECT_EQ(home.workflow_state(), "succeeded");
}

TEST(RelayWorkflows, AnAckOfTheShardItselfBeginsOneToo) {
  Cluster cluster;
  WorkflowWorld& home = cluster.home();
  home.ask(engine::ShardFixture::enqueue(WorkflowWorld::job_in(home.queue)));
  home.run();
  ASSERT_EQ(home.work(), "a stranger");
  core::Command end = home.end_of("a stranger", AckOutcome::kSucceeded);
  std::get<core::Ack>(end).items[0].workflows = {home.workflow({home.member("a")})};
  home.ask(end);
  cluster.run();
  EXPECT_EQ(home.members(), "a=active");
}

// Nobody waits for the answer; the box stays among the dead jobs.
TEST(RelayWorkflows, OneThatCanNeverBeCreatedIsGivenUp) {
  Cluster cluster;
  WorkflowWorld& home = cluster.home();
  WorkflowWorld& other = cluster.other();
  create(cluster, {home.member("a")});
  other.ask(engine::ShardFixture::enqueue(WorkflowWorld::job_in(other.queue)));
  other.run();
  ASSERT_EQ(other.work(), "a stranger");
  core::Command end = other.end_of("a stranger", AckOutcome::kSucceeded);
  core::CreateWorkflow same_id = home.workflow({home.member("b")});
  same_id.content = fingerprint("other content");
  const JobId box = engine::outbox_id_of(same_id.id, home.queue);
  std::get<core::Ack>(end).items[0].workflows = {std::move(same_id)};
  other.ask(end);
  cluster.pass(1s);
  EXPECT_EQ(home.members(), "a=active");
  EXPECT_FALSE(other.machine().lives(box));
}

// Every minute.
core::SetSchedule minutely(WorkflowWorld& home, core::OverlapPolicy overlap) {
  core::SetSchedule set;
  set.name = SharedBytes("nightly");
  set.spec.every = 60s;
  set.spec.timezone = SharedBytes("UTC");
  set.spec.queue = SharedBytes(home.queue);
  set.spec.workflow = engine::template_of(home.workflow({home.member("a", {}, 1)}));
  set.spec.overlap = overlap;
  return set;
}

TEST(RelayWorkflows, AScheduleBeginsOneUnlessTheLastOneGoesOn) {
  Cluster cluster;
  WorkflowWorld& home = cluster.home();
  WorkflowWorld& other = cluster.other();
  home.ask(core::Command(minutely(home, core::OverlapPolicy::kSkip)));
  cluster.pass(61s);
  const core::ScheduleProgress& progress = home.machine().schedule("nightly")->progress;
  home.id = progress.last_job;
  EXPECT_TRUE(progress.last_is_workflow);
  EXPECT_EQ(home.members(), "a=active");
  ASSERT_EQ(other.work(), "a");
  EXPECT_EQ(other.leased["a"].extras->schedule.view(), "nightly");
  EXPECT_EQ(other.leased["a"].extras->scheduled_at, progress.last_scheduled_at);
  cluster.pass(60s);
  EXPECT_EQ(progress.last_job, home.id);
  EXPECT_EQ(progress.runs, 2U);  // the second was skipped
  cluster.end(other, "a");
  EXPECT_EQ(home.workflow_state(), "succeeded");
  cluster.pass(60s);
  EXPECT_NE(progress.last_job, home.id);
  ASSERT_EQ(other.work(), "a");
}

TEST(RelayWorkflows, AScheduleReplacesTheLastOneOrWaitsForIt) {
  for (const auto overlap : {core::OverlapPolicy::kQueue, core::OverlapPolicy::kReplace}) {
    Cluster cluster;
    WorkflowWorld& home = cluster.home();
    WorkflowWorld& other = cluster.other();
    home.ask(core::Command(minutely(home, overlap)));
    cluster.pass(61s);
    const core::ScheduleProgress& progress = home.machine().schedule("nightly")->progress;
    home.id = progress.last_job;
    ASSERT_EQ(other.work(), "a");
    cluster.pass(62s);
    EXPECT_TRUE(progress.waiting);
    const bool replaces = overlap == core::OverlapPolicy::kReplace;
    EXPECT_EQ(home.workflow_state(), replaces ? "stopping" : "running");
    cluster.end(other, "a", replaces ? AckOutcome::kCancelled : AckOutcome::kSucceeded);
    EXPECT_EQ(home.workflow_state(), replaces ? "cancelled" : "succeeded");
    cluster.pass(2s);
    EXPECT_FALSE(progress.waiting);
    EXPECT_NE(progress.last_job, home.id);
    EXPECT_EQ(other.work(), "a");
  }
}

}  // namespace
}  // namespace millrace::node
