#include "service/event_tail.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "service/task.h"

namespace millrace::service {
namespace {

class NoGateway final : public engine::Gateway {
 public:
  void submit(engine::Request, engine::ReplyPort&, engine::Ticket, std::string_view) override {}
  void cancel(engine::ReplyPort&, engine::Ticket) override {}
};

Steady at(std::int64_t ms) { return Steady{Duration{ms}}; }
engine::EventPlaces places(std::uint64_t seq) { return {{seq, 0}}; }

// A reader that waits once and records the outcome.
struct Stay {
  Stay(EventTail& tail, const std::string& queue, std::uint64_t seq, std::int64_t until,
       bool patient = false)
      : filter(of(queue)),
        reader(tail, patient ? nullptr : &wait, queue, filter, places(seq), at(until)),
        run(go(*this)) {
    if (reader.admitted()) run.start();
  }
  static engine::FeedFilter of(const std::string& queue) {
    engine::FeedFilter filter;
    filter.queues = {queue};
    return filter;
  }
  static Task<void> go(Stay& stay) {
    co_await stay.reader;
    stay.woken = true;
  }
  std::uint64_t stands_at() const { return reader.places().front().seq; }

  engine::FeedFilter filter;
  Wait wait;
  EventTail::Reader reader;
  bool woken = false;
  Task<void> run;
};

class EventTailTest : public ::testing::Test {
 protected:
  std::unique_ptr<Stay> stay(const std::string& queue, std::uint64_t seq, std::int64_t until) {
    return std::make_unique<Stay>(tail(), queue, seq, until);
  }
  EventTail& tail() { return port_.events(); }
  // The leader has scanned up to `seq`, and found events for these queues.
  void looked(Stay& leader, std::uint64_t seq, const std::vector<std::string>& queues,
              std::int64_t now = 0) {
    found(leader, leader.reader.begin_scan(), seq, queues, now);
  }
  void found(Stay& leader, engine::FactMatcher& matcher, std::uint64_t seq,
             const std::vector<std::string>& queues, std::int64_t now = 0) {
    engine::FeedEvent fact;
    for (const std::string& queue : queues) {
      fact.queue = SharedBytes(queue);
      matcher.look_at(fact);
    }
    engine::FeedScan scan;
    scan.places = places(seq);
    scan.news = matcher.take();
    leader.reader.looked(scan, at(now));
    port_.run();
  }

  NoGateway gateway_;
  AnswerPort port_{gateway_, [] {}};
};

TEST_F(EventTailTest, OneLeadsAndOnlyThoseWhomItConcernsAreWoken) {
  const auto leader = stay("a", 5, 1'000), same = stay("b", 5, 1'000), also = stay("b", 5, 1'000),
             other = stay("c", 5, 1'000);
  EXPECT_TRUE(leader->reader.leads());
  EXPECT_TRUE(leader->woken) << "it has work to do";
  EXPECT_EQ(leader->reader.begin_scan().size(), 3u) << "one for each filter";
  looked(*leader, 8, {"b"});
  EXPECT_TRUE(same->woken && same->reader.has_news());
  EXPECT_TRUE(also->woken && also->reader.has_news());
  EXPECT_EQ(same->stands_at(), 5u) << "it has yet to read what concerns it";
  EXPECT_FALSE(other->woken);
  EXPECT_TRUE(leader->reader.leads());
  looked(*leader, 9, {"a", "c"});
  EXPECT_FALSE(leader->reader.leads());
  EXPECT_TRUE(leader->reader.has_news());
  EXPECT_TRUE(other->reader.has_news());
  EXPECT_EQ(other->stands_at(), 8u) << "what came before did not concern it";
}

TEST_F(EventTailTest, TheNextOneLeadsWhenTheLeaderGoes) {
  auto leader = stay("a", 5, 1'000);
  const auto second = stay("b", 5, 500), third = stay("c", 5, 2'000);
  leader->reader.leave();
  leader.reset();
  port_.run();
  EXPECT_TRUE(second->woken && second->reader.leads());
  EXPECT_FALSE(second->reader.has_news());
  EXPECT_FALSE(third->woken);
  looked(*second, 7, {"b"});
  EXPECT_TRUE(third->woken && third->reader.leads());
  looked(*third, 9, {"c"});
  EXPECT_EQ(third->stands_at(), 7u);
}

TEST_F(EventTailTest, WhoseTimeHasComeIsWokenPastWhatDidNotConcernIt) {
  const auto leader = stay("a", 5, 300), second = stay("b", 5, 400), third = stay("c", 5, 900);
  EXPECT_EQ(leader->reader.until(), at(300));
  looked(*leader, 20, {}, 450);
  EXPECT_FALSE(leader->reader.leads() || leader->reader.has_news());
  EXPECT_TRUE(second->woken);
  EXPECT_FALSE(second->reader.has_news());
  EXPECT_EQ(second->stands_at(), 20u);
  EXPECT_TRUE(third->reader.leads());
}

TEST_F(EventTailTest, WhoStandsBehindReadsFirstAndWhoStandsAheadStaysThere) {
  const auto leader = stay("a", 5, 1'000);
  looked(*leader, 8, {});
  const auto behind = stay("b", 7, 1'000), ahead = stay("b", 9, 1'000);
  EXPECT_FALSE(behind->reader.admitted());
  EXPECT_TRUE(behind->reader.is_behind());
  EXPECT_TRUE(ahead->reader.admitted());
  looked(*leader, 10, {"b"});
  EXPECT_EQ(ahead->stands_at(), 9u);
}

// Its filter was not among those scanned for.
TEST_F(EventTailTest, WhoComesMeanwhileWithAFilterOfItsOwnReadsAgain) {
  const auto leader = stay("a", 5, 1'000);
  engine::FactMatcher& matcher = leader->reader.begin_scan();
  const auto late = stay("b", 6, 1'000), in_time = stay("a", 6, 1'000), ahead = stay("c", 9, 1'000);
  found(*leader, matcher, 9, {});
  EXPECT_TRUE(late->woken && late->reader.has_news());
  EXPECT_EQ(late->stands_at(), 6u);
  EXPECT_FALSE(in_time->woken);
  EXPECT_FALSE(ahead->woken) << "nothing was looked at that it has not read";
}

TEST_F(EventTailTest, NobodyWakesOneThatCannotWaitSoLong) {
  const auto leader = stay("a", 5, 1'000);
  leader->reader.sleeps(true);
  const auto hasty = stay("b", 5, 999), patient = stay("b", 5, 1'000);
  EXPECT_FALSE(hasty->reader.admitted() || hasty->reader.is_behind());
  EXPECT_TRUE(patient->reader.admitted());
  leader->reader.sleeps(false);
  EXPECT_TRUE(stay("b", 5, 10)->reader.admitted());
}

TEST_F(EventTailTest, WhoseClientGoesIsForgotten) {
  const auto leader = stay("a", 5, 1'000), gone = stay("b", 5, 1'000);
  ASSERT_NE(gone->wait.waiting, nullptr);
  gone->wait.waiting->give_up();
  EXPECT_FALSE(gone->woken) << "not from inside the call";
  port_.run();
  EXPECT_TRUE(gone->woken && gone->wait.given_up);
  EXPECT_FALSE(gone->reader.has_news() || gone->reader.leads());
  EXPECT_EQ(leader->reader.begin_scan().size(), 1u);
  looked(*leader, 6, {"b"});
  EXPECT_FALSE(gone->reader.has_news());
}

// The scan still uses the filters of those who went meanwhile.
TEST_F(EventTailTest, WhoGoesAndComesDuringAScanIsFoundByTheNext) {
  const auto leader = stay("a", 5, 1'000), gone = stay("b", 5, 1'000);
  engine::FactMatcher& matcher = leader->reader.begin_scan();
  gone->wait.waiting->give_up();
  const auto back = stay("b", 9, 1'000);
  auto brief = stay("c", 9, 1'000);
  brief->wait.waiting->give_up();
  found(*leader, matcher, 9, {"b", "c"});
  EXPECT_FALSE(gone->reader.has_news() || back->woken || brief->reader.has_news());
  looked(*leader, 10, {"b", "c"});
  EXPECT_TRUE(back->woken && back->reader.has_news());
  EXPECT_EQ(leader->reader.begin_scan().size(), 1u) << "the leader's own";
}

}  // namespace
}  // namespace millrace::service
