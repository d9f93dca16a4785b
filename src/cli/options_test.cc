#include "cli/options.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/commands.h"

namespace millrace::cli {
namespace {

using sdk::Milliseconds;

TEST(ParseRetry, ReadsEveryStrategy) {
  const auto plain = parse_retry("exponential");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->strategy, "exponential");
  EXPECT_FALSE(plain->base);
  const auto bounded = parse_retry("exponential:5s:5m");
  ASSERT_TRUE(bounded);
  EXPECT_EQ(bounded->base, Milliseconds{5'000});
  EXPECT_EQ(bounded->max, Milliseconds{300'000});
  const auto fixed = parse_retry("fixed:300ms");
  ASSERT_TRUE(fixed);
  EXPECT_EQ(fixed->base, Milliseconds{300});
  const auto list = parse_retry("list:1s,10s,1m");
  ASSERT_TRUE(list);
  EXPECT_EQ(list->delays,
            (std::vector{Milliseconds{1'000}, Milliseconds{10'000}, Milliseconds{60'000}}));
}

TEST(ParseRetry, RefusesOthers) {
  for (const char* text : {"", "sometimes", "fixed:soon", "exponential:1s:2s:3s", "list",
                           "list:", "list:1s,,2s", "fixed:"}) {
    EXPECT_FALSE(parse_retry(text)) << text;
  }
}

TEST(ParseAssignment, SplitsAtTheFirstEqualsSign) {
  EXPECT_EQ(*parse_assignment("a=b=c"), (std::pair<std::string, std::string>{"a", "b=c"}));
  EXPECT_EQ(*parse_assignment("a="), (std::pair<std::string, std::string>{"a", ""}));
  EXPECT_FALSE(parse_assignment("a"));
  EXPECT_FALSE(parse_assignment("=b"));
}

class OptionsTest : public ::testing::Test {
 protected:
  OptionsTest() {
    app_.fallthrough();
    app_.add_option("--url", url_);
    CLI::App& command = *app_.add_subcommand("run");
    add_duration(command, "-d,--delay", delay_, "");
    add_time(command, "--at", time_, "");
  }
  // The message of a usage error; empty if there is none.
  std::string parse(std::vector<std::string> arguments) {
    std::reverse(arguments.begin(), arguments.end());
    try {
      app_.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    return {};
  }

  CLI::App app_;
  std::string url_;
  std::optional<Milliseconds> delay_;
  std::optional<sdk::Timestamp> time_;
};

TEST_F(OptionsTest, ReadDurationsAndTimes) {
  EXPECT_EQ(parse({"run", "-d", "2h30m", "--at", "1970-01-01T00:00:01Z"}), "");
  EXPECT_EQ(delay_, Milliseconds{9'000'000});
  EXPECT_EQ(time_, sdk::Timestamp{std::chrono::seconds{1}});
}

TEST_F(OptionsTest, NameTheOptionThatIsWrong) {
  EXPECT_EQ(parse({"run", "-d", "5"}),
            "--delay: \"5\" is not a duration such as 250ms, 10s or 2h30m");
  EXPECT_EQ(parse({"run", "--at", "tomorrow"}),
            "--at: \"tomorrow\" is not a time such as 2026-03-01T09:30:00Z, or +2h from now");
  EXPECT_EQ(parse({"run", "--at", "+2h"}), "");
}

TEST(CheckPayload, SaysWhereWhatBeginsAsJsonIsWrong) {
  EXPECT_TRUE(check_payload(R"({"to": 1})"));
  EXPECT_THAT(check_payload("{to: 1}").error().message, testing::EndsWith("quotes, at byte 1"));
  EXPECT_THAT(check_payload(R"({"to": "a")").error().message, testing::EndsWith("at byte 10"));
  EXPECT_THAT(check_payload("ada").error().message, testing::EndsWith("'\"text\"'"));
}

TEST(ParseLimit, TakesAKey) {
  EXPECT_EQ(parse_limit("a").key, "");
  EXPECT_EQ(parse_limit("a=b=c").name, "a");
  EXPECT_EQ(parse_limit("a=b=c").key, "b=c");
}

TEST_F(OptionsTest, OfTheWholeMayFollowTheCommand) {
  EXPECT_EQ(parse({"run", "-d", "1s", "--url", "http://x"}), "");
  EXPECT_EQ(url_, "http://x");
}

}  // namespace
}  // namespace millrace::cli
