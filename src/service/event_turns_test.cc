#include "service/event_turns.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "service/task.h"

namespace millrace::service {
namespace {

class NoGateway final : public engine::Gateway {
 public:
  void submit(engine::Request, engine::ReplyPort&, engine::Ticket, std::string_view) override {}
  void cancel(engine::ReplyPort&, engine::Ticket) override {}
};

// A stream that waits for one turn.
struct Stream {
  explicit Stream(EventTurns& turns) : turn(turns, &wait), run(go(*this)) { run.start(); }
  static Task<void> go(Stream& stream) {
    co_await stream.turn;
    stream.goes_on = true;
  }

  Wait wait;
  EventTurns::Turn turn;
  bool goes_on = false;
  Task<void> run;
};

class EventTurnsTest : public ::testing::Test {
 protected:
  std::unique_ptr<Stream> stream() { return std::make_unique<Stream>(port_.event_turns()); }
  // The turns that a new stream finds free.
  std::size_t free_turns() {
    std::vector<std::unique_ptr<Stream>> all;
    do all.push_back(stream());
    while (all.back()->goes_on);
    Wait& last = all.back()->wait;
    last.waiting->give_up();
    port_.run();
    for (const auto& one : all) one->turn.leave();
    return all.size() - 1;
  }

  NoGateway gateway_;
  AnswerPort port_{gateway_, [] {}};
};

TEST_F(EventTurnsTest, AFewAtATimeInOrderOfArrival) {
  const auto first = stream(), second = stream(), third = stream(), fourth = stream();
  EXPECT_TRUE(first->goes_on && second->goes_on);
  EXPECT_FALSE(third->goes_on || fourth->goes_on);
  second->turn.leave();
  EXPECT_FALSE(third->goes_on) << "not from inside the call";
  port_.run();
  EXPECT_TRUE(third->goes_on);
  EXPECT_FALSE(fourth->goes_on);
  first->turn.leave();
  first->turn.leave();
  port_.run();
  EXPECT_TRUE(fourth->goes_on);
  third->turn.leave();
  fourth->turn.leave();
  EXPECT_EQ(free_turns(), EventTurns::kAtATime);
}

TEST_F(EventTurnsTest, WhoGoesLosesItsPlaceOnly) {
  const auto first = stream(), second = stream(), gone = stream(), last = stream();
  gone->wait.waiting->give_up();
  EXPECT_FALSE(gone->goes_on) << "not from inside the call";
  EXPECT_EQ(gone->wait.waiting, nullptr);
  port_.run();
  EXPECT_TRUE(gone->goes_on && gone->wait.given_up);
  gone->turn.leave();
  port_.run();
  EXPECT_FALSE(last->goes_on) << "it had no turn to leave";
  first->turn.leave();
  port_.run();
  EXPECT_TRUE(last->goes_on);
  second->turn.leave();
  last->turn.leave();
  EXPECT_EQ(free_turns(), EventTurns::kAtATime);
}

TEST_F(EventTurnsTest, WhoHasGoneDoesNotWait) {
  const auto first = stream(), second = stream();
  Wait over;
  over.over = true;
  EventTurns::Turn turn(port_.event_turns(), &over);
  EXPECT_FALSE(turn.await_ready());
  EXPECT_FALSE(turn.await_suspend(std::noop_coroutine()));
  EXPECT_TRUE(over.given_up);
}

// As when the thread ends with all its waits.
TEST_F(EventTurnsTest, WhoIsDestroyedLeavesTheQueue) {
  const auto first = stream(), second = stream();
  auto gone = stream();
  gone.reset();
  first->turn.leave();
  second->turn.leave();
  EXPECT_EQ(free_turns(), EventTurns::kAtATime);
}

}  // namespace
}  // namespace millrace::service
