#include "engine/schedules/zones.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>

#include "engine/schedules/schedules_testing.h"
#include "store/testing/temporary_directory.h"

namespace millrace::engine {
namespace {

namespace fs = std::filesystem;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;
using testing::HasSubstr;

// Two zones, as installed and updated by a package.
class ZoneCacheTest : public testing::Test {
 protected:
  ZoneCacheTest() {
    fs::create_directory(directory_.file("Europe"));
    fs::create_directory(directory_.file("Asia"));
    put("Europe/Zurich", "Europe/Zurich");
    put("Asia/Tokyo", "Asia/Tokyo");
    list("2026a", {"Europe/Zurich", "Asia/Tokyo"});
  }

  // A package's update puts a new file into the place of the old one.
  void write(const std::string& name, const std::string& bytes) {
    std::ofstream(directory_.file("new"), std::ios::binary) << bytes;
    fs::rename(directory_.file("new"), directory_.file(name));
  }
  void put(const std::string& name, const std::string& data) {
    std::ifstream in(fs::path(calendar::kDefaultZoneDirectory) / data, std::ios::binary);
    std::string bytes((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    ASSERT_FALSE(bytes.empty());
    write(name, bytes);
  }
  void list(const std::string& version, const std::vector<std::string>& names) {
    std::string text = "# version " + version + "\n";
    for (const std::string& name : names) text += "Z " + name + " 0 - X\n";
    write("tzdata.zi", text);
  }
  // The offset now, in hours; or the error.
  std::string offset(const std::string& name) {
    const auto zone = zones_.find(name);
    if (!zone) return zone.error().message;
    const std::int64_t second = to_ms(at("2026-01-15T00:00:00Z")) / 1'000;
    return std::to_string((*zone)->span_at(second).offset / 3'600);
  }

  store::TemporaryDirectory directory_;
  FakeTime time_;
  ZoneCache zones_{directory_.path(), time_};
};

TEST_F(ZoneCacheTest, ReadsAZoneOnceForAllWhoAsk) {
  EXPECT_EQ(zones_.version(), "2026a");
  EXPECT_EQ(offset("Europe/Zurich"), "1");
  EXPECT_EQ(offset("Asia/Tokyo"), "9");
  EXPECT_EQ(offset("UTC"), "0");
  const auto first = zones_.find("Asia/Tokyo");
  time_.pass(60s);
  const auto second = zones_.find("Asia/Tokyo");
  EXPECT_EQ(*first, *second);  // the same object
  EXPECT_THAT(offset("Europe/Zurch"), HasSubstr("did you mean Europe/Zurich?"));
  EXPECT_THAT(offset("Europe/Basel"), HasSubstr("Europe/Basel"));
}

TEST_F(ZoneCacheTest, NoticesAReplacedFileWithinTenSeconds) {
  EXPECT_EQ(offset("Europe/Zurich"), "1");
  const auto before = zones_.find("Europe/Zurich");
  put("Europe/Zurich", "Asia/Tokyo");
  time_.pass(ZoneCache::kLooksAgainAfter - 1ms);
  EXPECT_EQ(offset("Europe/Zurich"), "1");  // the file is not checked each time
  time_.pass(1ms);
  EXPECT_EQ(offset("Europe/Zurich"), "9");
  // Holders of the old data keep them.
  const std::int64_t second = to_ms(at("2026-01-15T00:00:00Z")) / 1'000;
  EXPECT_EQ((*before)->span_at(second).offset, 3'600);
}

TEST_F(ZoneCacheTest, NoticesANewRelease) {
  EXPECT_EQ(zones_.version(), "2026a");
  EXPECT_THAT(offset("Europe/Basel"), HasSubstr("Europe/Basel"));
  put("Europe/Basel", "Europe/Zurich");
  list("2026b", {"Europe/Zurich", "Europe/Basel"});
  time_.pass(9s);
  EXPECT_EQ(zones_.version(), "2026a");
  time_.pass(1s);
  EXPECT_EQ(zones_.version(), "2026b");
  EXPECT_EQ(offset("Europe/Basel"), "1");
  EXPECT_THAT(offset("Asia/Tokyo"), HasSubstr("Asia/Tokyo"));  // dropped
}

// Otherwise a plan made by the old data would be taken for one by the new data.
TEST_F(ZoneCacheTest, WhoHasSeenANewReleaseGetsItsData) {
  EXPECT_EQ(zones_.version(), "2026a");
  time_.pass(5s);
  EXPECT_EQ(offset("Europe/Zurich"), "1");
  put("Europe/Zurich", "Asia/Tokyo");
  list("2026b", {"Europe/Zurich", "Asia/Tokyo"});
  time_.pass(5s);
  EXPECT_EQ(zones_.version(), "2026b");
  EXPECT_EQ(offset("Europe/Zurich"), "9");
}

TEST_F(ZoneCacheTest, AZoneThatIsGoneIsAnErrorUntilItIsBack) {
  EXPECT_EQ(offset("Asia/Tokyo"), "9");
  fs::remove(directory_.file("Asia/Tokyo"));
  time_.pass(9s);
  EXPECT_EQ(offset("Asia/Tokyo"), "9");
  time_.pass(1s);
  EXPECT_THAT(offset("Asia/Tokyo"), HasSubstr("Asia/Tokyo"));
  put("Asia/Tokyo", "Asia/Tokyo");
  EXPECT_EQ(offset("Asia/Tokyo"), "9");  // looked up each time
  write("Asia/Tokyo", "TZif");
  time_.pass(10s);
  EXPECT_THAT(offset("Asia/Tokyo"), HasSubstr("Asia/Tokyo"));
}

TEST_F(ZoneCacheTest, WithoutItsListItGoesOnWithWhatItKnows) {
  EXPECT_EQ(offset("Asia/Tokyo"), "9");
  fs::remove(directory_.file("tzdata.zi"));
  time_.pass(20s);
  EXPECT_EQ(zones_.version(), "2026a");
  EXPECT_EQ(offset("Asia/Tokyo"), "9");
  EXPECT_EQ(offset("Europe/Zurich"), "1");
}

TEST_F(ZoneCacheTest, ADirectoryWithoutZonesIsLookedAtAgain) {
  const store::TemporaryDirectory other;
  ZoneCache none(other.file("zoneinfo"), time_);
  EXPECT_EQ(none.version(), "");
  EXPECT_FALSE(none.find("Asia/Tokyo"));
  fs::copy(directory_.path(), other.file("zoneinfo"), fs::copy_options::recursive);
  EXPECT_TRUE(none.find("Asia/Tokyo"));
  EXPECT_EQ(none.version(), "2026a");
}

TEST(UtcAlone, KnowsNoZone) {
  EXPECT_FALSE(utc_alone().find("Europe/Zurich"));
  EXPECT_EQ(utc_alone().version(), "");
}

}  // namespace
}  // namespace millrace::engine
