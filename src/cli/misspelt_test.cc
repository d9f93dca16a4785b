#include "cli/misspelt.h"

#include <gtest/gtest.h>

#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

namespace millrace::cli {
namespace {

class Misspelt : public ::testing::Test {
 protected:
  Misspelt() {
    app_.add_option("--url", url_, "");
    CLI::App& job = *app_.add_subcommand("job", "");
    for (const char* name : {"list", "get", "logs", "delete", "retry"}) {
      job.add_subcommand(name, "")->add_option("WORD", words_, "");
    }
    app_.add_subcommand("queue", "")->add_subcommand("list", "");
    app_.add_subcommand("enqueue", "")->add_option("WORD", words_, "");
  }

  std::string complaint(const std::vector<std::string>& arguments) {
    return unknown_command(app_, arguments).value_or("");
  }

  std::string url_;
  std::vector<std::string> words_;
  CLI::App app_{"", "millrace"};
};

TEST_F(Misspelt, WhatIsThereIsNoMistake) {
  EXPECT_EQ(complaint({}), "");
  EXPECT_EQ(complaint({"job"}), "");
  EXPECT_EQ(complaint({"job", "list", "lst"}), "");
  EXPECT_EQ(complaint({"--url", "lst", "job", "list"}), "");
  EXPECT_EQ(complaint({"--url=lst", "job", "--help"}), "");
  EXPECT_EQ(complaint({"enqueue", "greet", "{}"}), "");
  // A word after an unknown option may be its value.
  EXPECT_EQ(complaint({"--colour", "red", "job", "list"}), "");
}

TEST_F(Misspelt, SaysWhatWasProbablyMeant) {
  const std::string see_job = " See `millrace job --help`";
  EXPECT_EQ(complaint({"job", "lst"}),
            "`job lst` is not a command; did you mean `job list`?" + see_job);
  EXPECT_EQ(complaint({"job", "ls"}),
            "`job ls` is not a command; did you mean `job list`?" + see_job);
  EXPECT_EQ(complaint({"job", "del", "x"}),
            "`job del` is not a command; did you mean `job delete`?" + see_job);
  EXPECT_EQ(complaint({"enqueu", "greet"}),
            "`enqueu` is not a command; did you mean `enqueue`? See `millrace --help`");
  EXPECT_EQ(
      complaint({"list"}),
      "`list` is not a command; did you mean `job list` or `queue list`? See `millrace --help`");
  EXPECT_EQ(complaint({"frobnicate", "--help"}),
            "`frobnicate` is not a command; see `millrace --help`");
}

TEST_F(Misspelt, NamesUnexpectedWordsInTheirOrder) {
  const CLI::App app("", "millrace");
  EXPECT_EQ(unexpected_words(app, {"one", "two"}),
            "`millrace` does not expect \"one two\"; see `millrace --help`");
  EXPECT_EQ(unexpected_words(app_, {"x", "--ulr=y"}),
            "--ulr is not an option of `millrace`; did you mean `--url`? See `millrace --help`");
}

TEST(EditDistance, CountsLettersPutInLeftOutChangedAndSwapped) {
  EXPECT_EQ(edit_distance("list", "list"), 0U);
  EXPECT_EQ(edit_distance("lst", "list"), 1U);
  EXPECT_EQ(edit_distance("liist", "list"), 1U);
  EXPECT_EQ(edit_distance("lest", "list"), 1U);
  EXPECT_EQ(edit_distance("lsit", "list"), 1U);
  EXPECT_EQ(edit_distance("", "list"), 4U);
  EXPECT_EQ(edit_distance("get", "list"), 3U);
}

TEST(Plain, SaysWhatIsAllowed) {
  EXPECT_EQ(plain("Could not convert: --priority = high"), "--priority: \"high\" is not a number");
  EXPECT_EQ(plain("--output: yaml not in {table,json,jsonl}"),
            "--output: yaml is not one of table, json, jsonl");
  EXPECT_EQ(plain("TYPE is required"), "TYPE is required");
}

}  // namespace
}  // namespace millrace::cli
