#include "server/memory_gauge.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <vector>

namespace millrace::server {
namespace {

using engine::MemoryRoom;

TEST(MemoryGauge, RoomIsLostAtItsMarksAndGainedBackALittleBelow) {
  MemoryGauge gauge(1'000'000);
  EXPECT_EQ(gauge.update(0), MemoryRoom::kWide);
  EXPECT_EQ(gauge.update(599'999), MemoryRoom::kWide);
  EXPECT_EQ(gauge.update(600'000), MemoryRoom::kTight);
  EXPECT_EQ(gauge.update(550'000), MemoryRoom::kTight);
  EXPECT_EQ(gauge.update(749'999), MemoryRoom::kTight);
  EXPECT_EQ(gauge.update(750'000), MemoryRoom::kNone);
  EXPECT_EQ(gauge.update(700'000), MemoryRoom::kNone);
  EXPECT_EQ(gauge.update(699'999), MemoryRoom::kTight);
  EXPECT_EQ(gauge.update(549'999), MemoryRoom::kWide);
  EXPECT_EQ(gauge.update(2'000'000), MemoryRoom::kNone);
  EXPECT_EQ(gauge.update(0), MemoryRoom::kWide);
}

TEST(MemoryGauge, LooksAtTheProcessItself) {
  EXPECT_GT(usable_memory(), std::uint64_t{64} << 20);
  const std::uint64_t before = resident_memory();
  ASSERT_GT(before, 0u);
  std::vector<char> block(64 << 20);
  // Through a volatile pointer: the compiler must not do without the memory.
  volatile char* const bytes = block.data();
  for (std::size_t i = 0; i < block.size(); i += 1024) bytes[i] = 'x';
  EXPECT_GE(resident_memory(), before + (std::uint64_t{48} << 20));
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(MemoryGauge(1'000'000).room(now, 0), MemoryRoom::kNone);
  EXPECT_EQ(MemoryGauge(std::uint64_t{1} << 50).room(now, 0), MemoryRoom::kWide);
  EXPECT_EQ(MemoryGauge(1'000'000).room(now, std::uint64_t{1} << 50), MemoryRoom::kWide);
}

}  // namespace
}  // namespace millrace::server
