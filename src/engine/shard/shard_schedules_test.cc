// Schedules on a shard: the times of firing, and the questions to other shards.

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "engine/schedules/planner.h"
#include "engine/schedules/schedules_testing.h"
#include "engine/shard/outbox.h"
#include "engine/shard/row_budget.h"
#include "engine/shard/shard.h"
#include "engine/shard/shard_fixture.h"
#include "engine/shard/shards_testing.h"
#include "store/event_codec.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

using core::OverlapPolicy;
using std::chrono_literals::operator""h;
using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using testing::ElementsAre;
using testing::IsEmpty;

// The wall clock: the fixture's own, until it leaps.
class WorldTime final : public TimeSource {
 public:
  Time wall() const override { return now + off; }
  std::chrono::nanoseconds since_boot() const override { return now.time_since_epoch() - leapt; }
  Time now;
  Duration off{};    // of the wall clock
  Duration leapt{};  // of the shard's own
};

struct World : ShardFixture {
  explicit World(ShardOptions options = {})
      : ShardFixture(store::make_memory_store(), std::move(options)) {
    run();
  }

  core::ScheduleReply set(const std::string& name, core::ScheduleSpec spec) {
    core::SetSchedule command;
    command.name = SharedBytes(name);
    command.spec = std::move(spec);
    command.incarnation = 7;
    return now_answer<core::ScheduleReply>(core::Command(std::move(command)));
  }
  const core::Schedule& schedule(const std::string& name = "nightly") const {
    const core::Schedule* const found = machine().schedule(name);
    static const core::Schedule kNone;
    EXPECT_NE(found, nullptr);
    return found == nullptr ? kNone : *found;
  }
  // The outcomes of instants, from the durable rows: "40 submitted", in seconds of the test.
  std::vector<std::string> runs(const std::string& name = "nightly") const {
    std::vector<std::string> lines;
    for (const auto& [seq, batch] : durable_batches) {
      for (const core::Event& event : batch.events) {
        const auto* const advanced = std::get_if<core::ScheduleAdvanced>(&event);
        if (advanced == nullptr || advanced->name.view() != name) continue;
        for (const core::ScheduleRun& run : advanced->runs) {
          const auto second = (run.scheduled_at - begin).count() / 1'000;
          lines.push_back(std::to_string(second) + " " + std::string(name_of(run.outcome)));
          if (run.count > 1) lines.back() += " x" + std::to_string(run.count);
        }
      }
    }
    return lines;
  }
  void pass_until(Duration since_begin) { pass(begin + since_begin - now); }

  const Time begin = now;  // 20 s after a whole minute
};

const core::ScheduleSpec& minutely() {
  static const core::ScheduleSpec spec = every_spec(Duration{60'000});
  return spec;
}

TEST(ShardSchedules, ASchedulesFirstInstantIsPlannedInTheRowThatMakesIt) {
  World world;
  EXPECT_TRUE(world.set("nightly", minutely()).created);
  const core::EventBatch& row = world.durable_batches.back().second;
  ASSERT_EQ(row.events.size(), 2U);
  EXPECT_TRUE(std::holds_alternative<core::ScheduleSet>(row.events.at(0)));
  EXPECT_EQ(std::get<core::ScheduleAdvanced>(row.events.at(1)).progress.next, world.begin + 40s);
  EXPECT_EQ(world.schedule().progress.done_until, world.begin);
  EXPECT_EQ(world.shard().figures().schedules, 1U);
  EXPECT_EQ(world.shard().figures().schedule_due, world.begin + 40s);
}

TEST(ShardSchedules, AnInstantFiresWhenItIsDueAndNotBefore) {
  World world;
  world.set("nightly", minutely());
  world.pass_until(40s - 1ms);
  EXPECT_THAT(world.runs(), IsEmpty());
  EXPECT_EQ(world.shard().next_wakeup(), world.begin + 40s);
  world.pass_until(40s);
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted"));
  const auto job = world.machine().view(job_id_of(world.schedule(), world.begin + 40s));
  ASSERT_NE(job, nullptr);
  EXPECT_EQ(job->job.created_at, world.begin + 40s);
  EXPECT_EQ(job->job.state, core::State::kReady);
  world.pass_until(160s);
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted", "100 submitted", "160 submitted"));
  using core::RunOutcome;
  EXPECT_EQ(world.shard().figures().schedule_runs.at(static_cast<int>(RunOutcome::kSubmitted)), 3U);
}

TEST(ShardSchedules, AJobIsThereIfAndOnlyIfTheProgressIs) {
  World world;
  world.set("nightly", minutely());
  world.pass_until(40s - 1ms);
  world.now += 1ms;
  world.step();  // decided, and lost
  EXPECT_EQ(world.schedule().progress.done_until, world.begin + 40s);
  world.crash();
  EXPECT_EQ(world.schedule().progress.done_until, world.begin);
  world.run();
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted"));
  world.crash(1s);  // with and without the tables
  world.run();
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted"));
  EXPECT_EQ(world.machine().jobs_in_memory(), 1U);
}

TEST(ShardSchedules, WhatPassedWhileItWasDownIsLateOrMissed) {
  core::ScheduleSpec skips = minutely();
  skips.missed = core::MissedPolicy::kSkip;
  World world;
  world.set("skips", skips);
  world.set("one", minutely());
  world.pass_until(30s);
  world.crash(70s);  // until second 100: only late
  world.run();
  EXPECT_THAT(world.runs("skips"), ElementsAre("40 submitted", "100 submitted"));
  world.crash(600s);  // until second 700
  world.run();
  EXPECT_THAT(world.runs("skips"),
              ElementsAre("40 submitted", "100 submitted", "580 skipped_missed x8", "640 submitted",
                          "700 submitted"));
  EXPECT_THAT(world.runs("one"),
              ElementsAre("40 submitted", "100 submitted", "520 skipped_missed x7", "580 submitted",
                          "640 submitted", "700 submitted"));
}

TEST(ShardSchedules, NothingIsDueOfAPausedOne) {
  World world;
  world.set("nightly", minutely());
  world.now_answer<core::ScheduleReply>(
      core::Command(core::PauseSchedule{SharedBytes("nightly"), {}}));
  world.pass_until(200s);
  world.now_answer<core::ScheduleReply>(
      core::Command(core::ResumeSchedule{SharedBytes("nightly"), {}}));
  EXPECT_EQ(world.schedule().progress.done_until, world.begin + 200s);  // the shard fills it in
  world.pass_until(220s);
  EXPECT_THAT(world.runs(), ElementsAre("220 submitted"));
}

TEST(ShardSchedules, WhenARowIsFullTheRestFiresInTheNext) {
  World world;
  core::ScheduleSpec spec = minutely();
  const std::string payload = '"' + std::string(64 * 1'024 - 2, 'x') + '"';
  spec.job = job_for("mail", payload);
  constexpr int kSchedules = 200;  // 12.5 MiB of payloads
  for (int i = 0; i < kSchedules; ++i) world.set("s" + std::to_string(i), spec);
  world.pass_until(40s - 1ms);
  world.durable_batches.clear();
  world.pass_until(40s);
  std::size_t rows = 0, fired = 0;
  for (const auto& [seq, batch] : world.durable_batches) {
    std::string body;
    store::encode_events(batch, body);
    EXPECT_LT(body.size(), kRowBudgetBytes + 2 * 64 * 1'024);
    std::size_t here = 0;
    for (const core::Event& event : batch.events) {
      here += std::holds_alternative<core::Submitted>(event);
    }
    rows += here > 0;
    fired += here;
    EXPECT_EQ(batch.at, world.begin + 40s);
  }
  EXPECT_EQ(fired, kSchedules);
  EXPECT_EQ(rows, 2U);
}

TEST(ShardSchedules, WhatIsRefusedIsTriedAgain) {
  World world;
  world.set("nightly", minutely());
  const auto set_max_ready = [&](std::optional<std::uint64_t> most) {
    core::SetQueue set;
    set.queue = SharedBytes("mail");
    set.create = true;
    set.patch.max_ready = most;
    world.now_answer<core::QueueReply>(core::Command(std::move(set)));
  };
  set_max_ready(0);
  world.pass_until(45s);
  EXPECT_THAT(world.runs(), IsEmpty());
  EXPECT_GT(world.schedule().progress.tries, 1U);
  set_max_ready(std::nullopt);
  world.pass_until(60s);
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted"));
}

TEST(ShardSchedules, AnyNumberFiresAtOnce) {
  World world;
  constexpr int kSchedules = 1'500;
  for (int i = 0; i < kSchedules; ++i) {
    core::SetSchedule command;
    command.name = SharedBytes("s" + std::to_string(i));
    command.spec = minutely();
    world.ask(core::Command(std::move(command)));
  }
  world.pass_until(40s);
  EXPECT_EQ(world.machine().jobs_in_memory(), kSchedules);
}

// --- Without room, schedules yield to submissions.

TEST(ShardSchedules, TheyWaitForMemoryAndSubmissionsDoNot) {
  World world;
  core::ScheduleSpec skips = minutely();
  skips.missed = core::MissedPolicy::kSkip;
  world.set("nightly", minutely());
  world.set("skips", skips);
  world.shard().set_memory_room(MemoryRoom::kScarce);
  world.pass_until(45s);
  EXPECT_THAT(world.runs(), IsEmpty());
  EXPECT_EQ(world.schedule().progress.tries, 0U);
  EXPECT_EQ(world.schedule().progress.next, world.begin + 40s);
  EXPECT_EQ(world.now_answer<core::EnqueueReply>(World::enqueue("a")).items.at(0).fate,
            core::Fate::kCreated);
  // A new one is planned all the same.
  world.set("new", minutely());
  EXPECT_EQ(world.schedule("new").progress.next, world.begin + 100s);
  world.shard().set_memory_room(MemoryRoom::kWide);
  world.pass_until(46s);
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted"));
  EXPECT_THAT(world.runs("skips"), ElementsAre("40 submitted"));
  // What is too late by then is missed, by each one's own rule.
  world.shard().set_memory_room(MemoryRoom::kNone);
  world.pass_until(300s);
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted"));
  world.shard().set_memory_room(MemoryRoom::kWide);
  world.pass_until(301s);
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted", "160 skipped_missed x2", "220 submitted",
                                        "280 submitted"));
  EXPECT_THAT(world.runs("skips"),
              ElementsAre("40 submitted", "220 skipped_missed x3", "280 submitted"));
}

TEST(ShardSchedules, WhenMemoryIsTightTheyAreSlow) {
  World world;
  constexpr int kSchedules = 50;
  for (int i = 0; i < kSchedules; ++i) world.set("s" + std::to_string(i), minutely());
  world.shard().set_memory_room(MemoryRoom::kTight);
  world.pass_until(40s + 99ms);
  EXPECT_EQ(world.machine().jobs_in_memory(), 10U);
  world.pass_until(41s);
  EXPECT_EQ(world.machine().jobs_in_memory(), kSchedules);
}

TEST(ShardSchedules, TheyWaitForTheTables) {
  ShardOptions options;
  options.max_unprojected = 40;
  options.flush_after = 1h;
  World world(options);
  for (int i = 0; i < 30; ++i) world.set("s" + std::to_string(i), minutely());
  world.pass_until(40s);
  EXPECT_EQ(world.machine().jobs_in_memory(), 6U);  // an eighth at full speed
  world.pass_until(45s);
  EXPECT_EQ(world.machine().jobs_in_memory(), 11U);  // a quarter slowly
  for (int i = 0; i < 25; ++i) {
    const auto made = world.now_answer<core::EnqueueReply>(World::enqueue("a" + std::to_string(i)));
    EXPECT_EQ(made.items.at(0).fate, core::Fate::kCreated);
  }
}

// --- Jobs on another shard.

struct TwoShards : World {
  explicit TwoShards(OverlapPolicy overlap) : World(options()) {
    core::ScheduleSpec spec = minutely();
    spec.overlap = overlap;
    spec.queue = SharedBytes(queue_on(1, 2));
    spec.job = job_for(queue_on(1, 2));
    set("nightly", spec);
    listen();
  }
  static ShardOptions options() {
    ShardOptions options;
    options.shards = 2;
    return options;
  }

  // The node's role: passes on the jobs of the outbox, and asks for questions.
  void pass_on() {
    const auto claim = now_answer<core::ClaimReply>(
        core::Command(ShardFixture::claim({std::string(kOutboxQueue)}, {}, 10)));
    core::Ack ack;
    for (const auto& item : claim.jobs) {
      core::AckItem& done = ack.items.emplace_back();
      done.id = item.job.id;
      done.token = item.job.token;
      done.outcome = core::AckOutcome::kSucceeded;
    }
    passed_on += ack.items.size();
    if (!ack.items.empty()) now_answer<core::ItemsReply>(core::Command(std::move(ack)));
  }
  void listen() { listening = ask(AwaitJobQuestions{Duration{3'600'000}}); }
  std::vector<JobQuestion> questions() {
    run();
    if (!answered(listening)) return {};
    std::vector<JobQuestion> items = answer<JobQuestions>(listening).items;
    listen();
    return items;
  }
  void tell(bool ended) {
    ask(TellOfJob{SharedBytes("nightly"), schedule().progress.last_job, ended});
    run();
  }
  // Fires the instant of second 40 and brings its job to its queue.
  void begin_with_a_job() {
    pass_until(40s);
    EXPECT_THAT(runs(), ElementsAre("40 submitted"));
    pass_on();
    EXPECT_EQ(passed_on, 1U);
  }

  Ticket listening{};
  std::size_t passed_on = 0;
};

TEST(SchedulesElsewhere, AJobGoesThroughTheOutboxInTheRowOfTheProgress) {
  TwoShards world(OverlapPolicy::kAllow);
  world.pass_until(40s);
  const core::ScheduleProgress& progress = world.schedule().progress;
  EXPECT_EQ(progress.last_job, job_id_of(world.schedule(), world.begin + 40s));
  EXPECT_EQ(progress.last_box, outbox_id_of(progress.last_job, queue_on(1, 2)));
  EXPECT_EQ(world.machine().view(progress.last_job), nullptr);
  const auto box = world.machine().view(progress.last_box);
  ASSERT_NE(box, nullptr);
  const auto submission = from_outbox(box->job);
  ASSERT_TRUE(submission.has_value());
  const core::JobSpec& spec = submission->jobs.at(0);
  EXPECT_EQ(spec.id, progress.last_job);
  EXPECT_EQ(spec.queue.view(), queue_on(1, 2));
  EXPECT_EQ(spec.extras->schedule.view(), "nightly");
  EXPECT_EQ(spec.extras->scheduled_at, world.begin + 40s);
  // No schedule needs the state of that job.
  world.pass_on();
  world.pass_until(100s);
  EXPECT_THAT(world.questions(), IsEmpty());
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted", "100 submitted"));
}

TEST(SchedulesElsewhere, WhileItIsInTheOutboxAJobHasNotEnded) {
  TwoShards world(OverlapPolicy::kSkip);
  world.pass_until(100s);
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted", "100 skipped_overlap"));
  EXPECT_THAT(world.questions(), IsEmpty());
}

TEST(SchedulesElsewhere, AnInstantIsDecidedWhenItIsKnownHowTheNewestJobIs) {
  for (const bool ended : {false, true}) {
    TwoShards world(OverlapPolicy::kSkip);
    world.begin_with_a_job();
    world.pass_until(99s);
    EXPECT_THAT(world.questions(), IsEmpty());
    world.pass_until(100s);
    const auto questions = world.questions();
    ASSERT_EQ(questions.size(), 1U);
    EXPECT_EQ(questions.at(0).schedule.view(), "nightly");
    EXPECT_EQ(questions.at(0).job, world.schedule().progress.last_job);
    EXPECT_EQ(questions.at(0).wait, Duration{0});
    EXPECT_FALSE(questions.at(0).cancel);
    world.pass_until(100s + 500ms);
    EXPECT_THAT(world.questions(), IsEmpty());
    EXPECT_THAT(world.runs(), ElementsAre("40 submitted"));  // and waits for the answer
    world.tell(ended);
    EXPECT_THAT(world.runs(),
                ElementsAre("40 submitted", ended ? "100 submitted" : "100 skipped_overlap"));
    EXPECT_THAT(world.questions(), IsEmpty());
  }
}

TEST(SchedulesElsewhere, AQuestionThatNobodyAnsweredComesAgain) {
  TwoShards world(OverlapPolicy::kSkip);
  world.begin_with_a_job();
  world.pass_until(100s);
  EXPECT_EQ(world.questions().size(), 1U);
  world.pass_until(101s);
  EXPECT_EQ(world.questions().size(), 1U);
  world.pass_until(102s);
  EXPECT_EQ(world.questions().size(), 1U);
  // An answer about another job is ignored.
  world.ask(TellOfJob{SharedBytes("nightly"), ShardFixture::id("other"), true});
  world.ask(TellOfJob{SharedBytes("nobody"), ShardFixture::id("other"), true});
  world.run();
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted"));
}

TEST(SchedulesElsewhere, AnInstantThatWaitsStartsWhenItIsToldOfTheEnd) {
  TwoShards world(OverlapPolicy::kQueue);
  world.begin_with_a_job();
  world.pass_until(100s);
  EXPECT_EQ(world.questions().size(), 1U);
  world.tell(false);
  EXPECT_EQ(world.schedule().progress.waiting, world.begin + 100s);
  // Now it asks for a report of the end.
  auto questions = world.questions();
  ASSERT_EQ(questions.size(), 1U);
  EXPECT_GT(questions.at(0).wait, Duration{10'000});
  EXPECT_FALSE(questions.at(0).cancel);
  world.pass_until(110s);
  EXPECT_THAT(world.questions(), IsEmpty());
  // That wait ends and is repeated, whether or not the answer was lost.
  world.pass_until(120s);
  world.tell(false);
  world.pass_until(122s);
  EXPECT_EQ(world.questions().size(), 1U);
  world.pass_until(143s);
  EXPECT_EQ(world.questions().size(), 1U);
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted"));
  world.tell(true);
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted", "100 submitted"));
  EXPECT_FALSE(world.schedule().progress.waiting);
  EXPECT_EQ(world.schedule().progress.last_job, job_id_of(world.schedule(), world.begin + 100s));
}

TEST(SchedulesElsewhere, WhatIsToBeReplacedIsCancelledThere) {
  TwoShards world(OverlapPolicy::kReplace);
  world.begin_with_a_job();
  world.pass_until(100s);
  EXPECT_FALSE(world.questions().at(0).cancel);
  world.tell(false);
  const auto questions = world.questions();
  ASSERT_EQ(questions.size(), 1U);
  EXPECT_TRUE(questions.at(0).cancel);
  world.tell(true);
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted", "100 replaced"));
}

TEST(SchedulesElsewhere, AnInstantThatIsHeldIsNotTriedAtEachStep) {
  TwoShards world(OverlapPolicy::kQueue);
  world.begin_with_a_job();
  world.pass_until(100s);
  world.questions();
  world.tell(false);
  world.shard().set_memory_room(MemoryRoom::kNone);
  world.ask(TellOfJob{SharedBytes("nightly"), world.schedule().progress.last_job, true});
  const std::size_t rows = world.durable_batches.size();
  for (int i = 0; i < 50; ++i) {
    world.step();
    world.append();
  }
  EXPECT_LE(world.durable_batches.size(), rows + 2);
  world.pass(10s);
  EXPECT_EQ(world.schedule().progress.tries, 0U);
  world.shard().set_memory_room(MemoryRoom::kWide);
  world.pass(10s);
  EXPECT_THAT(world.runs(), ElementsAre("40 submitted", "100 submitted"));
}

TEST(SchedulesElsewhere, ATriggeredJobIsAwaitedLikeAnother) {
  TwoShards world(OverlapPolicy::kSkip);
  const JobId job = ShardFixture::id("by hand");
  world.now_answer<core::ScheduleReply>(core::Command(core::NoteScheduleRun{
      SharedBytes("nightly"), 7, world.begin, job, ShardFixture::id("nonsense")}));
  EXPECT_EQ(world.schedule().progress.last_job, job);
  EXPECT_EQ(world.schedule().progress.last_box, outbox_id_of(job, queue_on(1, 2)));
  world.pass_until(40s);
  EXPECT_EQ(world.questions().size(), 1U);
  world.tell(false);
  EXPECT_THAT(world.runs(), ElementsAre("0 submitted", "40 skipped_overlap"));
}

// --- Clocks and zones.

struct ClockedWorld {
  ClockedWorld() {
    time.now = time_from_ms(1'700'000'000'000);
    ShardOptions options;
    options.time = &time;
    world.emplace(options);
  }
  void pass(Duration by) {
    const Time end = world->now + by;
    while (world->now < end) {
      const Time wake = world->shard().next_wakeup().value_or(end);
      world->now = time.now = std::min(end, std::max(world->now, wake));
      world->run();
    }
  }
  // The shard's clock follows a wall clock that is ahead.
  void leap(Duration by) {
    time.now += by;
    time.leapt += by;
    world->now = time.now;
    world->run();
  }
  WorldTime time;
  std::optional<World> world;
};

TEST(ShardSchedules, AWallClockThatLeapsByHoursIsBelievedAfterAMinute) {
  ClockedWorld clocked;
  World& world = *clocked.world;
  world.set("hourly", every_spec(Duration{3'600'000}));
  clocked.leap(5h);
  clocked.pass(59s);
  EXPECT_THAT(world.runs("hourly"), IsEmpty());
  // Nothing else wakes the shard.
  clocked.pass(600s);
  ASSERT_EQ(world.runs("hourly").size(), 2U);
  EXPECT_LE(world.durable_batches.back().second.at, world.begin + 5h + 80s);
  EXPECT_THAT(world.runs("hourly").at(0), testing::EndsWith("skipped_missed x4"));
  EXPECT_THAT(world.runs("hourly").at(1), testing::EndsWith("submitted"));
}

TEST(ShardSchedules, ALeapThatIsTakenBackFiresNothing) {
  ClockedWorld clocked;
  World& world = *clocked.world;
  world.set("hourly", every_spec(Duration{3'600'000}));
  const Time next = *world.schedule("hourly").progress.next;
  clocked.leap(5h);
  clocked.pass(30s);
  clocked.time.off = -5h;  // the shard's clock does not go back
  clocked.pass(300s);
  EXPECT_THAT(world.runs("hourly"), IsEmpty());
  clocked.pass(next - clocked.time.wall() - 1ms);
  EXPECT_THAT(world.runs("hourly"), IsEmpty());
  clocked.pass(Duration{1});
  EXPECT_EQ(world.runs("hourly").size(), 1U);
}

struct ZonedWorld {
  ZonedWorld() {
    zones->put("Atlantis", std::chrono::minutes(60));
    ShardOptions options;
    options.zones = zones;
    world.emplace(options);
  }
  Time next(const std::string& name) const { return *world->schedule(name).progress.next; }
  std::shared_ptr<FakeZones> zones = std::make_shared<FakeZones>();
  std::optional<World> world;
};

TEST(ShardSchedules, NewerZoneDataMoveWhatIsPlanned) {
  ZonedWorld zoned;
  World& world = *zoned.world;
  constexpr int kSchedules = 450;  // too many for one step
  for (int i = 0; i < kSchedules; ++i) {
    world.set("s" + std::to_string(i), cron_spec("0 9 * * *", "Atlantis"));
  }
  world.set("utc", cron_spec("0 9 * * *"));
  const Time before = zoned.next("s0");
  zoned.zones->put("Atlantis", std::chrono::minutes(120));
  zoned.zones->release = "2025b";
  world.pass(20s);
  EXPECT_EQ(zoned.next("s0"), before);  // older data, such as another node's
  zoned.zones->release = "2026b";
  const Time changed_at = world.now;
  world.pass(600s);
  EXPECT_LE(world.durable_batches.back().second.at, changed_at + 20s);  // no other event woke it
  for (int i = 0; i < kSchedules; ++i) {
    EXPECT_EQ(zoned.next("s" + std::to_string(i)), before - 1h);
    EXPECT_EQ(world.schedule("s" + std::to_string(i)).version, 1U);
  }
  EXPECT_EQ(zoned.next("utc"), before + 1h);
  // Rows that would not change are left alone.
  const std::size_t rows = world.durable_batches.size();
  zoned.zones->release = "2026c";
  world.pass(20s);
  EXPECT_EQ(world.durable_batches.size(), rows);
}

TEST(ShardSchedules, WhatNewerDataMoveIntoThePastIsFiredIfItIsOwed) {
  for (const bool owed : {true, false}) {
    ZonedWorld zoned;
    World& world = *zoned.world;  // it is 22:13:20 UTC
    world.set("nightly", cron_spec("50 13 23 * * *", "Atlantis"));
    world.pass_until(15s);
    EXPECT_EQ(zoned.next("nightly"), world.begin + 30s);
    // By the new data it was at second 10, or before the schedule was made.
    zoned.zones->put("Atlantis", std::chrono::seconds(3'600 + (owed ? 20 : 40)));
    zoned.zones->release = "2026b";
    world.pass_until(30s);
    EXPECT_EQ(zoned.next("nightly"), world.begin + 24h + (owed ? 10s : -10s));
    if (owed) {
      EXPECT_THAT(world.runs(), ElementsAre("10 submitted"));
    } else {
      EXPECT_THAT(world.runs(), IsEmpty());
    }
  }
}

// It is not known yet whether the job on the other shard has ended, so no node may decide.
TEST(SchedulesElsewhere, WhatNewerDataMoveIntoThePastWaitsForTheAnswerToo) {
  ShardOptions options = TwoShards::options();
  const auto zones = std::make_shared<FakeZones>();
  zones->put("Atlantis", std::chrono::minutes(60));
  options.zones = zones;
  World world(options);
  core::ScheduleSpec spec = cron_spec("50 13 23 * * *", "Atlantis");
  spec.overlap = OverlapPolicy::kSkip;
  spec.queue = SharedBytes(queue_on(1, 2));
  spec.job = job_for(queue_on(1, 2));
  world.set("nightly", spec);
  const JobId job = ShardFixture::id("by hand");
  world.now_answer<core::ScheduleReply>(core::Command(
      core::NoteScheduleRun{SharedBytes("nightly"), 7, world.begin, job, core::kNoJob}));
  world.pass_until(15s);
  zones->put("Atlantis", std::chrono::seconds(3'620));  // it was at second 10
  zones->release = "2026b";
  const Ticket listening = world.ask(AwaitJobQuestions{Duration{60'000}});
  world.pass_until(25s);
  EXPECT_THAT(world.runs(), ElementsAre("0 submitted"));
  ASSERT_TRUE(world.answered(listening));
  EXPECT_EQ(world.answer<JobQuestions>(listening).items.at(0).job, job);
  world.ask(TellOfJob{SharedBytes("nightly"), job, true});
  world.run();
  EXPECT_THAT(world.runs(), ElementsAre("0 submitted", "10 submitted"));
}

TEST(ShardSchedules, WithoutAZoneOneIsBrokenUntilThereIsOne) {
  ZonedWorld zoned;
  World& world = *zoned.world;
  world.set("nightly", cron_spec("* * * * *", "Lemuria"));
  EXPECT_EQ(core::state_of(world.schedule()), core::ScheduleState::kBroken);
  EXPECT_EQ(world.shard().figures().broken_schedules, 1U);
  world.pass_until(130s);
  EXPECT_THAT(world.runs(), IsEmpty());
  EXPECT_LE(world.durable_batches.size(), 5U);
  zoned.zones->put("Lemuria", std::chrono::minutes(60));
  world.pass_until(200s);
  EXPECT_EQ(core::state_of(world.schedule()), core::ScheduleState::kActive);
  EXPECT_EQ(world.shard().figures().broken_schedules, 0U);
  EXPECT_EQ(world.runs().back(), "160 submitted");
}

}  // namespace
}  // namespace millrace::engine
