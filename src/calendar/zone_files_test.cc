#include "calendar/zone_files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <memory>
#include <string>

#include "base/check.h"

namespace millrace::calendar {
namespace {

namespace fs = std::filesystem;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;

// A directory of zones as a package would leave it, with traps.
class ZoneFilesTest : public testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "zone_files_test.XXXXXX").string();
    MILLRACE_CHECK(::mkdtemp(pattern.data()) != nullptr);
    root_ = pattern;
    zones_ = root_ / "zoneinfo";
    fs::create_directories(zones_ / "Europe");
    write("tzdata.zi",
          "# version 2026a\n# comment\nR d 1916 o - Jun 14 23s 1 S\nZ Europe/Zurich 0:34:8 - LMT "
          "1853 Jul 16\n1 E CE%sT\nL Europe/Zurich Europe/Vaduz\nL Europe/Zurich ../outside\n"
          "Z /etc/passwd 0 - X\nZ Europe/Out 0 - X\nZ Europe/Gone 0 - X\nZ Europe/Pipe 0 - X\n"
          "Z Europe/Large 0 - X\nZ Europe/Bad 0 - X\nL Europe/Zurich Europe/.hidden\nZ\n");
    fs::copy_file(fs::path(kDefaultZoneDirectory) / "Europe/Zurich", zones_ / "Europe/Zurich");
    fs::copy_file(fs::path(kDefaultZoneDirectory) / "Europe/Zurich", root_ / "outside");
    fs::create_symlink("Zurich", zones_ / "Europe/Vaduz");
    fs::create_symlink("../../outside", zones_ / "Europe/Out");
    MILLRACE_CHECK(::mkfifo((zones_ / "Europe/Pipe").c_str(), 0600) == 0);
    write("Europe/Large", std::string(100'000, 'x'));
    write("Europe/Bad", "TZif");
    write("Europe/Unlisted", "TZif");
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(zones_ / name, std::ios::binary) << text;
  }
  ZoneFiles open() {
    auto files = ZoneFiles::open(zones_.string());
    MILLRACE_CHECK(files.has_value());
    return *files;
  }
  std::string error_of(std::string_view name) {
    const auto zone = open().load(name);
    return zone ? "" : zone.error().message;
  }

  fs::path root_;
  fs::path zones_;
};

TEST_F(ZoneFilesTest, TakesNamesFromTheList) {
  EXPECT_EQ(open().version(), "2026a");
  EXPECT_THAT(open().names(), ElementsAre("Europe/Bad", "Europe/Gone", "Europe/Large", "Europe/Out",
                                          "Europe/Pipe", "Europe/Vaduz", "Europe/Zurich", "UTC"));
}

TEST_F(ZoneFilesTest, LoadsZonesAndLinksWithinTheDirectory) {
  const auto zurich = open().load("Europe/Zurich");
  ASSERT_TRUE(zurich) << zurich.error().message;
  EXPECT_EQ(zurich->span_at(1'782'864'000).offset, 7200);
  const auto vaduz = open().load("Europe/Vaduz");
  ASSERT_TRUE(vaduz) << vaduz.error().message;
  EXPECT_EQ(vaduz->digest(), zurich->digest());
  EXPECT_EQ(open().load("UTC")->span_at(0).offset, 0);  // without a file
}

TEST_F(ZoneFilesTest, OpensNothingElse) {
  for (const char* name : {"", "/", "..", "../outside", "/etc/passwd", "Europe/Unlisted",
                           "tzdata.zi", "Europe", "Europe/", "./Europe/Zurich", "Europe//Zurich",
                           "Europe/.hidden", "Europe/../Europe/Zurich"}) {
    EXPECT_THAT(error_of(name), HasSubstr("there is no time zone")) << name;
    EXPECT_FALSE(open().stamp(name)) << name;
  }
  EXPECT_THAT(error_of(std::string("Europe/Zurich\0", 14)), HasSubstr("no time zone"));
  EXPECT_THAT(error_of("Europe/Out"), HasSubstr("its file is a link to a place outside"));
  EXPECT_THAT(error_of("Europe/Pipe"), HasSubstr("not a regular file"));
  EXPECT_THAT(error_of("Europe/Large"), HasSubstr("more than 65536 bytes"));
  EXPECT_THAT(error_of("Europe/Bad"), HasSubstr("not a TZif file"));
  EXPECT_THAT(error_of("Europe/Gone"), HasSubstr("tzdata-legacy"));
}

TEST_F(ZoneFilesTest, NoticesAnUpdate) {
  const ZoneFiles files = open();
  const auto stamp = files.stamp("Europe/Zurich");
  ASSERT_TRUE(stamp);
  EXPECT_EQ(*files.stamp("Europe/Vaduz"), *stamp);
  EXPECT_EQ(*files.stamp("Europe/Zurich"), *stamp);
  EXPECT_FALSE(files.list_changed());
  // As a package manager does it: a new file takes the name.
  fs::copy_file(fs::path(kDefaultZoneDirectory) / "Europe/London", zones_ / "new");
  const std::uint64_t before = files.load("Europe/Zurich")->digest();
  fs::rename(zones_ / "new", zones_ / "Europe/Zurich");
  EXPECT_NE(*files.stamp("Europe/Zurich"), *stamp);
  EXPECT_NE(files.load("Europe/Zurich")->digest(), before);
  EXPECT_FALSE(files.list_changed());
  write("new", "# version 2026b\n");
  fs::rename(zones_ / "new", zones_ / "tzdata.zi");
  EXPECT_TRUE(files.list_changed());
  fs::remove(zones_ / "tzdata.zi");
  EXPECT_TRUE(files.list_changed());
  EXPECT_EQ(*files.stamp("UTC"), FileStamp{});
}

TEST_F(ZoneFilesTest, ReadsOtherListsWhereTzdataZiIsMissing) {
  fs::remove(zones_ / "tzdata.zi");
  EXPECT_THAT(ZoneFiles::open(zones_.string()).error().message, HasSubstr("has no list of zones"));
  write("zone1970.tab", "# comment\nCH,DE,LI\t+4723+00832\tEurope/Zurich\tcomments\nCH\t+1\n");
  write("backward", "# comment\nLink\tEurope/Zurich\tEurope/Vaduz # old\n");
  EXPECT_THAT(open().names(), ElementsAre("Europe/Vaduz", "Europe/Zurich", "UTC"));
  EXPECT_EQ(open().version(), "");
  EXPECT_THAT(ZoneFiles::open((root_ / "missing").string()).error().message,
              HasSubstr("No such file or directory"));
}

TEST(ZoneFiles, SuggestsTheNearestName) {
  const auto files = ZoneFiles::open(std::string(kDefaultZoneDirectory));
  ASSERT_TRUE(files) << files.error().message;
  EXPECT_THAT(files->names(), Contains("America/Argentina/Buenos_Aires"));
  const auto meant = [&](std::string_view name) {
    const std::string error = files->load(name).error().message;
    const std::size_t at = error.find("did you mean ");
    return at == std::string::npos ? "" : error.substr(at + 13, error.size() - at - 14);
  };
  EXPECT_EQ(meant("europe/zurich"), "Europe/Zurich");
  EXPECT_EQ(meant("Europe/Zürich"), "Europe/Zurich");
  EXPECT_EQ(meant("Zurich"), "Europe/Zurich");
  EXPECT_EQ(meant("new_york"), "America/New_York");
  EXPECT_EQ(meant("New York"), "America/New_York");
  EXPECT_EQ(meant("America/NewYork"), "America/New_York");
  EXPECT_EQ(meant("US/Tokyo"), "Asia/Tokyo");
  EXPECT_EQ(meant("utc"), "UTC");
  EXPECT_EQ(meant("Europe/Londn"), "Europe/London");
  EXPECT_EQ(meant("no such place at all"), "");
  EXPECT_EQ(meant(""), "");
  EXPECT_EQ(meant(std::string(1000, 'x')), "");
}

}  // namespace
}  // namespace millrace::calendar
