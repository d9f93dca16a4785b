#include "cli/schedule/document.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "millrace/json.h"

namespace millrace::cli {
namespace {

using testing::HasSubstr;

Document json(std::string_view content) {
  auto document = read_document(content, FileFormat::kJson);
  EXPECT_TRUE(document);
  return document ? std::move(*document) : Document{};
}

Document toml(std::string_view content) {
  auto document = read_document(content, FileFormat::kToml);
  EXPECT_TRUE(document) << document.error().front().message;
  return document ? std::move(*document) : Document{};
}

// "LINE: message" of the first fault.
std::string fault(std::string_view content, FileFormat format) {
  const auto document = read_document(content, format);
  EXPECT_FALSE(document) << content;
  if (document) return {};
  return std::to_string(document.error().front().line) + ": " + document.error().front().message;
}

TEST(ReadDocument, KnowsTheLinesOfJson) {
  const std::string text = "{\n \"a\": {\"b\":\n  {\"c/d\": 1}},\n \"e\":\n [1,\n{\"f\": 2}] }\n";
  const Document document = json(text);
  EXPECT_EQ(document.json, text);
  EXPECT_EQ(document.lines.of("/a"), 2U);
  EXPECT_EQ(document.lines.of("/a/b"), 3U);
  EXPECT_EQ(document.lines.of("/a/b/c~1d"), 3U);
  EXPECT_EQ(document.lines.of("/e"), 5U);
  EXPECT_EQ(document.lines.of("/e/1/f"), 6U);
  // A missing member has the line of its parent.
  EXPECT_EQ(document.lines.of("/e/1/g/h"), 6U);
  EXPECT_EQ(document.lines.of("/x"), 0U);
}

TEST(ReadDocument, ADeeperMemberHasTheLineOfTheFourth) {
  const Document document = json("{\"a\":{\"b\":{\"c\":{\"d\":\n{\"e\":\n1}}}}}");
  EXPECT_EQ(document.lines.of("/a/b/c/d"), 2U);
  EXPECT_EQ(document.lines.of("/a/b/c/d/e"), 2U);
}

TEST(ReadDocument, SaysWhereItIsNoJson) {
  EXPECT_EQ(fault("{\n \"a\": 1,\n}", FileFormat::kJson).substr(0, 11), "3: no JSON:");
  EXPECT_THAT(fault("", FileFormat::kJson), HasSubstr("there is no value"));
  EXPECT_EQ(fault("12", FileFormat::kJson), "1: an object is expected here");
  const auto nested = [](std::size_t depth) {
    return std::string(depth, '[') + std::string(depth, ']');
  };
  EXPECT_TRUE(read_document(nested(60), FileFormat::kJson));
  EXPECT_THAT(fault(nested(61), FileFormat::kJson), HasSubstr("too deep"));
}

TEST(ReadDocument, MakesJsonOfToml) {
  const Document document = toml(
      "text = \"a\\n\\u20ac\"\nwhole = -9223372036854775808\nyes = true\nhalf = 0.5\n"
      "at = 2027-01-31T00:00:00+01:00\nlist = [1, \"b\", { c = 2 }]\n[t.\"x/y\"]\nz = {}\n");
  EXPECT_EQ(document.json,
            R"({"at":"2027-01-31T00:00:00+01:00","half":0.5,"list":[1,"b",{"c":2}],)"
            R"("t":{"x/y":{"z":{}}},"text":"a\n€","whole":-9223372036854775808,"yes":true})");
  EXPECT_TRUE(sdk::is_json(document.json));
  EXPECT_EQ(document.lines.of("/half"), 4U);
  EXPECT_EQ(document.lines.of("/t/x~1y/z"), 8U);
  EXPECT_EQ(document.lines.of("/t/x~1y/other"), 7U);
}

TEST(ReadDocument, SaysWhereTomlDoesNotFit) {
  EXPECT_EQ(fault("a = 1\nb =", FileFormat::kToml).substr(0, 11), "2: no TOML:");
  EXPECT_EQ(fault("a = 1\nat = 2027-01-31", FileFormat::kToml),
            "2: a time needs a date and an offset, such as 2027-01-31T00:00:00Z");
  EXPECT_THAT(fault("at = 2027-01-31T00:00:00", FileFormat::kToml), HasSubstr("an offset"));
  EXPECT_THAT(fault("at = 09:00:00", FileFormat::kToml), HasSubstr("an offset"));
  EXPECT_THAT(fault("a = inf", FileFormat::kToml), HasSubstr("infinity"));
  EXPECT_THAT(fault("a = [nan]", FileFormat::kToml), HasSubstr("number"));
}

TEST(FormatOf, GoesByTheNameElseByTheContent) {
  EXPECT_EQ(format_of("a.json", "a = 1"), FileFormat::kJson);
  EXPECT_EQ(format_of("a.toml", "{}"), FileFormat::kToml);
  EXPECT_EQ(format_of("-", " \n{}"), FileFormat::kJson);
  EXPECT_EQ(format_of("-", "[a]\nb = 1"), FileFormat::kToml);
  EXPECT_EQ(format_of("-", "a = 1"), FileFormat::kToml);
}

TEST(JoinPointer, Escapes) {
  EXPECT_EQ(join_pointer("", "a"), "/a");
  EXPECT_EQ(join_pointer("/a", "b~/c"), "/a/b~0~1c");
}

class ReadWholeFile : public ::testing::Test {
 protected:
  ~ReadWholeFile() override { std::remove(path_.c_str()); }
  std::string path_ = ::testing::TempDir() + "millrace-document." + std::to_string(getpid());
};

TEST_F(ReadWholeFile, HasALimit) {
  std::ofstream(path_) << "12345678";
  EXPECT_EQ(*read_whole_file(path_, 8), "12345678");
  const auto refused = read_whole_file(path_, 7);
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("more than 7 bytes"));
}

TEST_F(ReadWholeFile, SaysWhyItCannotBeRead) {
  const auto refused = read_whole_file(path_ + ".absent");
  ASSERT_FALSE(refused);
  EXPECT_THAT(refused.error().message, HasSubstr("No such file"));
  EXPECT_FALSE(read_whole_file(::testing::TempDir()));
}

TEST(PrintFaults, ShowsAFew) {
  FileFaults faults{{3, "a"}, {0, "b"}};
  testing::internal::CaptureStderr();
  print_faults("x.toml", faults);
  EXPECT_EQ(testing::internal::GetCapturedStderr(), "millrace: x.toml:3: a\nmillrace: x.toml: b\n");
  faults.resize(20);
  testing::internal::CaptureStderr();
  print_faults("-", faults);
  std::string shown = testing::internal::GetCapturedStderr();
  EXPECT_EQ(std::count(shown.begin(), shown.end(), '\n'), 20);
  EXPECT_THAT(shown, HasSubstr("standard input:3: a"));
  faults.resize(21);
  testing::internal::CaptureStderr();
  print_faults("-", faults);
  EXPECT_THAT(testing::internal::GetCapturedStderr(), HasSubstr("... and 1 faults more"));
}

}  // namespace
}  // namespace millrace::cli
