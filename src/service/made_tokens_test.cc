#include "service/made_tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "service/token_document.h"

namespace millrace::service {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

class SetClock final : public Clock {
 public:
  Time now() const override { return time_from_ms(1'700'000'000'000); }
  Steady steady() const override { return at; }
  Steady at{1'000s};
};

class Heard final : public LogSink {
 public:
  void write(LogLevel, std::string_view line) override { lines.emplace_back(line); }
  std::vector<std::string> lines;
};

NewToken token_of(std::uint8_t id) { return make_token({id}, {id}); }

core::CatalogEntry entry_of(std::uint8_t id, std::uint64_t revision) {
  TokenSettings token;
  token.name = "made";
  token.hash = token_of(id).hash;
  token.scopes = {"read"};
  core::CatalogEntry entry;
  entry.kind = core::CatalogKind::kToken;
  entry.name = SharedBytes(std::string_view(token.hash).substr(0, 12));
  entry.body = SharedBytes(encode_token(token));
  entry.version = 3;
  entry.revision = revision;
  return entry;
}

class CatalogTokensTest : public testing::Test {
 protected:
  void hear(std::vector<core::CatalogEntry> entries, std::uint64_t total) {
    core::CatalogReply reply;
    reply.entries = std::move(entries);
    reply.total = total;
    catalog_.take(std::move(reply), clock_.at);
  }
  bool knows(std::uint8_t id) {
    const auto view = tokens_.view();
    return view.book != nullptr &&
           view.book->authenticate("Bearer " + token_of(id).token, clock_.now()) != nullptr;
  }

  Catalog catalog_;
  SetClock clock_;
  Heard heard_;
  CatalogTokens tokens_{catalog_, clock_,
                        Logger(heard_, LogFormat::kText, LogLevel::kInfo, [] { return Time(); })};
};

TEST_F(CatalogTokensTest, BeforeAWordOfTheStoreNothingIsKnown) {
  EXPECT_EQ(tokens_.view().book, nullptr);
  EXPECT_TRUE(tokens_.view().stale);
  hear({}, 0);
  ASSERT_NE(tokens_.view().book, nullptr);
  EXPECT_TRUE(tokens_.view().book->empty());
  EXPECT_FALSE(tokens_.view().stale);
}

TEST_F(CatalogTokensTest, ItFollowsTheCatalog) {
  hear({entry_of(1, 1)}, 1);
  EXPECT_TRUE(knows(1));
  EXPECT_EQ(tokens_.view().book->tokens().front().version, 3u);
  const auto before = tokens_.view().book;
  EXPECT_EQ(tokens_.view().book, before) << "nothing has changed";
  hear({entry_of(2, 2)}, 2);
  EXPECT_TRUE(knows(1) && knows(2));
  catalog_.remove({core::CatalogKind::kToken, entry_of(1, 1).name});
  EXPECT_FALSE(knows(1));
  EXPECT_TRUE(knows(2));
}

TEST_F(CatalogTokensTest, UseIsNotForgottenWhenAnotherTokenChanges) {
  hear({entry_of(1, 1)}, 1);
  const std::string id(entry_of(1, 1).name.view());
  tokens_.view().book->access_of(id)->note_use(clock_.now());
  hear({entry_of(2, 2)}, 2);
  EXPECT_NE(tokens_.view().book->last_used(id), std::nullopt);
}

TEST_F(CatalogTokensTest, SilenceOfTheStoreMakesItUnsure) {
  hear({entry_of(1, 1)}, 1);
  clock_.at += 15s;
  EXPECT_FALSE(tokens_.view().stale);
  clock_.at += 1ms;
  EXPECT_TRUE(tokens_.view().stale);
  hear({}, 1);
  EXPECT_FALSE(tokens_.view().stale);
}

TEST_F(CatalogTokensTest, ADocumentThatIsNoneIsToldAndOpensNothing) {
  core::CatalogEntry broken = entry_of(1, 1);
  broken.body = SharedBytes("{}");
  hear({broken, entry_of(2, 2)}, 2);
  EXPECT_FALSE(knows(1));
  EXPECT_TRUE(knows(2));
  ASSERT_EQ(heard_.lines.size(), 1u);
  EXPECT_NE(heard_.lines[0].find(broken.name.view()), std::string::npos) << heard_.lines[0];
  EXPECT_EQ(heard_.lines[0].find("sha256"), std::string::npos);
}

}  // namespace
}  // namespace millrace::service
