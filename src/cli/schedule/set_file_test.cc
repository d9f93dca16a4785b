#include "cli/schedule/set_file.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Pair;

SetFile read(std::string_view content, FileFormat format = FileFormat::kToml) {
  auto file = read_set_file(content, format);
  EXPECT_TRUE(file) << file.error().front().message;
  return file ? std::move(*file) : SetFile{};
}

std::vector<std::string> faults(std::string_view content, FileFormat format = FileFormat::kToml) {
  const auto file = read_set_file(content, format);
  EXPECT_FALSE(file) << content;
  std::vector<std::string> texts;
  if (file) return texts;
  for (const FileFault& fault : file.error()) {
    texts.push_back(fmt::format("{}: {}", fault.line, fault.message));
  }
  return texts;
}

TEST(ReadSetFile, ReadsToml) {
  const SetFile file = read(
      "managed_by = \"deploy\"\nprune = true\n"
      "[schedules.nightly]\ncron = \"0 3 * * *\"\njob = { type = \"t\", payload = [1] }\n"
      "[schedules.\"mail.digest\"]\nevery_ms = 60000\nstart_at = 2027-01-31T00:00:00Z\n"
      "[schedules.\"mail.digest\".job]\ntype = \"d\"\n");
  EXPECT_EQ(file.set.managed_by, "deploy");
  EXPECT_TRUE(file.set.prune);
  EXPECT_FALSE(file.set.dry_run);
  EXPECT_FALSE(file.set.force);
  EXPECT_THAT(file.set.schedules,
              ElementsAre(Pair("mail.digest", R"({"every_ms":60000,"job":{"type":"d"},)"
                                              R"("start_at":"2027-01-31T00:00:00Z"})"),
                          Pair("nightly", R"({"cron":"0 3 * * *","job":{"payload":[1],)"
                                          R"("type":"t"}})")));
  EXPECT_EQ(file.lines.of("/schedules/nightly/cron"), 4U);
  EXPECT_EQ(file.lines.of("/schedules/mail.digest/job/type"), 10U);
}

TEST(ReadSetFile, ReadsJsonByteForByte) {
  const SetFile file = read(R"({"managed_by":"me","dry_run":true,"force":true,)"
                            R"("schedules":{"a/b":{ "cron" : "@daily" }}})",
                            FileFormat::kJson);
  EXPECT_TRUE(file.set.dry_run);
  EXPECT_TRUE(file.set.force);
  EXPECT_FALSE(file.set.prune);
  EXPECT_THAT(file.set.schedules, ElementsAre(Pair("a/b", R"({ "cron" : "@daily" })")));
}

TEST(ReadSetFile, TheOwnerMayComeFromElsewhere) {
  EXPECT_EQ(read("[schedules]").set.managed_by, "");
  EXPECT_THAT(read("[schedules]").set.schedules, IsEmpty());
}

TEST(ReadSetFile, TellsAllFaultsWithTheirLines) {
  EXPECT_THAT(faults("managed_by = 1\nprune = \"yes\"\n[schedules]\na = 1\n\"b c\" = {}\n"),
              ElementsAre("1: managed_by must be a string", "2: prune must be true or false",
                          HasSubstr("4: a must be a table"),
                          HasSubstr("5: a schedule's name must be 1 to 128 characters")));
  EXPECT_THAT(faults(""), ElementsAre(HasSubstr("0: schedules is missing; what may: managed_by")));
  EXPECT_THAT(faults("schedules = []"), ElementsAre("1: schedules must be a table of names"));
  EXPECT_THAT(faults("[]", FileFormat::kJson), ElementsAre(HasSubstr("not a list")));
  EXPECT_THAT(faults(R"({"schedules":{},"prune":true,"prune":true})", FileFormat::kJson),
              ElementsAre("1: prune is twice"));
  EXPECT_THAT(faults("{\"schedules\":{\"a\":{},\n\"a\":{}}}", FileFormat::kJson),
              ElementsAre("1: a is twice"));
}

TEST(ReadSetFile, GuessesWhatWasMeant) {
  EXPECT_THAT(faults("[schedules.mail.digest]\ncron = \"@daily\"\n"),
              ElementsAre(HasSubstr("[schedules.\"mail.other\"]")));
  EXPECT_THAT(faults("[schedules]\n[nightly]\ncron = \"@daily\"\n"),
              ElementsAre(HasSubstr("'nightly' can't stand here; what may: managed_by, schedules, "
                                    "prune, dry_run, force; a schedule stands below schedules")));
  // A job alone is an incomplete specification: the server reports what is missing.
  EXPECT_EQ(read("[schedules.mail.job]\ntype = \"t\"\n").set.schedules.size(), 1U);
}

TEST(ReadSetFile, NamesAndSetsHaveLimits) {
  const auto of_name = [](std::size_t size) {
    return fmt::format(R"({{"schedules":{{"{}":{{}}}}}})", std::string(size, 'a'));
  };
  EXPECT_EQ(read(of_name(128), FileFormat::kJson).set.schedules.size(), 1U);
  EXPECT_EQ(faults(of_name(129), FileFormat::kJson).size(), 1U);

  const auto of_schedules = [](std::size_t count) {
    std::string members;
    for (std::size_t i = 0; i < count; ++i) {
      members += fmt::format(R"({}"s{}":{{"cron":"@daily"}})", i > 0 ? "," : "", i);
    }
    return fmt::format(R"({{"schedules":{{{}}}}})", members);
  };
  EXPECT_EQ(read(of_schedules(10'000), FileFormat::kJson).set.schedules.size(), 10'000U);
  EXPECT_THAT(faults(of_schedules(10'001), FileFormat::kJson),
              ElementsAre("1: 10001 schedules: a set has at most 10000"));
}

TEST(ReadSpecificationFile, TakesOne) {
  const auto one =
      read_specification_file("cron = \"@daily\"\njob = { type = \"t\" }", FileFormat::kToml);
  ASSERT_TRUE(one);
  EXPECT_EQ(one->json, R"({"cron":"@daily","job":{"type":"t"}})");
  const auto set = read_specification_file("\n[schedules.a]\ncron = \"x\"", FileFormat::kToml);
  ASSERT_FALSE(set);
  EXPECT_EQ(set.error().front().line, 2U);
  EXPECT_THAT(set.error().front().message, HasSubstr("schedule apply"));
  EXPECT_FALSE(read_specification_file("[]", FileFormat::kJson));
}

}  // namespace
}  // namespace millrace::cli
