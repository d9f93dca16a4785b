#include "service/login_throttle.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::service {
namespace {

using std::chrono_literals::operator""s;
using std::chrono_literals::operator""ms;

constexpr std::string_view kHere = "192.0.2.7";
constexpr std::string_view kThere = "192.0.2.8";
constexpr std::string_view kGood = "Bearer mlr_good";
constexpr std::string_view kBad = "Bearer mlr_bad";
constexpr std::string_view kId = "0123456789ab";

class LoginThrottleTest : public testing::Test {
 protected:
  std::optional<Duration> fail(std::string_view address = kHere, std::string_view id = {}) {
    return throttle_.failed(address, id, now_);
  }
  std::optional<Duration> ask(std::string_view credentials, std::string_view address = kHere) {
    return throttle_.refuses(address, kId, credentials, now_);
  }
  void spend(int failures, std::string_view address = kHere, std::string_view id = {}) {
    for (int i = 0; i < failures; ++i) fail(address, id);
  }

  Steady now_{1'000s};
  LoginThrottle throttle_{60, 7};
};

TEST_F(LoginThrottleTest, AFewMistakesAreToldAsWhatTheyAre) {
  for (int i = 0; i < 60; ++i) EXPECT_EQ(fail(), std::nullopt) << i;
  EXPECT_NE(fail(), std::nullopt);
}

TEST_F(LoginThrottleTest, WhoWaitsAsLongAsIsSaidIsHeardAgain) {
  spend(60);
  const auto wait = fail();
  ASSERT_NE(wait, std::nullopt);
  EXPECT_EQ(*wait, 1s);  // sixty a minute
  now_ += *wait - 1ms;
  EXPECT_NE(fail(), std::nullopt);
  now_ += 1ms;
  EXPECT_EQ(fail(), std::nullopt);
  EXPECT_NE(fail(), std::nullopt);
}

TEST_F(LoginThrottleTest, AMinuteLaterAllIsAsBefore) {
  spend(500);
  now_ += 60s;
  for (int i = 0; i < 60; ++i) EXPECT_EQ(fail(), std::nullopt) << i;
  EXPECT_NE(fail(), std::nullopt);
}

TEST_F(LoginThrottleTest, AnotherAddressPaysNothing) {
  spend(500);
  EXPECT_EQ(fail(kThere), std::nullopt);
}

TEST_F(LoginThrottleTest, OneNetworkOfIpv6IsOneCaller) {
  spend(60, "2001:db8:1:2::1");
  EXPECT_NE(fail("2001:db8:1:2:ffff::9"), std::nullopt);
  EXPECT_EQ(fail("2001:db8:1:3::1"), std::nullopt);
}

TEST_F(LoginThrottleTest, AnAddressInTheFormOfIpv6IsTheSameOne) {
  spend(60, "::ffff:192.0.2.7");
  EXPECT_NE(fail("192.0.2.7"), std::nullopt);
  EXPECT_EQ(fail("192.0.2.8"), std::nullopt);
}

TEST_F(LoginThrottleTest, SecretsOfATokenAreTriedATenthAsOften) {
  spend(5, kHere, kId);
  EXPECT_EQ(ask(kBad), std::nullopt);
  spend(1, kHere, kId);
  const auto wait = ask(kBad);
  ASSERT_NE(wait, std::nullopt);
  EXPECT_EQ(*wait, 10s);  // six a minute
  EXPECT_EQ(ask(kBad, kThere), std::nullopt);
  now_ += 10s;
  EXPECT_EQ(ask(kBad), std::nullopt);
}

TEST_F(LoginThrottleTest, WhoWasLetInFromThereBeforeStillIs) {
  throttle_.succeeded(kHere, kGood);
  spend(500, kHere, kId);
  EXPECT_NE(ask(kBad), std::nullopt);
  EXPECT_EQ(ask(kGood), std::nullopt);
  EXPECT_EQ(ask(kGood, kThere), std::nullopt);  // nobody has failed there
}

TEST_F(LoginThrottleTest, AGoodTokenOfAThrottledAddressIsLookedAt) {
  spend(500);
  EXPECT_EQ(ask(kGood), std::nullopt);
}

TEST_F(LoginThrottleTest, VeryManyAddressesTakeNoMoreThanTheirRoom) {
  for (int i = 0; i < 20'000; ++i) {
    const std::string address = "10." + std::to_string(i >> 16) + "." +
                                std::to_string(i >> 8 & 255) + "." + std::to_string(i & 255);
    fail(address, kId);
  }
  EXPECT_LE(throttle_.tracked(), 2 * LoginThrottle::kMaxTracked);
  EXPECT_GE(throttle_.tracked(), LoginThrottle::kMaxTracked);
  now_ += 60s;
  fail("198.51.100.1");
  EXPECT_LE(throttle_.tracked(), LoginThrottle::kMaxTracked + 2) << "what is full again goes";
}

TEST_F(LoginThrottleTest, TheNumberCanChange) {
  throttle_.set_failures_per_minute(1);
  EXPECT_EQ(fail(), std::nullopt);
  const auto wait = fail();
  ASSERT_NE(wait, std::nullopt);
  EXPECT_EQ(*wait, 60s);
}

}  // namespace
}  // namespace millrace::service
