#include "server/shard/flush_semaphore.h"

#include <gtest/gtest.h>

#include <array>
#include <optional>
#include <vector>

namespace millrace::server {
namespace {

TEST(FlushSemaphore, TheFirstInTheLineIsNext) {
  FlushSemaphore turns(2);
  std::vector<int> told;
  std::array<std::optional<FlushSemaphore::Permit>, 5> places;
  for (int i = 0; i < 5; ++i) places[i].emplace(turns, [&told, i] { told.push_back(i); });
  EXPECT_TRUE(places[0]->granted());
  EXPECT_TRUE(places[1]->granted());
  EXPECT_FALSE(places[2]->granted());
  EXPECT_TRUE(told.empty());  // whose turn it is at once sees that

  places[1].reset();
  EXPECT_TRUE(places[2]->granted());
  EXPECT_FALSE(places[3]->granted());
  places[3].reset();  // who leaves the line has taken nothing
  EXPECT_FALSE(places[4]->granted());
  places[0].reset();
  EXPECT_TRUE(places[4]->granted());
  EXPECT_EQ(told, (std::vector{2, 4}));

  places[2].reset();
  places[4].reset();
  places[0].emplace(turns, [] {});
  places[1].emplace(turns, [] {});
  EXPECT_TRUE(places[0]->granted());
  EXPECT_TRUE(places[1]->granted());
}

}  // namespace
}  // namespace millrace::server
