#include "cli/job_outcome.h"

#include <gtest/gtest.h>

#include <csignal>

#include "millrace/json.h"

namespace millrace::cli {
namespace {

using sdk::StopReason;

TEST(ResultJson, KeepsJsonAsItIs) {
  EXPECT_EQ(result_json("{ \"a\" : 1.0 }\n", false), "{ \"a\" : 1.0 }");
  EXPECT_EQ(result_json("42\n", false), "42");
  EXPECT_EQ(result_json("null\n", false), "null");
}

TEST(ResultJson, MakesAStringOfEverythingElse) {
  EXPECT_EQ(result_json("Hello, Ada\n", false), R"("Hello, Ada")");
  EXPECT_EQ(result_json("1\n2\n", false), R"("1\n2")");
  EXPECT_EQ(result_json("  indented", false), R"("  indented")");
  EXPECT_EQ(result_json("", false), "");
  EXPECT_EQ(result_json("\n", false), "");
}

TEST(ResultJson, DoesNotTakeTheStartOfJsonForJson) {
  EXPECT_EQ(result_json("12345", true), R"("12345")");  // it was 123456789, who knows
}

TEST(ResultJson, StaysWithinTheServersBound) {
  const std::string result = result_json(std::string(1 << 20, '\x01'), true);
  EXPECT_LE(result.size(), std::size_t{1} << 20);
  EXPECT_TRUE(sdk::is_json(result));
}

CommandEnd exited(int status) {
  CommandEnd end;
  end.exit_status = status;
  end.output = "out\n";
  end.error_tail = "what went wrong";
  return end;
}

CommandEnd killed(int signal) {
  CommandEnd end;
  end.signal = signal;
  return end;
}

TEST(OutcomeOf, FollowsTheExitStatus) {
  const auto success = outcome_of(exited(0), StopReason::kNone);
  EXPECT_EQ(success.outcome, "succeeded");
  EXPECT_EQ(success.result, R"("out")");

  const auto hopeless = outcome_of(exited(65), StopReason::kNone);
  EXPECT_EQ(hopeless.outcome, "failed");
  EXPECT_FALSE(hopeless.retryable);

  for (const int status : {75, 1, 127, 255}) {
    const auto failure = outcome_of(exited(status), StopReason::kNone);
    EXPECT_EQ(failure.outcome, "failed");
    EXPECT_TRUE(failure.retryable);
    EXPECT_EQ(failure.error->message,
              "exit status " + std::to_string(status) + ": what went wrong");
  }
}

TEST(OutcomeOf, NamesTheSignal) {
  const auto failure = outcome_of(killed(SIGSEGV), StopReason::kNone);
  EXPECT_EQ(failure.outcome, "failed");
  EXPECT_EQ(failure.error->type, "signal");
  EXPECT_NE(failure.error->message.find("signal 11"), std::string::npos);
}

TEST(OutcomeOf, OfAStoppedCommandSaysWhyItWasStopped) {
  EXPECT_EQ(outcome_of(killed(SIGTERM), StopReason::kCancelled).outcome, "cancelled");
  EXPECT_EQ(outcome_of(exited(143), StopReason::kCancelled).outcome, "cancelled");
  EXPECT_EQ(outcome_of(killed(SIGKILL), StopReason::kAborted).outcome, "released");
  // It ended well before the signal could matter.
  EXPECT_EQ(outcome_of(exited(0), StopReason::kCancelled).outcome, "succeeded");
}

}  // namespace
}  // namespace millrace::cli
