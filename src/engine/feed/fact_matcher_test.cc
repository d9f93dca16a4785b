#include "engine/feed/fact_matcher.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "engine/feed/recent_facts.h"
#include "engine/shard/cursors.h"
#include "engine/shard/shards_testing.h"

namespace millrace::engine {
namespace {

Time at(std::int64_t ms) { return time_from_ms(1'700'000'000'000 + ms); }

core::EventBatch pause(const std::string& queue, std::int64_t now = 0) {
  return {at(now), {core::QueueChanged{SharedBytes(queue), core::QueueChange::kPaused, {}, {}}}};
}

FeedFilter of_queues(std::vector<std::string> queues) {
  FeedFilter filter;
  filter.queues = std::move(queues);
  return filter;
}

TEST(FactMatcher, FindsExactlyTheFiltersThatLetAFactThrough) {
  const std::vector<std::string> queues = {"", "a", "b", "c"};
  using terms::EventType;
  const std::vector<EventType> types = {EventType::kJobSubmitted, EventType::kJobStarted,
                                        EventType::kQueuePaused};
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Random random(seed);
    const auto one = [&](const auto& of) { return of[random.next() % of.size()]; };
    const auto job = [&] {
      JobId id;
      id.bytes.back() = static_cast<std::uint8_t>(random.next() % 3);
      return id;
    };
    std::vector<FeedFilter> filters(random.next() % 20);
    for (FeedFilter& filter : filters) {
      for (auto left = random.next() % 3; left > 0; --left) filter.queues.push_back(one(queues));
      for (auto left = random.next() % 3; left > 0; --left) filter.types.push_back(one(types));
      if (random.next() % 4 == 0) filter.job = job();
      if (random.next() % 4 == 0) {
        filter.visible = [queue = one(queues)](std::string_view name) { return name == queue; };
      }
    }
    std::vector<FeedEvent> facts(random.next() % 6);
    for (FeedEvent& fact : facts) {
      fact.type = types[random.next() % types.size()];
      fact.queue = SharedBytes(one(queues));
      if (random.next() % 2 == 0) fact.job = job();
    }
    FactMatcher matcher;
    std::vector<FactMatcher::Number> numbers;
    for (const FeedFilter& filter : filters) numbers.push_back(matcher.add(filter));
    std::vector<bool> is_there(filters.size(), true);
    for (int sequence = 0; sequence < 3; ++sequence) {
      for (const FeedEvent& fact : facts) matcher.look_at(fact);
      std::vector<FactMatcher::Number> found = matcher.take();
      std::vector<FactMatcher::Number> matching;
      for (std::size_t i = 0; i < filters.size(); ++i) {
        const bool lets = is_there[i] && std::ranges::any_of(facts, [&](const FeedEvent& fact) {
                            return wanted(fact, filters[i]);
                          });
        if (lets) matching.push_back(numbers[i]);
      }
      std::ranges::sort(found);
      std::ranges::sort(matching);
      EXPECT_EQ(found, matching) << "seed " << seed << ", sequence " << sequence;
      // Some filters go, and some come back.
      for (std::size_t i = 0; i < filters.size(); ++i) {
        if (random.next() % 3 != 0) continue;
        if (is_there[i]) {
          matcher.remove(numbers[i]);
        } else {
          numbers[i] = matcher.add(filters[i]);
        }
        is_there[i] = !is_there[i];
      }
      EXPECT_EQ(matcher.size(), static_cast<std::size_t>(std::ranges::count(is_there, true)));
    }
  }
}

// One scan finds the readers who would find something by reading themselves.
TEST(FeedScan, SaysWhoHasNewsAndMovesOn) {
  ShardsForTests shards(2);
  EventFeed feed(shards.all_journals());
  const FeedFilter all, first = of_queues({shards.queue(0)}), second = of_queues({shards.queue(1)}),
                        none = of_queues({"none"});
  FactMatcher matcher;
  for (const FeedFilter* const filter : {&all, &first, &second, &none}) matcher.add(*filter);
  EventPlaces places(2, EventPlace{1, 0});
  const auto look = [&] {
    const FeedScan scan = feed.scan(places, matcher, {});
    EXPECT_EQ(scan.fault, FeedFault::kNone) << scan.message;
    places = scan.places;
    std::vector<bool> news(matcher.size());
    for (const FactMatcher::Number number : scan.news) news[number] = true;
    return news;
  };
  EXPECT_EQ(look(), std::vector<bool>({false, false, false, false}));
  shards.append(1, pause(shards.queue(1)));
  EXPECT_EQ(look(), std::vector<bool>({true, false, true, false}));
  EXPECT_EQ(places, (EventPlaces{{1, 0}, {2, 0}}));
  EXPECT_EQ(look(), std::vector<bool>({false, false, false, false}));
  shards.append(0, pause(shards.queue(0), 1));
  EXPECT_EQ(look(), std::vector<bool>({true, true, false, false}));
  // Rows of a shard that this node leads are scanned only once they are durable.
  feed.led(0, Seq{1});
  shards.append(0, pause(shards.queue(0), 2));
  EXPECT_EQ(look(), std::vector<bool>({false, false, false, false}));
  feed.led(0, Seq{2});
  EXPECT_EQ(look(), std::vector<bool>({true, true, false, false}));
}

TEST(RecentFacts, ARowIsKnownByItsChecksumAndItsShard) {
  RecentFacts recent;
  const auto row = [](const std::string& queue, std::uint64_t checksum) {
    store::JournalRow made;
    store::encode_events(pause(queue), made.body);
    made.checksum.low = checksum;
    return made;
  };
  const auto queue_of = [&](const store::JournalRow& of, ShardNumber shard) {
    const auto facts = recent.of(of, shard);
    EXPECT_TRUE(facts);
    return std::string((*facts)->facts.at(0).queue.view());
  };
  EXPECT_EQ(queue_of(row("a", 1), 0), "a");
  EXPECT_EQ(queue_of(row("b", 2), 0), "b");
  // The same row is not decoded again.
  EXPECT_EQ(queue_of(row("never looked at", 1), 0), "a");
  EXPECT_EQ(queue_of(row("c", 1), 1), "c");
  for (int n = 3; n < 200; ++n) queue_of(row("d", static_cast<std::uint64_t>(n)), 0);
  EXPECT_EQ(queue_of(row("e", 1), 0), "e") << "only the last ones are kept";
  store::JournalRow damaged = row("f", 250);
  damaged.body.resize(3);
  EXPECT_FALSE(recent.of(damaged, 0));
}

}  // namespace
}  // namespace millrace::engine
