#include "calendar/tzif.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include "calendar/zone_files.h"

namespace millrace::calendar {
namespace {

using testing::HasSubstr;

std::string big_endian(std::int64_t value, int bytes) {
  std::string text;
  for (int shift = (bytes - 1) * 8; shift >= 0; shift -= 8) {
    text.push_back(static_cast<char>(value >> shift & 0xff));
  }
  return text;
}

// The parts of a file, correct by default; each test spoils one.
struct File {
  char version = '2';
  std::vector<std::int64_t> times{0, 1'000'000};
  std::string types{"\1\0", 2};
  std::vector<std::int32_t> offsets{3600, 7200};
  std::int64_t leap_seconds = 0;
  std::int64_t ut_indicators = 0;
  std::int64_t abbreviations = 4;
  std::string footer = "\nCET-1\n";

  std::string header() const {
    return "TZif" + std::string(1, version) + std::string(15, '\0') + big_endian(ut_indicators, 4) +
           big_endian(0, 4) + big_endian(leap_seconds, 4) +
           big_endian(static_cast<std::int64_t>(times.size()), 4) +
           big_endian(static_cast<std::int64_t>(offsets.size()), 4) + big_endian(abbreviations, 4);
  }
  std::string block(int time_size) const {
    std::string text;
    for (const std::int64_t time : times) text += big_endian(time, time_size);
    text += types;
    for (const std::int32_t offset : offsets) text += big_endian(offset, 4) + std::string(2, '\0');
    text += std::string("CET\0", 4);
    for (std::int64_t i = 0; i < leap_seconds; ++i) text += big_endian(i, time_size + 4);
    return text + std::string(static_cast<std::size_t>(ut_indicators), '\0');
  }
  std::string bytes() const {
    const std::string first = header() + block(4);
    return version == '\0' ? first : first + header() + block(8) + footer;
  }
};

std::string error_of(const std::string& bytes) {
  const auto zone = read_tzif(bytes);
  return zone ? "" : zone.error().message;
}

TEST(Tzif, ReadsEachVersion) {
  for (const char version : {'\0', '2', '3', '4'}) {
    File file;
    file.version = version;
    const auto zone = read_tzif(file.bytes());
    ASSERT_TRUE(zone) << zone.error().message;
    EXPECT_EQ(zone->span_at(-1).offset, 3600);
    EXPECT_EQ(zone->span_at(0).offset, 7200);
    EXPECT_EQ(zone->span_at(0).end, 1'000'000);
    EXPECT_EQ(zone->span_at(1'000'000).offset, 3600);
    EXPECT_EQ(zone->span_at(kMaxSecond).offset, 3600);
  }
}

TEST(Tzif, PrefersTheTimesOf64Bits) {
  File file;
  file.times = {-9'000'000'000, 9'000'000'000};
  const auto zone = read_tzif(file.bytes());
  ASSERT_TRUE(zone) << zone.error().message;
  EXPECT_EQ(zone->span_at(-9'000'000'001).offset, 3600);
  EXPECT_EQ(zone->span_at(0).begin, -9'000'000'000);
  EXPECT_EQ(zone->span_at(0).end, 9'000'000'000);
}

TEST(Tzif, TakesTransitionsBeforeTheFirstYear) {
  File file;
  file.times = {-(std::int64_t{1} << 59), 0};
  file.version = '3';
  const auto zone = read_tzif(file.bytes());
  ASSERT_TRUE(zone) << zone.error().message;
  EXPECT_EQ(zone->span_at(-1).offset, 7200);
  EXPECT_EQ(zone->span_at(-1).before, 7200);
}

TEST(Tzif, GoesOnWithTheLastOffsetWithoutARule) {
  File file;
  file.types = std::string("\0\1", 2);
  file.footer = "\n\n";
  const auto zone = read_tzif(file.bytes());
  ASSERT_TRUE(zone) << zone.error().message;
  EXPECT_EQ(zone->span_at(kMaxSecond).offset, 7200);
}

TEST(Tzif, HasADigestOfItsBytes) {
  File file;
  const auto one = read_tzif(file.bytes());
  const auto same = read_tzif(file.bytes());
  file.times[0] = 1;
  const auto other = read_tzif(file.bytes());
  EXPECT_EQ(one->digest(), same->digest());
  EXPECT_NE(one->digest(), other->digest());
  EXPECT_NE(one->digest(), Zone().digest());
}

std::string with(void (*spoil)(File&)) {
  File file;
  spoil(file);
  return error_of(file.bytes());
}

TEST(Tzif, RefusesWhatIsDamaged) {
  EXPECT_THAT(error_of(""), HasSubstr("not a TZif file"));
  EXPECT_THAT(error_of("TZif2"), HasSubstr("not a TZif file"));
  EXPECT_THAT(with([](File& f) { f.version = '5'; }), HasSubstr("not a TZif file"));
  EXPECT_THAT(with([](File& f) { f.version = '1'; }), HasSubstr("not a TZif file"));
  EXPECT_THAT(with([](File& f) { f.offsets.clear(); }), HasSubstr("not a TZif file"));
  EXPECT_THAT(with([](File& f) { f.offsets.assign(257, 0); }), HasSubstr("not a TZif file"));
  EXPECT_THAT(with([](File& f) { f.abbreviations = 0; }), HasSubstr("not a TZif file"));
  EXPECT_THAT(with([](File& f) { f.ut_indicators = 1; }), HasSubstr("not a TZif file"));
  EXPECT_EQ(with([](File& f) { f.ut_indicators = 2; }), "");
  EXPECT_THAT(with([](File& f) { f.leap_seconds = 1; }), HasSubstr("leap seconds"));
  EXPECT_THAT(with([](File& f) { f.types[0] = 2; }), HasSubstr("local time type"));
  EXPECT_THAT(with([](File& f) { f.types[0] = '\xff'; }), HasSubstr("local time type"));
  EXPECT_THAT(with([](File& f) { f.times = {5, 5}; }), HasSubstr("not in ascending order"));
  EXPECT_THAT(with([](File& f) { f.times = {5, 4}; }), HasSubstr("not in ascending order"));
  EXPECT_THAT(with([](File& f) { f.offsets[1] = 26 * 3600; }), HasSubstr("offset of 93600"));
  EXPECT_THAT(with([](File& f) { f.offsets[1] = -25 * 3600; }), HasSubstr("offset of -90000"));
  EXPECT_THAT(with([](File& f) { f.footer = ""; }), HasSubstr("no footer"));
  EXPECT_THAT(with([](File& f) { f.footer = "\n"; }), HasSubstr("no footer"));
  EXPECT_THAT(with([](File& f) { f.footer = "CET-1\n"; }), HasSubstr("no footer"));
  EXPECT_THAT(with([](File& f) { f.footer = "\nCET\n"; }), HasSubstr("not a POSIX time zone rule"));
  EXPECT_THAT(with([](File& f) { f.footer = "\nEET-2\n"; }), HasSubstr("contradicts"));
  EXPECT_THAT(error_of(File().bytes() + std::string(kMaxTzifBytes, ' ')), HasSubstr("too large"));
}

TEST(Tzif, RefusesAFileThatIsCutOffAnywhere) {
  const std::string bytes = File().bytes();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_NE(error_of(bytes.substr(0, size)), "") << size;
  }
  // The second header may not be of another version.
  std::string other = bytes;
  other[bytes.rfind("TZif") + 4] = '3';
  EXPECT_THAT(error_of(other), HasSubstr("second header"));
}

TEST(Tzif, ReadsEveryListedFileButThoseWithLeapSeconds) {
  const auto files = ZoneFiles::open(std::string(kDefaultZoneDirectory));
  ASSERT_TRUE(files) << files.error().message;
  std::size_t read = 0;
  for (const std::string& name : files->names()) {
    std::ifstream file(std::string(kDefaultZoneDirectory) + "/" + name, std::ios::binary);
    if (!file) continue;
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    EXPECT_EQ(error_of(bytes), "") << name;
    ++read;
  }
  EXPECT_GT(read, 300);
  std::ifstream right(std::string(kDefaultZoneDirectory) + "/right/Europe/Zurich");
  if (!right) GTEST_SKIP() << "this tzdata has no right/";
  EXPECT_THAT(error_of({std::istreambuf_iterator<char>(right), {}}), HasSubstr("leap seconds"));
}

}  // namespace
}  // namespace millrace::calendar
