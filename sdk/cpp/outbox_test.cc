#include "outbox.h"

#include <gtest/gtest.h>

namespace millrace::sdk {
namespace {

using namespace std::chrono_literals;

constexpr SteadyTime kNow{1h};

OutgoingAck ack(int number, SteadyTime since = kNow) {
  return {.ack = {.id = std::to_string(number), .token = 1, .outcome = "succeeded"},
          .since = since};
}

std::vector<std::string> ids(const std::vector<OutgoingAck>& acks) {
  std::vector<std::string> found;
  for (const OutgoingAck& outgoing : acks) found.push_back(outgoing.ack.id);
  return found;
}

TEST(Outbox, IsDueWhenTheOldestHasWaitedLongEnough) {
  Outbox outbox(5ms);
  EXPECT_EQ(outbox.due(), SteadyTime::max());
  EXPECT_EQ(outbox.due_without_delay(), SteadyTime::max());
  outbox.add(ack(1, kNow));
  outbox.add(ack(2, kNow + 3ms));
  EXPECT_EQ(outbox.due(), kNow + 5ms);
  EXPECT_EQ(outbox.due_without_delay(), kNow);
}

TEST(Outbox, IsDueAtOnceWhenEnoughHaveGathered) {
  Outbox outbox(5ms);
  for (int i = 0; i < 63; ++i) outbox.add(ack(i));
  EXPECT_EQ(outbox.due(), kNow + 5ms);
  outbox.add(ack(63, kNow + 1ms));
  EXPECT_EQ(outbox.due(), kNow);
}

TEST(Outbox, WhatWasGivenBackIsFirstAndAsOldAsItWas) {
  Outbox outbox(5ms);
  outbox.add(ack(1));
  outbox.add(ack(2));
  auto taken = outbox.take();
  EXPECT_TRUE(outbox.empty());
  outbox.add(ack(3, kNow + 8ms));
  outbox.give_back(std::move(taken));
  EXPECT_EQ(outbox.due(), kNow + 5ms);
  EXPECT_EQ(ids(outbox.take()), (std::vector<std::string>{"1", "2", "3"}));
}

TEST(Outbox, GivesNoMoreThanOneRequestMayHold) {
  Outbox outbox(5ms);
  for (int i = 0; i < 1'001; ++i) outbox.add(ack(i));
  EXPECT_EQ(outbox.take().size(), 1'000u);
  EXPECT_EQ(ids(outbox.take()), (std::vector<std::string>{"1000"}));

  OutgoingAck large = ack(1);
  large.ack.result.assign(std::size_t{5} << 20, '1');
  outbox.add(large);
  outbox.add(large);
  EXPECT_EQ(outbox.take().size(), 1u);  // the bytes of both are too many
  EXPECT_EQ(outbox.take().size(), 1u);
}

}  // namespace
}  // namespace millrace::sdk
