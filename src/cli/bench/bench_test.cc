#include <gtest/gtest.h>

#include "cli/bench/connection.h"
#include "cli/histogram.h"

namespace millrace::cli {
namespace {

using std::chrono::nanoseconds;

TEST(Histogram, TellsQuantilesWithinTwoPerCent) {
  Histogram histogram;
  for (int i = 1; i <= 10'000; ++i) histogram.add(nanoseconds{i * 1'000});
  EXPECT_EQ(histogram.count(), 10'000u);
  EXPECT_NEAR(static_cast<double>(histogram.at(0.5).count()), 5e6, 1e5);
  EXPECT_NEAR(static_cast<double>(histogram.at(0.99).count()), 9.9e6, 2e5);
  EXPECT_EQ(histogram.max(), nanoseconds{10'000'000});
  EXPECT_EQ(histogram.at(1), histogram.max());
}

TEST(Histogram, IsExactForSmallValues) {
  Histogram histogram;
  histogram.add(nanoseconds{0});
  histogram.add(nanoseconds{7}, 2);
  histogram.add(nanoseconds{100});
  EXPECT_EQ(histogram.at(0.25), nanoseconds{0});
  EXPECT_EQ(histogram.at(0.5), nanoseconds{7});
  EXPECT_EQ(histogram.at(0.75), nanoseconds{7});
  EXPECT_EQ(histogram.at(0.76), nanoseconds{100});
}

TEST(Histogram, TakesTheLargestAndTheImpossible) {
  Histogram histogram;
  histogram.add(nanoseconds::max());
  EXPECT_EQ(histogram.at(0.5), nanoseconds::max());
  histogram.add(nanoseconds{-5});
  EXPECT_EQ(histogram.at(0.5), nanoseconds{0});
}

TEST(Histogram, MergesAsIfAllHadBeenAddedToOne) {
  Histogram one;
  Histogram other;
  one.add(nanoseconds{10});
  other.add(nanoseconds{30});
  one.merge(other);
  EXPECT_EQ(one.count(), 2u);
  EXPECT_EQ(one.at(0.5), nanoseconds{10});
  EXPECT_EQ(one.max(), nanoseconds{30});
  EXPECT_EQ(Histogram{}.at(0.5), nanoseconds{0});
}

TEST(ParseAddress, SplitsHostPortAndPath) {
  const auto plain = parse_address("http://127.0.0.1:7600");
  ASSERT_TRUE(plain);
  EXPECT_EQ(plain->host, "127.0.0.1");
  EXPECT_EQ(plain->port, "7600");
  EXPECT_EQ(plain->path, "");
  const auto ipv6 = parse_address("http://[::1]:80/queue/");
  ASSERT_TRUE(ipv6);
  EXPECT_EQ(ipv6->host, "::1");
  EXPECT_EQ(ipv6->path, "/queue");
  EXPECT_EQ(parse_address("http://[::1]")->port, "80");
  EXPECT_EQ(parse_address("http://host")->port, "80");
  EXPECT_FALSE(parse_address("https://host"));
  EXPECT_FALSE(parse_address("http://:80"));
}

TEST(RequestHead, EndsWhereTheLengthComes) {
  const ServerAddress address{"::1", "80", "/base"};
  EXPECT_EQ(request_head(address, "secret", "/v1/claim"),
            "POST /base/v1/claim HTTP/1.1\r\nHost: [::1]:80\r\nContent-Type: application/json\r\n"
            "Authorization: Bearer secret\r\nContent-Length: ");
}

}  // namespace
}  // namespace millrace::cli
