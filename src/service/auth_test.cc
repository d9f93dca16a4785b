#include "service/auth.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::service {
namespace {

constexpr Time kNow = time_from_ms(1'800'000'000'000);

NewToken token_number(std::uint8_t number) {
  std::array<std::uint8_t, 32> secret{};
  secret.fill(number);
  std::array<std::uint8_t, 6> id{};
  id.fill(number);
  return make_token(secret, id);
}

TokenSettings settings(const NewToken& token, std::vector<std::string> scopes,
                       std::vector<std::string> queues = {}) {
  return {"test", token.hash, std::move(scopes), std::move(queues), std::nullopt};
}

TokenBook book_of(std::vector<TokenSettings> tokens) {
  auto book = TokenBook::make(std::move(tokens));
  EXPECT_TRUE(book) << book.error().message;
  return std::move(*book);
}

TEST(Auth, AMadeTokenIsRecognised) {
  const NewToken made = token_number(7);
  EXPECT_EQ(made.token.substr(0, 17), "mlr_070707070707_");
  EXPECT_EQ(made.hash.find(made.token.substr(17, 64)), std::string::npos) << "no secret in it";
  const TokenBook book = book_of({settings(made, {"read", "work"})});
  const Access* access = book.authenticate("Bearer " + made.token, kNow);
  ASSERT_NE(access, nullptr);
  EXPECT_EQ(book.authenticate("bearer  " + made.token, kNow), access);
  EXPECT_TRUE(access->allows(api::Scope::kRead));
  EXPECT_TRUE(access->allows(api::Scope::kWork));
  EXPECT_FALSE(access->allows(api::Scope::kSubmit));
  EXPECT_FALSE(access->allows(api::Scope::kOperate));
  EXPECT_FALSE(access->allows(api::Scope::kAdmin));
}

TEST(Auth, ACertificatesNameStandsForItsTokenAlone) {
  TokenSettings certified{"mailer", "", {"submit"}, {"mail.*"}, kNow, "mailer.example"};
  const NewToken made = token_number(7);
  const TokenBook book = book_of({certified, settings(made, {"read"})});
  const Access* access = book.authenticate_certified("mailer.example", kNow - Duration{1});
  ASSERT_NE(access, nullptr);
  EXPECT_TRUE(access->allows(api::Scope::kSubmit));
  EXPECT_FALSE(access->allows_queue("other"));
  EXPECT_EQ(access->id(), "mailer.example");
  EXPECT_EQ(book.find("mailer.example"), &access->settings());
  EXPECT_EQ(book.authenticate_certified("mailer.example", kNow), nullptr) << "it has expired";
  EXPECT_EQ(book.authenticate_certified("stranger.example", kNow), nullptr);
  EXPECT_EQ(book.authenticate_certified("", kNow), nullptr);
  EXPECT_EQ(book.authenticate_certified("070707070707", kNow), nullptr) << "an id is no name";
  EXPECT_EQ(book.authenticate("Bearer mailer.example", kNow), nullptr);
  EXPECT_FALSE(TokenBook::make({certified, certified}));
  certified.hash = made.hash;
  EXPECT_FALSE(TokenBook::make({certified}));
}

TEST(Auth, NothingElseIs) {
  const NewToken made = token_number(7);
  const TokenBook book = book_of({settings(made, {"read"})});
  const auto refused = [&book](const std::string& credentials) {
    return book.authenticate(credentials, kNow) == nullptr;
  };
  EXPECT_TRUE(refused(""));
  EXPECT_TRUE(refused("Bearer"));
  EXPECT_TRUE(refused("Bearer "));
  EXPECT_TRUE(refused(made.token));
  EXPECT_TRUE(refused("Basic " + made.token));
  EXPECT_TRUE(refused("Bearer " + token_number(8).token)) << "unknown id";
  EXPECT_TRUE(refused("Bearer " + made.token + "0"));
  for (std::size_t i = 0; i < made.token.size(); ++i) {
    std::string other = made.token;
    other[i] = other[i] == '0' ? '1' : '0';
    EXPECT_TRUE(refused("Bearer " + other)) << "changed at " << i;
  }
  // The right id with another's secret, its checksum right.
  std::array<std::uint8_t, 32> secret{};
  std::array<std::uint8_t, 6> id{};
  id.fill(7);
  EXPECT_TRUE(refused("Bearer " + make_token(secret, id).token));
}

TEST(Auth, TokensExpire) {
  const NewToken made = token_number(1);
  TokenSettings expiring = settings(made, {"read"});
  expiring.expires_at = kNow;
  const TokenBook book = book_of({expiring});
  EXPECT_NE(book.authenticate("Bearer " + made.token, kNow - Duration(1)), nullptr);
  EXPECT_EQ(book.authenticate("Bearer " + made.token, kNow), nullptr);
}

TEST(Auth, QueuePatterns) {
  const NewToken made = token_number(1);
  const TokenBook book = book_of({settings(made, {"read"}, {"mail", "billing.*"})});
  const Access* access = book.authenticate("Bearer " + made.token, kNow);
  ASSERT_NE(access, nullptr);
  EXPECT_TRUE(access->limited());
  EXPECT_TRUE(access->allows_queue("mail"));
  EXPECT_TRUE(access->allows_queue("billing."));
  EXPECT_TRUE(access->allows_queue("billing.eu"));
  EXPECT_FALSE(access->allows_queue("billing"));
  EXPECT_FALSE(access->allows_queue("mail2"));
  EXPECT_FALSE(access->allows_queue(""));
}

TEST(Auth, ATokenReachesWhatOpensNothingElse) {
  const NewToken made = token_number(1);
  const auto reaches = [&](std::vector<std::string> own, std::vector<std::string> other) {
    const TokenBook book = book_of({settings(made, {"read"}, std::move(own))});
    const TokenSettings others = settings(token_number(2), {"work"}, std::move(other));
    return book.authenticate("Bearer " + made.token, kNow)->reaches(others);
  };
  EXPECT_TRUE(reaches({}, {}));
  EXPECT_TRUE(reaches({}, {"mail"}));
  EXPECT_FALSE(reaches({"mail"}, {}));
  EXPECT_TRUE(reaches({"mail"}, {"mail"}));
  EXPECT_FALSE(reaches({"mail"}, {"mail", "sms"}));
  EXPECT_TRUE(reaches({"a*", "sms"}, {"sms", "ab*", "a*", "abc"}));
  EXPECT_FALSE(reaches({"ab*"}, {"a*"}));
  EXPECT_FALSE(reaches({"ab"}, {"ab*"}));
  EXPECT_TRUE(reaches({"*"}, {"a*"}));
}

TEST(Auth, ATokenIsFoundByItsPublicPart) {
  const NewToken made = token_number(1);
  const TokenBook book = book_of({settings(made, {"read"})});
  const Access* access = book.authenticate("Bearer " + made.token, kNow);
  ASSERT_NE(access, nullptr);
  EXPECT_EQ(access->id(), "010101010101");
  ASSERT_NE(book.find(access->id()), nullptr);
  EXPECT_EQ(book.find(access->id())->hash, made.hash);
  EXPECT_EQ(book.find("020202020202"), nullptr);
}

TEST(Auth, ConfigurationFaultsNameTheToken) {
  const NewToken made = token_number(1);
  const auto fault = [](std::vector<TokenSettings> tokens) {
    const auto book = TokenBook::make(std::move(tokens));
    return book ? std::string("none") : book.error().message;
  };
  EXPECT_NE(fault({settings({"", "nonsense"}, {"read"})}).find("hash"), std::string::npos);
  EXPECT_NE(fault({settings(made, {"reed"})}).find("\"reed\""), std::string::npos);
  EXPECT_NE(fault({settings(made, {})}).find("no scopes"), std::string::npos);
  EXPECT_NE(fault({settings(made, {"read"}, {"a*b"})}).find("a*b"), std::string::npos);
  EXPECT_NE(fault({settings(made, {"read"}), settings(made, {"work"})}).find("same hash"),
            std::string::npos);
}

}  // namespace
}  // namespace millrace::service
