#include "cli/job/outcome.h"

#include <gtest/gtest.h>

#include <csignal>

#include "millrace/json.h"

namespace millrace::cli {
namespace {

using sdk::StopReason;

std::string json_of(std::string_view output) { return result_of(output, false).json; }

TEST(ResultOf, KeepsJsonAsItIs) {
  EXPECT_EQ(json_of("{ \"a\" : 1.0 }\n"), "{ \"a\" : 1.0 }");
  EXPECT_EQ(json_of("42\n"), "42");
  EXPECT_EQ(json_of("null\n"), "null");
}

TEST(ResultOf, MakesAStringOfEverythingElse) {
  EXPECT_EQ(json_of("Hello, Ada\n"), R"("Hello, Ada")");
  EXPECT_EQ(json_of("1\n2\n"), R"("1\n2")");
  EXPECT_EQ(json_of("  indented"), R"("  indented")");
  EXPECT_EQ(json_of(""), "");
  EXPECT_EQ(json_of("\n"), "");
}

TEST(ResultOf, DoesNotTakeTheStartOfJsonForJson) {
  EXPECT_EQ(result_of("12345", true).json, R"("12345")");  // it was 123456789, who knows
}

TEST(ResultOf, HoldsAsMuchAsTheServerTakesAndNoMore) {
  const auto whole = result_of(std::string(kMaxResultBytes - 2, 'x') + "\n", false);
  EXPECT_EQ(whole.json.size(), kMaxResultBytes);
  EXPECT_FALSE(whole.is_cut);

  const auto plain = result_of(std::string(kMaxOutputBytes, 'x'), true);
  EXPECT_EQ(plain.json.size(), kMaxResultBytes);
  EXPECT_TRUE(plain.is_cut);
  EXPECT_EQ(plain.bytes, kMaxResultBytes - 2);

  // One byte too many, in an output that was read completely.
  const auto longer = result_of(std::string(kMaxResultBytes - 1, 'x'), false);
  EXPECT_EQ(longer.json.size(), kMaxResultBytes);
  EXPECT_TRUE(longer.is_cut);
}

TEST(ResultOf, CountsWhatEscapesTake) {
  const auto result = result_of(std::string(kMaxResultBytes / 2, '\x01'), false);
  EXPECT_TRUE(result.is_cut);
  EXPECT_EQ(result.bytes, (kMaxResultBytes - 2) / 6);
  EXPECT_GT(result.json.size(), kMaxResultBytes - 6);
  EXPECT_LE(result.json.size(), kMaxResultBytes);
  EXPECT_TRUE(sdk::is_json(result.json));
}

TEST(ResultOf, CutsBetweenCharacters) {
  std::string output = "x";  // so that a character of three bytes lies across the bound
  while (output.size() < kMaxOutputBytes) output += "\xe2\x82\xac";
  const auto result = result_of(std::string_view(output).substr(0, kMaxOutputBytes), true);
  EXPECT_TRUE(result.json.ends_with("\xe2\x82\xac\""));
  EXPECT_EQ(result.json.find("\xef\xbf\xbd"), std::string::npos);
}

TEST(ResultOf, JsonOfTheBoundStaysJson) {
  const std::string fits = "[" + std::string(kMaxResultBytes - 3, ' ') + "1]";
  EXPECT_EQ(json_of(fits + "\n"), fits);
  const auto too_long = result_of(fits.substr(0, 1) + " " + fits.substr(1), false);
  EXPECT_TRUE(too_long.is_cut);
  EXPECT_TRUE(too_long.json.starts_with('"'));
}

CommandEnd exited(int status) {
  CommandEnd end;
  end.exit_status = status;
  end.error_tail = "what went wrong";
  return end;
}

CommandEnd killed(int signal) {
  CommandEnd end;
  end.signal = signal;
  return end;
}

TEST(OutcomeOf, FollowsTheExitStatus) {
  const auto success = outcome_of(exited(0), R"("out")", StopReason::kNone);
  EXPECT_EQ(success.outcome, "succeeded");
  EXPECT_EQ(success.result, R"("out")");

  const auto hopeless = outcome_of(exited(65), "", StopReason::kNone);
  EXPECT_EQ(hopeless.outcome, "failed");
  EXPECT_FALSE(hopeless.retryable);

  for (const int status : {75, 1, 127, 255}) {
    const auto failure = outcome_of(exited(status), "", StopReason::kNone);
    EXPECT_EQ(failure.outcome, "failed");
    EXPECT_TRUE(failure.retryable);
    EXPECT_EQ(failure.error->message,
              "exit status " + std::to_string(status) + ": what went wrong");
  }
}

TEST(OutcomeOf, NamesTheSignal) {
  const auto failure = outcome_of(killed(SIGSEGV), "", StopReason::kNone);
  EXPECT_EQ(failure.outcome, "failed");
  EXPECT_EQ(failure.error->type, "signal");
  EXPECT_NE(failure.error->message.find("signal 11"), std::string::npos);
}

TEST(OutcomeOf, OfAStoppedCommandSaysWhyItWasStopped) {
  EXPECT_EQ(outcome_of(killed(SIGTERM), "", StopReason::kCancelled).outcome, "cancelled");
  EXPECT_EQ(outcome_of(exited(143), "", StopReason::kCancelled).outcome, "cancelled");
  EXPECT_EQ(outcome_of(killed(SIGKILL), "", StopReason::kStopping).outcome, "released");
  // It ended well before the signal could matter.
  EXPECT_EQ(outcome_of(exited(0), "", StopReason::kCancelled).outcome, "succeeded");
}

}  // namespace
}  // namespace millrace::cli
