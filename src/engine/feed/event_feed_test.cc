#include "engine/feed/event_feed.h"

#include <gtest/gtest.h>

#include "engine/reads.h"
#include "engine/shard/shard_fixture.h"
#include "store/memory/memory_store.h"

namespace millrace::engine {
namespace {

struct MemoryWorld : ShardFixture {
  MemoryWorld() : ShardFixture(store::make_memory_store(), {}) {}

  void durable(Seq seq, const core::EventBatch& batch) override {
    ShardFixture::durable(seq, batch);
    feed.observer(0).durable(seq, batch);
  }
  FeedPage read(const std::string& after = "", std::uint32_t limit = 50) {
    FeedQuery query;
    query.after = after;
    query.limit = limit;
    return feed.read(query);
  }
  // "job.submitted:a job.started:a"
  static std::string told(const std::vector<FeedEvent>& events) {
    std::string text;
    for (const FeedEvent& event : events) {
      if (!text.empty()) text += ' ';
      text += name_of(event.type);
      if (event.job) text += ":" + name(*event.job);
    }
    return text;
  }
  void live(const std::string& job) {
    now_answer<core::EnqueueReply>(enqueue(job));
    ask(waiting(claim(), 0));
    run();
    now_answer<core::ItemsReply>(ack(job));
  }

  EventFeed feed{*store.journal, Seq{0}};
};

TEST(EventFeed, TellsALifeInOrder) {
  MemoryWorld world;
  world.live("a");
  const FeedPage page = world.read();
  EXPECT_EQ(MemoryWorld::told(page.events),
            "queue.updated job.submitted:a job.started:a job.succeeded:a");
  const FeedEvent& started = page.events.at(2);
  EXPECT_EQ(started.queue.view(), "mail");
  EXPECT_EQ(started.job_type.view(), "send");
  EXPECT_EQ(started.worker.view(), "anna");
  EXPECT_EQ(started.attempt, 1U);
  EXPECT_EQ(std::get<terms::StartedFacts>(started.facts).waited, Duration{0});
}

TEST(EventFeed, GoesOnAfterAnyPositionWithoutGapOrRepetition) {
  MemoryWorld world;
  core::Enqueue command;
  for (int i = 0; i < 10; ++i) command.jobs.push_back(ShardFixture::spec(std::to_string(i)));
  world.now_answer<core::EnqueueReply>(core::Command(command));
  world.live("x");
  const std::string whole = MemoryWorld::told(world.read().events);
  for (std::uint32_t limit = 1; limit < 8; ++limit) {
    std::vector<FeedEvent> all;
    std::string after;
    while (true) {
      FeedPage page = world.read(after, limit);
      ASSERT_EQ(page.fault, FeedFault::kNone) << page.message;
      if (page.events.empty()) break;
      // The page's cursor and the last event's own position give the same result.
      EXPECT_EQ(MemoryWorld::told(world.read(page.events.back().position, limit).events),
                MemoryWorld::told(world.read(page.next, limit).events));
      after = page.next;
      std::move(page.events.begin(), page.events.end(), std::back_inserter(all));
    }
    EXPECT_EQ(MemoryWorld::told(all), whole) << limit;
  }
}

TEST(EventFeed, BeginsAtItsEndWhereThatIsAsked) {
  MemoryWorld world;
  const FeedPage empty = world.read("end");
  EXPECT_TRUE(empty.events.empty() && empty.at_end) << empty.message;
  world.live("a");
  EXPECT_EQ(MemoryWorld::told(world.read(empty.next).events),
            MemoryWorld::told(world.read().events));
  const FeedPage page = world.read("end");
  EXPECT_EQ(MemoryWorld::told(page.events), "");
  EXPECT_EQ(page.next, world.read().next);
  EXPECT_EQ(page.reached, std::vector{world.shard().figures().durable});
  world.live("b");
  EXPECT_EQ(MemoryWorld::told(world.read(page.next).events),
            "job.submitted:b job.started:b job.succeeded:b");
}

TEST(EventFeed, ShowsOnlyWhatIsDurable) {
  MemoryWorld world;
  world.run();
  world.ask(ShardFixture::enqueue("a"));
  world.step();
  world.store.journal->append(*world.shard().next_append());  // written, but not reported yet
  EXPECT_EQ(MemoryWorld::told(world.read().events), "");
  EXPECT_TRUE(world.read().at_end);
  world.append_done({store::AppendOutcome::kDurable, {}});
  EXPECT_EQ(MemoryWorld::told(world.read().events), "queue.updated job.submitted:a");
}

TEST(EventFeed, FiltersByTypeQueueAndWhatTheAskerMaySee) {
  MemoryWorld world;
  world.live("a");
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue(ShardFixture::spec("b", "fax")));
  FeedQuery query;
  query.types = {terms::EventType::kJobSubmitted};
  EXPECT_EQ(MemoryWorld::told(world.feed.read(query).events), "job.submitted:a job.submitted:b");
  query.queues = {"fax"};
  EXPECT_EQ(MemoryWorld::told(world.feed.read(query).events), "job.submitted:b");
  query.visible = [](std::string_view queue) { return queue == "fax"; };
  EXPECT_EQ(MemoryWorld::told(world.feed.read(query).events), "job.submitted:b");
  query.visible = [](std::string_view queue) { return queue != "fax"; };
  const FeedPage page = world.feed.read(query);
  EXPECT_TRUE(page.events.empty());
  EXPECT_TRUE(page.at_end);
  EXPECT_EQ(page.reached, std::vector{world.shard().figures().durable});
}

TEST(EventFeed, SaysWhenAPositionIsGoneOrIsNone) {
  MemoryWorld world;
  world.live("a");
  const std::string early = world.read("", 1).next;
  world.live("b");
  world.pass(Duration{1'000});
  ASSERT_TRUE(world.store.journal->trim(world.shard().figures().applied).has_value());
  EXPECT_EQ(world.read(early).fault, FeedFault::kGone);
  EXPECT_EQ(world.read().fault, FeedFault::kNone);
  for (const char* text :
       {"x", "1", "1-", "-1", "1-1x", "0-0", "01-0", "9999-0", "1--1", "99999999999999999999-0"}) {
    EXPECT_EQ(world.read(text).fault, FeedFault::kBadPosition) << text;
  }
}

TEST(EventFeed, NamesEveryEndAsTheContractDoes) {
  core::EventBatch batch;
  core::AttemptEnded ended;
  ended.outcome = core::AttemptOutcome::kFailed;
  ended.state = core::State::kRetrying;
  batch.events.emplace_back(ended);
  ended.state = core::State::kDead;
  batch.events.emplace_back(ended);
  ended.outcome = core::AttemptOutcome::kLeaseExpired;
  batch.events.emplace_back(ended);
  ended.outcome = core::AttemptOutcome::kTimedOut;
  ended.state = core::State::kCancelled;
  batch.events.emplace_back(ended);
  ended.outcome = core::AttemptOutcome::kSnoozed;
  batch.events.emplace_back(ended);
  std::string types;
  for (const FeedEvent& event : flatten(batch)) types += std::string(name_of(event.type)) + " ";
  EXPECT_EQ(types,
            "job.retrying job.dead job.lease_expired job.dead job.timed_out job.cancelled "
            "job.snoozed job.cancelled ");
}

TEST(JobEvents, TellALifeWithItsRetries) {
  MemoryWorld world;
  core::JobSpec spec = ShardFixture::spec("a");
  spec.max_attempts = 2;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue(spec));
  for (int attempt = 0; attempt < 2; ++attempt) {
    world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
    world.run();
    world.now += Duration{50};
    world.now_answer<core::ItemsReply>(world.ack("a", core::AckOutcome::kFailed));
    world.pass(Duration{10'000});
  }
  world.now_answer<core::ItemsReply>(core::Command(core::Retry{{ShardFixture::id("a")}, {}, true}));
  world.now += Duration{5};
  world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
  world.run();
  world.now += Duration{5};
  world.now_answer<core::ItemsReply>(world.ack("a"));
  world.pass(Duration{1'000});
  // Memory has dropped the job: everything comes from the tables.
  const Reads reads(*world.store.tables);
  const auto memory =
      world.now_answer<core::JobReply>(core::Command(core::GetJob{ShardFixture::id("a")}));
  EXPECT_EQ(memory.job, nullptr);
  const auto view = reads.job(ShardFixture::id("a"), memory, History::kWhole);
  ASSERT_TRUE(view.has_value() && view->has_value());
  EXPECT_EQ(MemoryWorld::told(job_events(**view)),
            "job.submitted:a job.started:a job.retrying:a job.started:a job.dead:a job.retried:a "
            "job.started:a job.succeeded:a");
}

TEST(Reads, CompleteWhatMemoryHoldsWithOlderRows) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  for (int attempt = 1; attempt <= 3; ++attempt) {
    world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
    world.run();
    core::AckItem ack = world.ack_of("a", core::AckOutcome::kFailed);
    ack.logs.push_back({std::nullopt, 1, SharedBytes("line " + std::to_string(attempt))});
    world.now_answer<core::ItemsReply>(core::Command(core::Ack{{ack}, core::Detail::kIds}));
    if (attempt < 3) world.pass(Duration{60'000});  // written; it waits for the next attempt
  }
  const auto memory =
      world.now_answer<core::JobReply>(core::Command(core::GetJob{ShardFixture::id("a")}));
  ASSERT_NE(memory.job, nullptr);
  const Reads reads(*world.store.tables);
  const auto view = reads.job(ShardFixture::id("a"), memory, History::kWhole);
  ASSERT_TRUE(view.has_value() && view->has_value());
  ASSERT_EQ((*view)->attempts.size(), 2U);
  EXPECT_EQ((*view)->attempts[0].n, 1U);
  EXPECT_EQ((*view)->attempts[1].n, 2U);
  ASSERT_EQ((*view)->logs.size(), 3U);
  EXPECT_EQ((*view)->logs[2].message.view(), "line 3");
  EXPECT_EQ((*view)->job.latest.n, 3U);
}

TEST(Reads, ALogInPagesFromMemoryAndTheTables) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  for (int attempt = 1; attempt <= 3; ++attempt) {
    world.ask(ShardFixture::waiting(ShardFixture::claim(), 0));
    world.run();
    core::AckItem ack = world.ack_of("a", core::AckOutcome::kReleased);
    for (int i = 0; i < 2; ++i) ack.logs.push_back({std::nullopt, 1, SharedBytes("line")});
    world.now_answer<core::ItemsReply>(core::Command(core::Ack{{ack}, core::Detail::kIds}));
    if (attempt < 3) world.pass(Duration{60'000});
  }
  auto memory =
      *world.now_answer<core::JobReply>(core::Command(core::GetJob{ShardFixture::id("a")})).job;
  ASSERT_EQ(memory.logs.size(), 2U);
  const Reads reads(*world.store.tables);
  const auto page = [&](std::uint32_t after, std::uint32_t limit) {
    const LogPage read = reads.logs(memory, after, limit).value();
    std::string seqs;
    for (const core::LogLine& line : read.lines) seqs += std::to_string(line.seq);
    return seqs + (read.more ? "..." : "");
  };
  EXPECT_EQ(page(0, 100), "123456");
  EXPECT_EQ(page(0, 3), "123...");
  EXPECT_EQ(page(3, 2), "45...");
  EXPECT_EQ(page(5, 2), "6");
  EXPECT_EQ(page(6, 2), "");
  // Memory knows that these lines were dropped from the log.
  memory.log_trims = {{1, 3}};
  EXPECT_EQ(page(0, 2), "34...");
  memory.log_trims = {{1, 3}, {2, 5}};
  EXPECT_EQ(page(0, 2), "56");
}

TEST(Reads, BelieveMemoryThatAJobIsGone) {
  MemoryWorld world;
  world.now_answer<core::EnqueueReply>(ShardFixture::enqueue("a"));
  world.pass(Duration{1'000});
  world.ask(core::Command(core::Delete{{ShardFixture::id("a")}, core::DeleteCause::kOperator}));
  world.step();
  world.append();
  const Ticket get = world.ask(core::Command(core::GetJob{ShardFixture::id("a")}));
  world.step();
  ASSERT_EQ(world.store.tables->fetch({ShardFixture::id("a")})->size(), 1U);  // still in the tables
  const auto view =
      Reads(*world.store.tables).job(ShardFixture::id("a"), world.answer<core::JobReply>(get), {});
  ASSERT_TRUE(view.has_value());
  EXPECT_FALSE(view->has_value());
}

TEST(Reads, MergeMarksThatOverlap) {
  const auto mark = [](core::MarkKind kind, std::int64_t at) {
    return core::Mark{kind, time_from_ms(at), 1, {}};
  };
  core::JobView view;
  view.marks = {mark(core::MarkKind::kEdited, 2), mark(core::MarkKind::kCancelled, 3)};
  merge_history(view,
                {{}, {}, {mark(core::MarkKind::kEdited, 1), mark(core::MarkKind::kEdited, 2)}});
  ASSERT_EQ(view.marks.size(), 3U);
  EXPECT_EQ(view.marks[0].at, time_from_ms(1));
  EXPECT_EQ(view.marks[2].kind, core::MarkKind::kCancelled);
}

TEST(Reads, LeaveOutLinesThatALogHasOutgrownWhereTheTablesStillHaveThem) {
  core::JobView view;
  core::LogLine kept;
  kept.seq = 3;
  kept.n = 1;
  view.logs = {kept};
  view.log_trims = {{1, 3}};
  core::LogLine outgrown = kept;
  outgrown.seq = 2;
  core::LogLine of_another_attempt = outgrown;
  of_another_attempt.seq = 1;
  of_another_attempt.n = 0;
  merge_history(view, {{}, {of_another_attempt, outgrown}, {}});
  ASSERT_EQ(view.logs.size(), 2U);
  EXPECT_EQ(view.logs[0].seq, 1U);
  EXPECT_EQ(view.logs[1].seq, 3U);
}

}  // namespace
}  // namespace millrace::engine
