#include "cli/completion.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstdio>
#include <fstream>

#include "cli/commands.h"

namespace millrace::cli {
namespace {

class CompletionTest : public ::testing::Test {
 protected:
  CompletionTest() {
    app_.add_option("--url", text_, "Where");
    CLI::App& job = *app_.add_subcommand("job", "Jobs");
    CLI::App& list = *job.add_subcommand("list", "List 'them'");
    list.add_option("-q,--queue", text_, "Of a queue");
    list.add_flag("--all", flag_, "All");
    job.add_subcommand("get", "One");
  }

  // Bash's suggestions for the words typed so far; the last one is incomplete.
  std::string offered(const std::string& words, int count) {
    const std::string path =
        ::testing::TempDir() + "millrace-completion." + std::to_string(getpid());
    std::ofstream(path) << bash_completion(describe_tree(app_)) << "COMP_WORDS=(" << words
                        << ")\nCOMP_CWORD=" << count
                        << "\ncompopt() { :; }\n_millrace\necho \"${COMPREPLY[@]}\"\n";
    FILE* shell = popen(("bash " + path).c_str(), "r");
    EXPECT_NE(shell, nullptr);
    char line[1'000] = {};
    EXPECT_NE(fgets(line, sizeof line, shell), nullptr);
    pclose(shell);
    std::remove(path.c_str());
    std::string text = line;
    text.pop_back();
    return text;
  }

  CLI::App app_;
  std::string text_;
  bool flag_ = false;
};

TEST_F(CompletionTest, WalksTheWholeTree) {
  const auto commands = describe_tree(app_);
  ASSERT_EQ(commands.size(), 4u);
  EXPECT_EQ(commands[0].path, "");
  EXPECT_EQ(commands[1].path, "job");
  EXPECT_EQ(commands[1].children, (std::vector<std::string>{"list", "get"}));
  EXPECT_EQ(commands[2].path, "job list");
  EXPECT_EQ(commands[2].options.at(1).names, (std::vector<std::string>{"-q", "--queue"}));
  EXPECT_TRUE(commands[2].options.at(1).takes_value);
  EXPECT_FALSE(commands[2].options.at(2).takes_value);
}

TEST_F(CompletionTest, BashOffersWhatMayFollow) {
  EXPECT_EQ(offered("millrace j", 1), "job");
  EXPECT_EQ(offered("millrace job ''", 2), "list get -h --help -h --help --url");
  EXPECT_EQ(offered("millrace job list --q", 3), "--queue");
  EXPECT_EQ(offered("millrace --url job job l", 4), "list");  // the first "job" is an address
  EXPECT_EQ(offered("millrace job list --u", 3), "--url");    // options of the whole may follow
}

TEST_F(CompletionTest, BashLeavesValuesToFiles) {
  EXPECT_EQ(offered("millrace job list --queue l", 4), "");
}

TEST_F(CompletionTest, OtherShellsKnowEveryCommandToo) {
  const auto commands = describe_tree(app_);
  const std::string zsh = zsh_completion(commands);
  EXPECT_TRUE(zsh.starts_with("#compdef millrace\n"));
  EXPECT_NE(zsh.find("'job list') echo '-h --help -q --queue --all'"), std::string::npos);
  const std::string fish = fish_completion(commands);
  EXPECT_NE(fish.find("-a list -d 'List \\'them\\''"), std::string::npos);
  EXPECT_NE(fish.find("-s q -l queue -r -d 'Of a queue'"), std::string::npos);
  EXPECT_EQ(zsh.find('@' + std::string("CASES")), std::string::npos);
}

}  // namespace
}  // namespace millrace::cli
