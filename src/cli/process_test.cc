#include "cli/process.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <csignal>
#include <thread>

namespace millrace::cli {
namespace {

using namespace std::chrono_literals;

class ProcessTest : public ::testing::Test {
 protected:
  void SetUp() override { std::signal(SIGPIPE, SIG_IGN); }

  CommandEnd run(std::string script, std::string input = {}) {
    const Command command{.words = {"sh", "-c", std::move(script)},
                          .environment = {{"MILLRACE_JOB_ID", "id-1"}},
                          .input = std::move(input),
                          .max_output = max_output_,
                          .on_error_line =
                              [this](std::string_view line) {
                                lines_.emplace_back(line);
                                if (line == kStopMe) stop_.request_stop();
                              },
                          .open_files = open_files_};
    const auto end = run_command(command, {stop_.get_token(), grace_, [] { return false; }});
    EXPECT_TRUE(end);
    return end.value_or(CommandEnd{});
  }

  static constexpr std::string_view kStopMe = "stop me";  // a script's traps are set
  std::stop_source stop_;
  std::chrono::milliseconds grace_ = 60s;
  std::size_t max_output_ = 1 << 20;
  std::optional<OpenFiles> open_files_;
  std::vector<std::string> lines_;
};

TEST_F(ProcessTest, GivesInputAndEnvironmentAndTakesOutput) {
  const auto end = run("cat; echo \" for $MILLRACE_JOB_ID\"; exit 3", "payload");
  EXPECT_EQ(end.output, "payload for id-1\n");
  EXPECT_EQ(end.exit_status, 3);
  EXPECT_EQ(end.signal, 0);
}

TEST_F(ProcessTest, CutsStandardErrorIntoLines) {
  const auto end = run("printf 'one\\ntw' >&2; sleep 0.05; printf 'o\\n\\nlast' >&2");
  EXPECT_EQ(lines_, (std::vector<std::string>{"one", "two", "", "last"}));
  EXPECT_EQ(end.error_tail, "one\ntwo\n\nlast");
}

TEST_F(ProcessTest, CutsALineThatNeverEnds) {
  run("head -c 100000 /dev/zero | tr '\\0' x >&2");
  EXPECT_GT(lines_.size(), 1u);
  for (const auto& line : lines_) EXPECT_LE(line.size(), 32u << 10);
}

TEST_F(ProcessTest, MovesMoreThanAPipeHoldsBothWays) {
  const std::string input(3 << 20, 'a');
  max_output_ = 4 << 20;
  EXPECT_EQ(run("cat", input).output, input);
}

TEST_F(ProcessTest, BoundsTheOutputWithoutBlockingTheCommand) {
  max_output_ = 10;
  const auto end = run("head -c 1000000 /dev/zero | tr '\\0' x; echo done >&2");
  EXPECT_EQ(end.output, "xxxxxxxxxx");
  EXPECT_TRUE(end.is_output_cut);
  EXPECT_EQ(lines_, (std::vector<std::string>{"done"}));
}

TEST_F(ProcessTest, SurvivesACommandThatReadsNoInput) {
  EXPECT_EQ(run("exec 0<&-; sleep 0.05; echo ok", std::string(1 << 20, 'a')).output, "ok\n");
}

TEST_F(ProcessTest, TellsTheSignalThatKilledIt) { EXPECT_EQ(run("kill -SEGV $$").signal, SIGSEGV); }

TEST_F(ProcessTest, DoesNotWaitForAGrandchildThatKeepsThePipesOpen) {
  const auto began = std::chrono::steady_clock::now();
  EXPECT_EQ(run("sleep 60 & echo ok").output, "ok\n");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 40s);
}

TEST_F(ProcessTest, StopsByTerm) {
  const auto end =
      run("trap 'echo bye; exit 5' TERM; echo stop me >&2; while :; do sleep 0.01; done");
  EXPECT_TRUE(end.was_stopped);
  EXPECT_EQ(end.exit_status, 5);
  EXPECT_EQ(end.output, "bye\n");
}

TEST_F(ProcessTest, KillsWhatDoesNotHeedTermWithAllItStarted) {
  grace_ = 100ms;
  const auto began = std::chrono::steady_clock::now();
  const auto end = run("trap '' TERM; sleep 60 & echo stop me >&2; while :; do sleep 60; done");
  EXPECT_EQ(end.signal, SIGKILL);
  EXPECT_LT(std::chrono::steady_clock::now() - began, 40s);
}

TEST_F(ProcessTest, StopsWhatWasToBeStoppedBeforeItBegan) {
  stop_.request_stop();
  EXPECT_EQ(run("sleep 60").signal, SIGTERM);
}

TEST_F(ProcessTest, StopsWhatWritesFasterThanItIsRead) {
  const std::jthread stopper([this] {
    std::this_thread::sleep_for(100ms);
    stop_.request_stop();
  });
  EXPECT_EQ(run("exec yes >&2").signal, SIGTERM);
}

TEST_F(ProcessTest, EndsThoughAGrandchildWritesOn) {
  run("yes >&2 & yes & sleep 1");
  EXPECT_FALSE(lines_.empty());
}

// Our limit on open files, for as long as it lives.
class FileLimit {
 public:
  explicit FileLimit(rlim_t soft) {
    EXPECT_EQ(getrlimit(RLIMIT_NOFILE, &before_), 0);
    const rlimit lowered{soft, before_.rlim_max};
    EXPECT_EQ(setrlimit(RLIMIT_NOFILE, &lowered), 0);
  }
  ~FileLimit() { setrlimit(RLIMIT_NOFILE, &before_); }
  FileLimit(const FileLimit&) = delete;
  FileLimit& operator=(const FileLimit&) = delete;

 private:
  rlimit before_{};
};

TEST_F(ProcessTest, TellsAShortageOfFilesFromACommandThatCannotRun) {
  const Command command{
      .words = {"true"}, .environment = {}, .input = {}, .on_error_line = [](std::string_view) {}};
  const StopPolicy policy{stop_.get_token(), grace_, [] { return false; }};
  const auto end = [&] {
    // Without a free descriptor a sanitizer takes good objects for bad ones: `this` is not used.
    const FileLimit limit(5);
    return run_command(command, policy);
  }();
  ASSERT_FALSE(end);
  EXPECT_TRUE(end.error().is_shortage);
}

TEST_F(ProcessTest, MayHaveMoreFilesOpenThanTheCommand) {
  const FileLimit limit(200);
  const auto before = allow_open_files(300);
  ASSERT_TRUE(before);
  EXPECT_EQ(before->soft, 200u);
  rlimit now{};
  getrlimit(RLIMIT_NOFILE, &now);
  EXPECT_EQ(now.rlim_cur, 300u);
  EXPECT_FALSE(allow_open_files(300));  // enough already
  open_files_ = before;
  EXPECT_EQ(run("sleep 0.2; ulimit -n").output, "200\n");
}

TEST_F(ProcessTest, SaysThatAProgramCannotBeRun) {
  const Command command{.words = {"/nowhere/program"},
                        .environment = {},
                        .input = {},
                        .on_error_line = [](std::string_view) {}};
  const auto end = run_command(command, {stop_.get_token(), grace_, [] { return false; }});
  ASSERT_FALSE(end);
  EXPECT_EQ(end.error().message, "cannot run /nowhere/program: No such file or directory");
}

TEST(FindProgram, LooksInThePath) {
  EXPECT_TRUE(find_program("sh").ends_with("/sh"));
  EXPECT_EQ(find_program("/bin/sh"), "/bin/sh");
  EXPECT_EQ(find_program("no-such-program-anywhere"), "");
  EXPECT_EQ(find_program("/nowhere/program"), "");
  EXPECT_EQ(find_program("/tmp"), "");
}

}  // namespace
}  // namespace millrace::cli
