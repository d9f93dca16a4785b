#include "api/limit.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "api/decode_testing.h"

namespace millrace::api {
namespace {

using testing::kLimits;
using testing::places;
using testing::Strings;

std::string decoded_key(std::size_t bytes) {
  return R"({"per_key":true,"keys":{")" + std::string(bytes, 'k') + R"(":{"concurrency":1}}})";
}

TEST(DecodeLimit, KnowsAbsentFromNull) {
  const auto change = decode_limit(R"({"concurrency":null,"per_key":true})", kLimits);
  EXPECT_TRUE(change->concurrency.present);
  EXPECT_EQ(change->concurrency.value, std::nullopt);
  EXPECT_FALSE(change->rate.present);
  EXPECT_EQ(change->per_key.value, true);
}

TEST(DecodeLimit, TakesTheLargestAndRefusesOneMore) {
  EXPECT_TRUE(decode_limit(R"({"concurrency":1000000})", kLimits).has_value());
  EXPECT_EQ(places(decode_limit(R"({"concurrency":1000001})", kLimits)), Strings{"/concurrency"});
  EXPECT_EQ(places(decode_limit(R"({"concurrency":0})", kLimits)), Strings{"/concurrency"});
  EXPECT_TRUE(
      decode_limit(R"({"rate":{"limit":1000000000,"per_ms":86400000,"burst":1000000000}})", kLimits)
          .has_value());
  EXPECT_EQ(
      places(decode_limit(R"({"rate":{"limit":1000000001,"per_ms":86400001,"burst":0}})", kLimits)),
      (Strings{"/rate/limit", "/rate/per_ms", "/rate/burst"}));
  EXPECT_EQ(places(decode_limit(R"({"rate":{}})", kLimits)),
            (Strings{"/rate/limit", "/rate/per_ms"}));
}

TEST(DecodeLimit, KeysHaveBoundsOfTheirOwn) {
  const auto change = decode_limit(
      R"({"per_key":true,"keys":{"acme":{"concurrency":20},"b":{"rate":{"limit":1,"per_ms":2}}}})",
      kLimits);
  const std::vector<KeyBounds>& keys = *change->keys.value;
  ASSERT_EQ(keys.size(), 2U);
  EXPECT_EQ(keys[0].key, "acme");
  EXPECT_EQ(keys[0].bounds.concurrency, 20);
  EXPECT_EQ(keys[1].bounds.rate, (Rate{1, Duration{2}, std::nullopt}));
  EXPECT_TRUE(decode_limit(decoded_key(255), kLimits).has_value());
  EXPECT_FALSE(decode_limit(decoded_key(256), kLimits).has_value());
  EXPECT_FALSE(decode_limit(decoded_key(0), kLimits).has_value());
}

TEST(DecodeLimit, ABreakerHasAllItsMembers) {
  const auto change = decode_limit(
      R"({"breaker":{"failure_rate":0.25,"min_attempts":20,"window_ms":60000,"open_ms":100,)"
      R"("probes":3},"retry_rate":{"limit":1,"per_ms":2}})",
      kLimits);
  ASSERT_TRUE(change.has_value());
  EXPECT_EQ(change->breaker.value, (BreakerRule{250'000, 20, Duration{60'000}, Duration{100}, 3}));
  EXPECT_EQ(change->retry_rate.value, (Rate{1, Duration{2}, std::nullopt}));
  const auto none = decode_limit(R"({"breaker":null,"retry_rate":null})", kLimits);
  EXPECT_TRUE(none->breaker.present && !none->breaker.value);
  EXPECT_EQ(places(decode_limit(R"({"breaker":{}})", kLimits)),
            (Strings{"/breaker/failure_rate", "/breaker/min_attempts", "/breaker/window_ms",
                     "/breaker/open_ms", "/breaker/probes"}));
  EXPECT_EQ(places(decode_limit(R"({"breaker":{"failure_rate":0,"min_attempts":100001,)"
                                R"("window_ms":999,"open_ms":99,"probes":1001}})",
                                kLimits)),
            (Strings{"/breaker/failure_rate", "/breaker/min_attempts", "/breaker/window_ms",
                     "/breaker/open_ms", "/breaker/probes"}));
}

TEST(DecodeType, HasNoKeysButAPause) {
  const auto change = decode_type(R"({"paused":true,"pause_reason":"down"})", kLimits);
  EXPECT_EQ(change->paused.value, true);
  EXPECT_EQ(change->pause_reason, "down");
  EXPECT_EQ(places(decode_type(R"({"per_key":true,"keys":{}})", kLimits)),
            (Strings{"/per_key", "/keys"}));
}

TEST(DecodeLimitPause, TakesAKeyATimeAndAReason) {
  const auto pause = decode_limit_pause(R"({"reason":"r","for_ms":1000,"key":"k"})", kLimits);
  EXPECT_EQ(pause->reason, "r");
  EXPECT_EQ(pause->length, Duration{1'000});
  EXPECT_EQ(pause->key, "k");
  EXPECT_TRUE(decode_limit_pause("", kLimits).has_value());
  EXPECT_EQ(places(decode_limit_pause(R"({"for_ms":0,"key":""})", kLimits)),
            (Strings{"/for_ms", "/key"}));
}

TEST(DecodeLimitQueries, AreStrict) {
  EXPECT_TRUE(decode_limit_keys_query("order=waiting")->by_waiting);
  EXPECT_FALSE(decode_limit_keys_query("order=key&limit=5")->by_waiting);
  EXPECT_FALSE(decode_limit_keys_query("order=size").has_value());
  EXPECT_EQ(decode_limit_holders_query("key=a%20b")->key, "a b");
  EXPECT_FALSE(decode_limit_holders_query("key=").has_value());
  EXPECT_TRUE(decode_delete_limit_query("force=true")->force);
}

}  // namespace
}  // namespace millrace::api
