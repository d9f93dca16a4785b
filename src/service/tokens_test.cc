#include "service/tokens.h"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "service/token_document.h"

namespace millrace::service {
namespace {

using std::chrono_literals::operator""h;

constexpr Time kNow{Duration{1'700'000'000'000}};

std::array<std::uint8_t, 6> id_of(std::uint8_t n) { return {n}; }
NewToken token_of(std::uint8_t id, std::uint8_t secret = 1) {
  return make_token({secret}, id_of(id));
}
std::string bearer(const NewToken& token) { return "Bearer " + token.token; }
std::string id_text(const NewToken& token) { return token.hash.substr(0, 12); }

TokenSettings settings(const NewToken& token, std::string name,
                       std::vector<std::string> scopes = {"read"}) {
  TokenSettings made;
  made.name = std::move(name);
  made.hash = token.hash;
  made.scopes = std::move(scopes);
  made.sees_payloads = false;
  return made;
}

class ToldTokens final : public MadeTokens {
 public:
  View view() const override { return told; }
  void tell(std::vector<TokenSettings> tokens) {
    told = {std::make_shared<const TokenBook>(*TokenBook::make(std::move(tokens))), false};
  }
  View told;
};

class TokensTest : public testing::Test {
 protected:
  static TokenBook configured() { return *TokenBook::make({settings(token_of(1), "configured")}); }
  ToldTokens made_;
  Tokens tokens_{configured(), &made_};
};

TEST_F(TokensTest, BothKindsAreTaken) {
  made_.tell({settings(token_of(2), "made")});
  EXPECT_EQ(tokens_.authenticate(bearer(token_of(1)), kNow).access->settings().name, "configured");
  EXPECT_EQ(tokens_.authenticate(bearer(token_of(2)), kNow).access->settings().name, "made");
  const auto none = tokens_.authenticate(bearer(token_of(3)), kNow);
  EXPECT_EQ(none.access, nullptr);
  EXPECT_FALSE(none.unsure);
  EXPECT_FALSE(none.known);
  const auto wrong = tokens_.authenticate(bearer(token_of(2, 9)), kNow);
  EXPECT_EQ(wrong.access, nullptr);
  EXPECT_TRUE(wrong.known);
}

TEST_F(TokensTest, WhileTheStoreIsSilentOnlyConfiguredOnesAreSure) {
  made_.tell({settings(token_of(2), "made")});
  made_.told.stale = true;
  EXPECT_NE(tokens_.authenticate(bearer(token_of(1)), kNow).access, nullptr);
  for (const std::uint8_t id : {2, 3}) {
    const auto found = tokens_.authenticate(bearer(token_of(id)), kNow);
    EXPECT_EQ(found.access, nullptr);
    EXPECT_TRUE(found.unsure);
  }
  EXPECT_FALSE(tokens_.authenticate(bearer(token_of(1, 9)), kNow).unsure);
  EXPECT_FALSE(tokens_.authenticate("Bearer nonsense", kNow).unsure);
  made_.told = {};
  EXPECT_TRUE(tokens_.authenticate(bearer(token_of(2)), kNow).unsure) << "nothing was heard yet";
}

TEST_F(TokensTest, AnAccessEndsWithItsToken) {
  TokenSettings limited = settings(token_of(2), "made", {"read", "work"});
  limited.expires_at = kNow + 2h;
  made_.tell({limited});
  const SharedAccess access = tokens_.authenticate(bearer(token_of(2)), kNow).access;
  EXPECT_TRUE(tokens_.holds(access, kNow));
  EXPECT_FALSE(tokens_.holds(access, kNow + 2h));
  made_.tell({limited, settings(token_of(3), "another")});
  EXPECT_TRUE(tokens_.holds(access, kNow)) << "another book, and the same token";
  limited.queues = {"mail"};
  made_.tell({limited});
  EXPECT_FALSE(tokens_.holds(access, kNow)) << "it opens less than it did";
  made_.tell({});
  EXPECT_FALSE(tokens_.holds(access, kNow));
  EXPECT_TRUE(access->allows(api::Scope::kWork)) << "what is under way may still look at it";
}

TEST_F(TokensTest, TheConfigurationMayBeReadAgain) {
  const SharedAccess before = tokens_.authenticate(bearer(token_of(1)), kNow).access;
  tokens_.configure(*TokenBook::make({settings(token_of(4), "new")}));
  EXPECT_EQ(tokens_.authenticate(bearer(token_of(1)), kNow).access, nullptr);
  EXPECT_NE(tokens_.authenticate(bearer(token_of(4)), kNow).access, nullptr);
  EXPECT_FALSE(tokens_.holds(before, kNow));
}

TEST_F(TokensTest, MadeOnesDoNotCloseOrOpenAServer) {
  Tokens open(*TokenBook::make({}), &made_);
  made_.tell({settings(token_of(2), "made")});
  EXPECT_TRUE(open.empty());
  EXPECT_FALSE(tokens_.empty());
}

TEST_F(TokensTest, UseIsNotedByTheMinute) {
  EXPECT_EQ(tokens_.configured()->last_used(id_text(token_of(1))), std::nullopt);
  tokens_.authenticate(bearer(token_of(1)), kNow);
  const auto used = tokens_.configured()->last_used(id_text(token_of(1)));
  ASSERT_TRUE(used);
  EXPECT_LE(*used, kNow);
  EXPECT_GT(*used + std::chrono::minutes{1}, kNow);
  tokens_.configure(configured());
  EXPECT_EQ(tokens_.configured()->last_used(id_text(token_of(1))), used) << "it goes on";
}

TEST(RotatedToken, BothSecretsAreGoodForTheGrace) {
  TokenSettings rotated = settings(token_of(2, 2), "made");
  rotated.former_hash = token_of(2, 1).hash;
  rotated.former_until = kNow + 1h;
  const TokenBook book = *TokenBook::make({rotated});
  EXPECT_NE(book.authenticate(bearer(token_of(2, 2)), kNow), nullptr);
  EXPECT_NE(book.authenticate(bearer(token_of(2, 1)), kNow), nullptr);
  EXPECT_EQ(book.authenticate(bearer(token_of(2, 3)), kNow), nullptr);
  EXPECT_NE(book.authenticate(bearer(token_of(2, 2)), kNow + 1h), nullptr);
  EXPECT_EQ(book.authenticate(bearer(token_of(2, 1)), kNow + 1h), nullptr);
}

TEST(Covers, NobodyHandsOnMoreThanTheyHave) {
  TokenSettings own = settings(token_of(1), "own", {"read", "admin"});
  own.queues = {"mail.*", "sms"};
  own.expires_at = kNow + 2h;
  const TokenBook book = *TokenBook::make({own});
  const Access& access = *book.authenticate(bearer(token_of(1)), kNow);
  TokenSettings wanted = own;
  EXPECT_TRUE(access.covers(wanted));
  wanted.queues = {"mail.eu.*", "sms"};
  wanted.scopes = {"read"};
  wanted.expires_at = kNow + 1h;
  EXPECT_TRUE(access.covers(wanted));
  const auto with = [&](auto change) {
    TokenSettings other = wanted;
    change(other);
    return access.covers(other);
  };
  EXPECT_FALSE(with([](TokenSettings& t) { t.scopes = {"read", "work"}; }));
  EXPECT_FALSE(with([](TokenSettings& t) { t.scopes = {"read", "payload"}; }));
  EXPECT_FALSE(with([](TokenSettings& t) { t.sees_payloads = true; }));
  EXPECT_FALSE(with([](TokenSettings& t) { t.queues = {}; }));
  EXPECT_FALSE(with([](TokenSettings& t) { t.queues = {"mai*"}; }));
  EXPECT_FALSE(with([](TokenSettings& t) { t.queues = {"sms*"}; }));
  EXPECT_FALSE(with([](TokenSettings& t) { t.expires_at.reset(); }));
  EXPECT_FALSE(with([](TokenSettings& t) { t.expires_at = kNow + 2h + Duration{1}; }));
}

TEST(TokenDocument, ReadsBackWhatItWrote) {
  TokenSettings token = settings(token_of(2, 2), "a \u00e9", {"read", "payload"});
  token.description = "line\nand \"quotes\"";
  token.queues = {"mail.*"};
  token.expires_at = kNow + 1h;
  token.former_hash = token_of(2, 1).hash;
  token.former_until = kNow;
  token.created_at = kNow - 1h;
  token.created_by = "admin";
  const auto read = decode_token(encode_token(token));
  ASSERT_TRUE(read) << read.error().message;
  EXPECT_EQ(encode_token(*read), encode_token(token));
  EXPECT_EQ(read->name, token.name);
  EXPECT_EQ(read->queues, token.queues);
  EXPECT_EQ(read->expires_at, token.expires_at);
  EXPECT_EQ(read->former_until, token.former_until);
  EXPECT_FALSE(read->sees_payloads);
}

// A document that is not understood gives no access: a restriction might be lost with it.
TEST(TokenDocument, WhatIsNotUnderstoodOpensNothing) {
  const TokenSettings token = settings(token_of(2), "made");
  const std::string good = encode_token(token);
  const std::string id = id_text(token_of(2));
  const auto size_of = [&](const std::string& document, const std::string& under) {
    std::vector<std::string> faults;
    const TokenBook book = book_of({{under, document, 1}}, faults);
    EXPECT_EQ(book.tokens().size() + faults.size(), 1u);
    return book.tokens().size();
  };
  EXPECT_EQ(size_of(good, id), 1u);
  EXPECT_EQ(size_of(good, "0123456789ab"), 0u) << "another's name";
  const std::string open = good.substr(0, good.size() - 1);
  for (const std::string& document :
       {std::string(), std::string("[]"), open, open + R"(,"queues":[]})",
        open + R"(,"queues":"mail"})", open + R"(,"networks":["10.0.0.0/8"]})",
        open + R"(,"expires_at_ms":"soon"})", open + R"(,"scopes":["root"]})",
        open + R"(,"hash":"x"})", std::string(R"({"name":"x","scopes":["read"]})")}) {
    EXPECT_EQ(size_of(document, id), 0u) << document;
  }
}

}  // namespace
}  // namespace millrace::service
