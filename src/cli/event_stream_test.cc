#include "cli/event_stream.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace millrace::cli {
namespace {

std::vector<StreamMessage> parse(const std::vector<std::string>& pieces) {
  std::vector<StreamMessage> messages;
  StreamParser parser([&](StreamMessage message) {
    messages.push_back(std::move(message));
    return true;
  });
  for (const std::string& piece : pieces) EXPECT_TRUE(parser.feed(piece));
  return messages;
}

TEST(StreamParserTest, PiecesDoNotMatter) {
  const std::string text =
      "event: position\nid: 1-0\ndata: {\"a\":1}\n\n: a comment\nid: 2-0\r\ndata: x\r\ndata: "
      "y\r\n\r\n";
  for (std::size_t size = 1; size <= text.size(); ++size) {
    std::vector<std::string> pieces;
    for (std::size_t at = 0; at < text.size(); at += size) pieces.push_back(text.substr(at, size));
    const auto messages = parse(pieces);
    ASSERT_EQ(messages.size(), 2u);
    EXPECT_EQ(messages[0].event, "position");
    EXPECT_EQ(messages[0].id, "1-0");
    EXPECT_EQ(messages[0].data, R"({"a":1})");
    EXPECT_EQ(messages[1].event, "message");
    EXPECT_EQ(messages[1].data, "x\ny");
  }
}

TEST(StreamParserTest, WhatIsCutOffIsNoMessage) {
  EXPECT_TRUE(parse({"id: 1\ndata: {\"half\":"}).empty());
  EXPECT_TRUE(parse({"id: 1\n\n"}).empty());
}

TEST(StreamParserTest, StopsWhenNoMoreIsWanted) {
  int taken = 0;
  StreamParser parser([&](const StreamMessage&) { return ++taken < 2; });
  EXPECT_FALSE(parser.feed("data: 1\n\ndata: 2\n\ndata: 3\n\n"));
  EXPECT_EQ(taken, 2);
}

TEST(ComeBackTest, PausesGrowWithinBounds) {
  ComeBack come_back(7);
  sdk::Milliseconds bound = ComeBack::kFirst;
  for (int i = 0; i < 20; ++i) {
    const auto pause = come_back.next();
    EXPECT_GE(pause, bound / 2);
    EXPECT_LE(pause, bound + bound / 2);
    bound = std::min(bound * 2, ComeBack::kLast);
  }
  come_back.reset();
  EXPECT_LE(come_back.next(), ComeBack::kFirst * 3 / 2);
}

}  // namespace
}  // namespace millrace::cli
