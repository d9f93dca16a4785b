#include "server/flush_turns.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

namespace millrace::server {
namespace {

TEST(FlushTurns, TheFirstInTheLineIsNext) {
  FlushTurns turns(2);
  std::vector<int> told;
  std::array<std::optional<FlushTurns::Place>, 5> places;
  for (int i = 0; i < 5; ++i) places[i].emplace(turns, [&told, i] { told.push_back(i); });
  EXPECT_TRUE(places[0]->has_come());
  EXPECT_TRUE(places[1]->has_come());
  EXPECT_FALSE(places[2]->has_come());
  EXPECT_TRUE(told.empty());  // whose turn it is at once sees that

  places[1].reset();
  EXPECT_TRUE(places[2]->has_come());
  EXPECT_FALSE(places[3]->has_come());
  places[3].reset();  // who leaves the line has taken nothing
  EXPECT_FALSE(places[4]->has_come());
  places[0].reset();
  EXPECT_TRUE(places[4]->has_come());
  EXPECT_EQ(told, (std::vector{2, 4}));

  places[2].reset();
  places[4].reset();
  places[0].emplace(turns, [] {});
  places[1].emplace(turns, [] {});
  EXPECT_TRUE(places[0]->has_come());
  EXPECT_TRUE(places[1]->has_come());
}

}  // namespace
}  // namespace millrace::server
