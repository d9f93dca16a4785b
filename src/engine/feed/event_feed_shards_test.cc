// The event log of several shards. event_feed_test.cc tests one shard.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"
#include "engine/feed/event_feed.h"
#include "engine/shard/cursors.h"
#include "engine/shard/shards_testing.h"

namespace millrace::engine {
namespace {

Time at(std::int64_t ms) { return time_from_ms(1'700'000'000'000 + ms); }

core::Event paused(const std::string& queue, const std::string& reason) {
  return core::QueueChanged{
      SharedBytes(queue), core::QueueChange::kPaused, {}, SharedBytes(reason)};
}

std::string reason_of(const FeedEvent& event) {
  return std::string(std::get<terms::QueueFacts>(event.facts).reason.view());
}

// Rows of none, one or several events, some at the same time on several shards.
class ManyEvents {
 public:
  explicit ManyEvents(std::uint64_t seed)
      : random(seed),
        shards(static_cast<ShardNumber>(1 + random.next() % 4)),
        feed(shards.all_journals()),
        expected(shards.shards()) {
    for (ShardNumber shard = 0; shard < shards.shards(); ++shard) fill(shard);
  }

  ShardNumber shard_of_queue(const FeedEvent& event) const {
    return shard_of(event.queue.view(), shards.shards());
  }

  Random random;
  ShardsForTests shards;
  EventFeed feed;
  std::vector<std::vector<std::string>> expected;  // by shard: the reason of each event

 private:
  void fill(ShardNumber shard) {
    std::int64_t now = 0;
    for (std::uint64_t rows = random.next() % 30; rows > 0; --rows) {
      now += static_cast<std::int64_t>(random.next() % 4);
      core::EventBatch batch{at(now), {core::KeysExpired{}}};
      for (std::uint64_t events = random.next() % 4; events > 0; --events) {
        const std::string reason = std::to_string(expected[shard].size());
        batch.events.push_back(paused(shards.queue(shard), reason));
        expected[shard].push_back(reason);
      }
      shards.append(shard, batch);
    }
  }
};

TEST(EventFeedOfShards, TellsEachEventOnceInOrderHoweverItIsCutIntoPages) {
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    ManyEvents world(seed);
    std::vector<std::vector<std::string>> told(world.shards.shards());
    Time last = Time::min();
    FeedQuery query;
    for (int pages = 0;; ++pages) {
      ASSERT_LT(pages, 1'000) << seed;
      query.limit = static_cast<std::uint32_t>(1 + world.random.next() % 9);
      FeedPage page = world.feed.read(query);
      ASSERT_EQ(page.fault, FeedFault::kNone) << page.message;
      EXPECT_LE(page.events.size(), query.limit);
      query.after = page.next;
      // Continuing from any event gives the same as from the page's end.
      if (page.events.size() > 1 && world.random.next() % 2 == 0) {
        page.events.resize(1 + world.random.next() % (page.events.size() - 1));
        query.after = page.events.back().position;
        page.at_end = false;
      }
      for (const FeedEvent& event : page.events) {
        EXPECT_GE(event.at, last) << seed;
        last = event.at;
        told[world.shard_of_queue(event)].push_back(reason_of(event));
      }
      if (page.at_end) break;
    }
    ASSERT_EQ(told, world.expected) << seed;
  }
}

TEST(EventFeedOfShards, ShowsOfALedShardWhatItsObserverWasToldAndOfAnotherWhatCanBeRead) {
  ShardsForTests shards(2);
  EventFeed feed(shards.all_journals());
  const auto told = [&] { return feed.read({}).events.size(); };
  for (ShardNumber shard = 0; shard < 2; ++shard) {
    for (int i = 0; i < 3; ++i) shards.append(shard, {at(i), {paused(shards.queue(shard), "r")}});
  }
  EXPECT_EQ(told(), 6U);
  feed.led(0, Seq{1});
  EXPECT_EQ(told(), 4U);
  FeedPage page = feed.read({});
  EXPECT_TRUE(page.at_end);
  EXPECT_EQ(page.reached, (std::vector{Seq{1}, Seq{3}}));
  FeedQuery from_now;
  from_now.after = kEndOfFeed;
  EXPECT_EQ(feed.read(from_now).next, "2-0.4-0");
  feed.observer(0).durable(Seq{2}, {});
  EXPECT_EQ(told(), 5U);
  feed.not_led(0);
  EXPECT_EQ(told(), 6U);
  feed.led(1, Seq{0});
  EXPECT_EQ(told(), 3U);
}

TEST(EventFeedOfShards, TakesPositionsThatAnotherNodeGave) {
  ShardsForTests shards(2);
  EventFeed there(shards.all_journals());
  EventFeed here(shards.all_journals());
  for (int i = 0; i < 3; ++i) shards.append(0, {at(i), {paused(shards.queue(0), "r")}});
  here.led(0, Seq{1});  // it does not know the readable rows yet
  FeedQuery query;
  query.after = there.read({}).next;
  EXPECT_EQ(query.after, "4-0.1-0");
  const FeedPage page = here.read(query);
  EXPECT_EQ(page.fault, FeedFault::kNone) << page.message;
  EXPECT_TRUE(page.events.empty() && page.at_end);
  EXPECT_EQ(page.next, query.after);
  EXPECT_EQ(page.reached, (std::vector{Seq{3}, Seq{0}}));
}

TEST(EventFeedOfShards, SaysWhenThePositionOfAnyShardIsGoneOrIsNone) {
  ShardsForTests shards(2);
  EventFeed feed(shards.all_journals());
  feed.led(0, Seq{5});
  for (ShardNumber shard = 0; shard < 2; ++shard) {
    for (int i = 0; i < 5; ++i) shards.append(shard, {at(i), {paused(shards.queue(shard), "r")}});
  }
  const auto fault = [&](const std::string& after) {
    FeedQuery query;
    query.after = after;
    return feed.read(query).fault;
  };
  EXPECT_EQ(fault("1-0.1-0"), FeedFault::kNone);
  ASSERT_TRUE(shards.journal(0).trim(Seq{3}).has_value());
  ASSERT_TRUE(shards.journal(1).trim(Seq{4}).has_value());
  EXPECT_EQ(fault(""), FeedFault::kNone);
  EXPECT_EQ(fault("3-0.4-1"), FeedFault::kNone);
  EXPECT_EQ(fault("2-0.4-0"), FeedFault::kGone);
  EXPECT_EQ(fault("3-0.3-0"), FeedFault::kGone);
  for (const char* text : {"6-0", "6-0.6-0.6-0", "7-0.6-0", "6-0.7-0", "6-0.0-0", "6-0 6-0"}) {
    EXPECT_EQ(fault(text), FeedFault::kBadPosition) << text;
  }
  EXPECT_EQ(fault("6-0.6-0"), FeedFault::kNone);
  shards.journal(1).read_fails = true;
  EXPECT_EQ(fault("3-0.4-0"), FeedFault::kStorage);
}

// Distant events of one shard are found, while the other shards do not run ahead of it.
TEST(EventFeedOfShards, AFilterReadsAllShardsAlike) {
  ShardsForTests shards(2);
  EventFeed feed(shards.all_journals());
  for (int i = 0; i < 9'000; ++i) shards.append(0, {at(i), {paused(shards.queue(0), "r")}});
  shards.append(0, {at(9'000), {paused("wanted", "late")}});
  shards.append(1, {at(3), {paused("wanted", "early")}});
  shards.append(1, {at(9'500), {paused("wanted", "last")}});
  FeedQuery query;
  query.queues = {"wanted"};
  std::vector<std::string> told;
  int pages = 0;
  for (bool at_end = false; !at_end; ++pages) {
    ASSERT_LT(pages, 5);
    const FeedPage page = feed.read(query);
    for (const FeedEvent& event : page.events) told.push_back(reason_of(event));
    query.after = page.next;
    at_end = page.at_end;
  }
  EXPECT_GT(pages, 1) << "a page ends after a bounded number of rows";
  EXPECT_EQ(told, (std::vector<std::string>{"early", "late", "last"}));
}

}  // namespace
}  // namespace millrace::engine
