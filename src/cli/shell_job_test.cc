#include "cli/shell_job.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "cli/process.h"

namespace millrace::cli {
namespace {

using testing::HasSubstr;

std::string refusal(std::string_view payload) {
  const auto job = parse_shell_payload(payload);
  EXPECT_FALSE(job) << payload;
  return job ? "" : job.error().message;
}

TEST(ShellPayload, HasOnlyWhatDiffers) {
  EXPECT_EQ(shell_payload({.command = "a \"b\""}), R"({"command":"a \"b\""})");
  const ShellJob whole{
      .command = "a", .shell = "/bin/bash", .input = "x\n", .environment = {{"A", "b"}, {"C", ""}}};
  const std::string payload = shell_payload(whole);
  EXPECT_EQ(payload,
            R"({"command":"a","shell":"/bin/bash","input":"x\n","environment":{"A":"b","C":""}})");
  EXPECT_EQ(*parse_shell_payload(payload), whole);
}

TEST(ShellPayload, SaysWhatItLacks) {
  for (const char* payload : {"null", "\"ls\"", "[\"ls\"]", "no json", ""}) {
    EXPECT_THAT(refusal(payload), HasSubstr(R"(needs a payload such as {"command": "..."})"))
        << payload;
  }
  EXPECT_THAT(refusal("{}"), HasSubstr("command is missing"));
  EXPECT_THAT(refusal(R"({"command":""})"), HasSubstr("command must be a string"));
  EXPECT_THAT(refusal(R"({"command":["ls"]})"), HasSubstr("command must be a string"));
  EXPECT_THAT(refusal(R"({"command":"a\u0000b"})"), HasSubstr("command must be a string"));
  EXPECT_THAT(refusal(R"({"command":"a","shell":1})"), HasSubstr("shell must be a string"));
  EXPECT_THAT(refusal(R"({"command":"a","input":1})"), HasSubstr("input must be a string"));
  EXPECT_THAT(refusal(R"({"command":"a","user":"root"})"), HasSubstr("unknown member"));
  EXPECT_THAT(refusal(R"({"command":"a","environment":[]})"), HasSubstr("an object"));
  for (const char* variables :
       {R"({"A":1})", R"({"A=B":"x"})", R"({"":"x"})", R"({"A":"\u0000"})"}) {
    EXPECT_THAT(refusal(fmt::format(R"({{"command":"a","environment":{}}})", variables)),
                HasSubstr("must map names to strings"));
  }
}

TEST(ShellPayload, HasALimitOfVariables) {
  ShellJob job{.command = "a"};
  for (std::size_t i = 0; i < kMaxShellVariables; ++i) {
    job.environment.emplace_back(fmt::format("V{}", i), "x");
  }
  EXPECT_EQ(*parse_shell_payload(shell_payload(job)), job);
  job.environment.emplace_back("ONE_MORE", "x");
  EXPECT_THAT(refusal(shell_payload(job)), HasSubstr("more than 100 variables"));
}

std::string output_of(const ShellJob& job, std::vector<std::pair<std::string, std::string>> more) {
  Command command{.words = shell_words(job),
                  .environment = job.environment,
                  .input = job.input,
                  .max_output = 10'000,
                  .on_error_line = [](std::string_view) {}};
  command.environment.insert(command.environment.end(), more.begin(), more.end());
  const auto end = run_command(command, {});
  EXPECT_TRUE(end);
  return end ? fmt::format("{}{}", end->output, end->exit_status) : "";
}

TEST(ShellWords, RunTheCommandByItsShell) {
  EXPECT_EQ(output_of({.command = "echo \"$A $0\" 'b  c'; cat; exit 3",
                       .input = "in\n",
                       .environment = {{"A", "$x"}}},
                      {}),
            "$x /bin/sh b  c\nin\n3");
  EXPECT_EQ(output_of({.command = "echo $BASH_VERSION | grep -c .", .shell = "/bin/bash"}, {}),
            "1\n0");
}

TEST(ShellWords, RunItInTheHomeFolder) {
  EXPECT_EQ(output_of({.command = "pwd"}, {{"HOME", "/usr"}}), "/usr\n0");
  // Without a home folder, the folder does not change.
  EXPECT_EQ(output_of({.command = "echo here"}, {{"HOME", "/does/not/exist"}}), "here\n0");
}

}  // namespace
}  // namespace millrace::cli
