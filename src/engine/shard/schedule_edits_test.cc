// Schedules in a shard: instants owed after an edit, refused instants, and jobs on other shards.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "core/schedules/schedule.h"
#include "engine/routing/scatter_gather.h"
#include "engine/schedules/planner.h"
#include "engine/shard/shard_fixture.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

using core::OverlapPolicy;
using core::RunOutcome;

constexpr ShardNumber kShards = 2;

ShardOptions on_shard(ShardNumber shard, ShardNumber shards) {
  ShardOptions options;
  options.shard = shard;
  options.shards = shards;
  return options;
}

std::string queue_on(ShardNumber shard) {
  for (int i = 0;; ++i) {
    std::string queue = "q" + std::to_string(i);
    if (shard_of(queue, kShards) == shard) return queue;
  }
}

struct ScheduleWorld : ShardFixture {
  explicit ScheduleWorld(ShardNumber shard = 0, ShardNumber shards = 1)
      : ShardFixture(store::make_memory_store(), on_shard(shard, shards)) {
    now = time_from_ms(1'700'000'000'500);  // half a second after a whole ten seconds
    run();
  }

  core::ScheduleReply set(const core::ScheduleSpec& spec) {
    core::SetSchedule command;
    command.name = SharedBytes("s");
    command.spec = spec;
    command.incarnation = 1;
    return now_answer<core::ScheduleReply>(core::Command(std::move(command)));
  }
  void set_room(std::optional<std::uint64_t> max_ready) {
    core::SetQueue command;
    command.queue = SharedBytes("mail");
    command.create = true;
    command.patch.max_ready = std::optional(max_ready);
    now_answer<core::QueueReply>(core::Command(std::move(command)));
  }
  // All runs so far: seconds since the start, and the outcome.
  std::vector<std::string> runs() const {
    std::vector<std::string> runs;
    for (const auto& [seq, batch] : durable_batches) {
      for (const core::Event& event : batch.events) {
        const auto* const advanced = std::get_if<core::ScheduleAdvanced>(&event);
        if (advanced == nullptr) continue;
        for (const core::ScheduleRun& run : advanced->runs) {
          const auto after = (run.scheduled_at - time_from_ms(1'700'000'000'000)).count() / 1'000;
          runs.push_back(std::to_string(after) + " " + std::string(name_of(run.outcome)));
        }
      }
    }
    return runs;
  }
};

core::ScheduleSpec every(std::int64_t ms, const std::string& queue = "mail") {
  core::ScheduleSpec spec;
  spec.every = Duration{ms};
  spec.timezone = SharedBytes("UTC");
  spec.queue = SharedBytes(queue);
  spec.job = template_of(ShardFixture::spec("", queue));
  return spec;
}

using Runs = std::vector<std::string>;

TEST(ScheduleEdits, KeepOfThePastWhatBothSpecificationsHave) {
  ScheduleWorld world;
  world.set_room(0);
  world.set(every(10'000));
  world.pass(Duration{13'000});  // the instant after ten seconds was refused
  EXPECT_EQ(world.runs(), Runs());
  world.set(every(1'000));  // it has that instant, and later ones
  world.set_room(std::nullopt);
  world.pass(Duration{2'000});
  EXPECT_EQ(world.runs(), (Runs{"10 submitted", "14 submitted", "15 submitted"}));
}

TEST(ScheduleEdits, LoseWhatTheNewSpecificationHasNot) {
  ScheduleWorld world;
  world.set_room(0);
  world.set(every(10'000));
  world.pass(Duration{13'000});
  world.set(every(7'000));
  world.set_room(std::nullopt);
  world.pass(Duration{8'000});
  // 1'700'000'000 is 6 more than a multiple of 7.
  EXPECT_EQ(world.runs(), Runs{"15 submitted"});
}

TEST(ScheduleEdits, TwoInOneStepKeepWhatIsOwed) {
  ScheduleWorld world;
  world.set_room(0);
  world.set(every(10'000));
  world.pass(Duration{13'000});
  for (const std::int64_t ms : {5'000, 2'000}) {
    core::SetSchedule command;
    command.name = SharedBytes("s");
    command.spec = every(ms);
    world.ask(core::Command(std::move(command)));
  }
  world.run();
  world.set_room(std::nullopt);
  world.pass(Duration{1'000});
  EXPECT_EQ(world.runs(), (Runs{"10 submitted", "14 submitted"}));
}

TEST(ScheduleEdits, AKeptInstantIsMissedInItsTurn) {
  ScheduleWorld world;
  world.set_room(0);
  core::ScheduleSpec spec = every(10'000);
  world.set(spec);
  world.pass(Duration{13'000});
  spec = every(2'000);
  spec.missed_after = Duration{1'000};
  spec.missed = core::MissedPolicy::kSkip;
  world.set(spec);
  world.set_room(std::nullopt);
  world.pass(Duration{1'000});
  EXPECT_EQ(world.runs(), (Runs{"10 skipped_missed", "14 submitted"}));
}

TEST(ScheduleEdits, AKeptInstantSurvivesACrash) {
  ScheduleWorld world;
  world.set_room(0);
  world.set(every(10'000));
  world.pass(Duration{13'000});
  world.set(every(5'000));
  world.crash();
  world.run();
  world.set_room(std::nullopt);
  world.pass(Duration{2'000});
  EXPECT_EQ(world.runs(), (Runs{"10 submitted", "15 submitted"}));
}

TEST(ScheduleRefusals, AreOverWithTheNextInstant) {
  ScheduleWorld world;
  world.set_room(0);
  world.set(every(2'000));
  world.pass(Duration{9'000});
  // Each was retried until the next one came, however long the pauses had become.
  EXPECT_EQ(world.runs(), (Runs{"2 refused", "4 refused", "6 refused"}));
  world.set_room(std::nullopt);
  world.pass(Duration{600});
  EXPECT_EQ(world.runs(),
            (Runs{"2 refused", "4 refused", "6 refused", "8 submitted", "10 submitted"}));
}

struct Elsewhere : ScheduleWorld {
  Elsewhere() : ScheduleWorld(shard_of("s", kShards), kShards) {}

  static std::string other_queue() { return queue_on(1 - shard_of("s", kShards)); }
  JobId newest() const { return machine().schedule("s")->progress.last_job; }
  // Passes on the job in the outbox.
  void pass_on() {
    const auto claimed = now_answer<core::ClaimReply>(waiting(claim({"~outbox"}), 0));
    ASSERT_EQ(claimed.jobs.size(), 1U);
    core::AckItem item;
    item.id = claimed.jobs[0].job.id;
    item.token = claimed.jobs[0].job.token;
    now_answer<core::ItemsReply>(core::Command(core::Ack{{item}, core::Detail::kIds}));
  }
};

// The answer that a job is unfinished is valid for a second, in which the instant is handled.
TEST(SchedulesElsewhere, AJobThatLivesHoldsTheNextOneBack) {
  Elsewhere world;
  core::ScheduleSpec spec = every(10'000, Elsewhere::other_queue());
  spec.overlap = OverlapPolicy::kSkip;
  world.set(spec);
  world.pass(Duration{10'000});
  EXPECT_EQ(world.runs(), Runs{"10 submitted"});
  world.pass_on();
  world.pass(Duration{10'000});
  EXPECT_EQ(world.runs(), Runs{"10 submitted"});  // it asks first
  world.ask(TellOfJob{SharedBytes("s"), world.newest(), false});
  world.run();
  EXPECT_EQ(world.runs(), (Runs{"10 submitted", "20 skipped_overlap"}));
  world.pass(Duration{10'000});
  world.ask(TellOfJob{SharedBytes("s"), world.newest(), true});
  world.run();
  EXPECT_EQ(world.runs(), (Runs{"10 submitted", "20 skipped_overlap", "30 submitted"}));
}

}  // namespace
}  // namespace millrace::engine
