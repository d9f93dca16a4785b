#include "server/metrics/memory_gauge.h"

#include <gtest/gtest.h>

#include <cstddef>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

#include "store/testing/temporary_directory.h"

namespace millrace::server {
namespace {

using engine::MemoryRoom;

TEST(MemoryGauge, RoomIsLostAtItsMarksAndGainedBackALittleBelow) {
  MemoryGauge gauge(1'000'000);
  EXPECT_EQ(gauge.update(0), MemoryRoom::kWide);
  EXPECT_EQ(gauge.update(599'999), MemoryRoom::kWide);
  EXPECT_EQ(gauge.update(600'000), MemoryRoom::kTight);
  EXPECT_EQ(gauge.update(550'000), MemoryRoom::kTight);
  EXPECT_EQ(gauge.update(699'999), MemoryRoom::kTight);
  EXPECT_EQ(gauge.update(700'000), MemoryRoom::kScarce);
  EXPECT_EQ(gauge.update(749'999), MemoryRoom::kScarce);
  EXPECT_EQ(gauge.update(750'000), MemoryRoom::kNone);
  EXPECT_EQ(gauge.update(700'000), MemoryRoom::kNone);
  EXPECT_EQ(gauge.update(699'999), MemoryRoom::kScarce);
  EXPECT_EQ(gauge.update(650'000), MemoryRoom::kScarce);
  EXPECT_EQ(gauge.update(649'999), MemoryRoom::kTight);
  EXPECT_EQ(gauge.update(549'999), MemoryRoom::kWide);
  EXPECT_EQ(gauge.update(2'000'000), MemoryRoom::kNone);
  EXPECT_EQ(gauge.update(0), MemoryRoom::kWide);
}

TEST(MemoryGauge, LooksAtTheProcessItself) {
  EXPECT_GT(usable_memory(), std::uint64_t{64} << 20);
  const std::uint64_t before = resident_memory();
  ASSERT_GT(before, 0u);
  std::vector<char> block(64 << 20);
  // Through a volatile pointer, so that the compiler can't omit the memory.
  volatile char* const bytes = block.data();
  for (std::size_t i = 0; i < block.size(); i += 1024) bytes[i] = 'x';
  EXPECT_GE(resident_memory(), before + (std::uint64_t{48} << 20));
  const auto now = std::chrono::steady_clock::now();
  EXPECT_EQ(MemoryGauge(1'000'000).room(now, 0), MemoryRoom::kNone);
  EXPECT_EQ(MemoryGauge(std::uint64_t{1} << 50).room(now, 0), MemoryRoom::kWide);
  EXPECT_EQ(MemoryGauge(1'000'000).room(now, std::uint64_t{1} << 50), MemoryRoom::kWide);
}

// A machine's control groups, as files.
class ControlGroups : public testing::Test {
 protected:
  void write(const std::string& file, const std::string& text) const {
    const std::filesystem::path path = folder_.file(file);
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text << '\n';
  }
  std::uint64_t limit() const {
    return control_group_limit(folder_.file("process"), folder_.file("mount"));
  }

 private:
  store::TemporaryDirectory folder_;
};

TEST_F(ControlGroups, LimitIsThatOfTheProcessOwnGroup) {
  write("process/cgroup", "0::/system.slice/millrace.service");
  write("mount/system.slice/memory.max", "max");
  write("mount/system.slice/millrace.service/memory.max", "1000000");
  write("mount/system.slice/other.service/memory.max", "1");
  EXPECT_EQ(limit(), 1'000'000u);
  write("mount/system.slice/millrace.service/memory.high", "900000");
  EXPECT_EQ(limit(), 900'000u);
}

TEST_F(ControlGroups, LimitOfAGroupHoldsForThoseInIt) {
  write("process/cgroup", "0::/user.slice/session");
  write("mount/user.slice/memory.max", "5000");
  write("mount/user.slice/session/memory.max", "7000");
  EXPECT_EQ(limit(), 5'000u);
}

TEST_F(ControlGroups, LimitOfAContainerStandsAtTheRoot) {
  write("process/cgroup", "0::/docker/abc");  // as the host names it
  write("mount/memory.max", "3000");
  EXPECT_EQ(limit(), 3'000u);
}

TEST_F(ControlGroups, LimitOfVersionOneIsTheMemoryControllers) {
  write("process/cgroup", "5:cpu,cpuacct:/busy\n4:memory:/jobs\n0::/");
  write("mount/memory/busy/memory.limit_in_bytes", "1");
  write("mount/memory/jobs/memory.limit_in_bytes", "4000");
  EXPECT_EQ(limit(), 4'000u);
}

TEST_F(ControlGroups, LimitIsNoneWhereThereIsNone) {
  EXPECT_EQ(limit(), std::numeric_limits<std::uint64_t>::max());
  write("process/cgroup", "no such line\n0::/jobs");
  write("mount/jobs/memory.max", "max");
  EXPECT_EQ(limit(), std::numeric_limits<std::uint64_t>::max());
}

}  // namespace
}  // namespace millrace::server
