#include "cli/error/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace millrace::cli {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string group(std::string_view status, int waiting, int dead, std::string_view canary) {
  const std::string state =
      canary.empty() ? "null" : R"({"job":"j","state":")" + std::string(canary) + R"("})";
  return R"({"id":"5bd1","error_type":"KeyError","message":"<text>","status":")" +
         std::string(status) + R"(","waiting":)" + std::to_string(waiting) + R"(,"dead":)" +
         std::to_string(dead) + R"(,"canary":)" + state + "}";
}

std::string details(const std::string& json) { return error_details(sdk::JsonView(json), nullptr); }

TEST(ErrorView, NamesTheNextStep) {
  EXPECT_THAT(details(group("open", 1, 1, "")), HasSubstr("canary: millrace error retry 5bd1\n"));
  EXPECT_THAT(details(group("open", 1, 0, "running")), HasSubstr("millrace error get 5bd1"));
  EXPECT_THAT(details(group("open", 2, 2, "succeeded")), HasSubstr("retry 5bd1 --all"));
  EXPECT_THAT(details(group("open", 0, 0, "succeeded")), HasSubstr("millrace error resolve 5bd1"));
  EXPECT_THAT(details(group("resolved", 0, 0, "")), Not(HasSubstr("next:")));
}

TEST(ErrorView, CountsInPlainWords) {
  EXPECT_THAT(details(group("open", 1, 1, "")), HasSubstr("1 job, 1 dead\n"));
  EXPECT_THAT(details(group("open", 3, 1, "")), HasSubstr("3 jobs, 1 dead\n"));
  EXPECT_THAT(details(group("open", 0, 0, "")), HasSubstr("no job\n"));
}

TEST(ErrorView, ShowsAnExampleWithItsStack) {
  const std::string json = group("open", 1, 1, "");
  const sdk::JobError error{
      .type = "KeyError", .message = "'customer_name'", .stack = "Traceback:\n  line 1"};
  const std::string text = error_details(sdk::JsonView(json), &error);
  EXPECT_THAT(text, HasSubstr("'customer_name'\n"));
  EXPECT_THAT(text, testing::EndsWith("\nStack:\nTraceback:\n  line 1\n"));
  EXPECT_THAT(error_table({sdk::JsonView(json)}, {}, 200), HasSubstr("<text>"));
  EXPECT_THAT(error_table({sdk::JsonView(json)}, {{"5bd1", error.message}}, 200),
              HasSubstr("'customer_name'"));
}

TEST(ErrorView, KnowsAMessageThatSaysNothing) {
  EXPECT_TRUE(is_masked("<text>"));
  EXPECT_TRUE(is_masked("#: <text>, #"));
  EXPECT_FALSE(is_masked("no answer from <text> in #"));
}

}  // namespace
}  // namespace millrace::cli
