#include "cli/bench/wire.h"

#include <gtest/gtest.h>

#include "millrace/json.h"

namespace millrace::cli {
namespace {

TEST(JobsBody, IsOneJobAloneOrABatch) {
  JobsBody one({.queue = "q"}, 1);
  one.stamp_all(1'234'567'890'123'456);
  EXPECT_EQ(one.text(), R"({"type":"bench","queue":"q","payload":"1234567890123456"})");
  EXPECT_EQ(JobsBody::path(1), "/v1/jobs");

  JobsBody two({.queue = "q", .type = "t", .payload_bytes = 20, .priority = 9}, 2);
  two.stamp(1, 7);
  EXPECT_EQ(two.text(),
            R"({"jobs":[{"type":"t","queue":"q","priority":9,"payload":"0000000000000000xx"},)"
            R"({"type":"t","queue":"q","priority":9,"payload":"0000000000000007xx"}]})");
  EXPECT_TRUE(sdk::is_json(two.text()));
  EXPECT_EQ(JobsBody::path(2), "/v1/jobs/batch");
}

TEST(JobsBody, DelaysEachJobToAnInstantOfItsOwn) {
  JobsBody body({.queue = "q", .has_run_at = true}, 2);
  body.set_run_at(0, time_from_ms(0));
  body.set_run_at(1, time_from_ms(1));
  body.stamp_all(5);
  EXPECT_EQ(count(body.text(), R"("run_at":"1970-01-01T00:00:00.000Z")"), 1u);
  EXPECT_EQ(count(body.text(), R"("run_at":"1970-01-01T00:00:00.001Z")"), 1u);
  EXPECT_EQ(count(body.text(), R"("payload":"0000000000000005")"), 2u);
}

TEST(JobsBody, GivesEachJobAFairKeyOfItsOwn) {
  JobsBody body({.queue = "q", .has_fair_key = true}, 2);
  body.set_fair_key(0, 9'999);
  body.set_fair_key(1, 1'234'567);
  EXPECT_EQ(count(body.text(), R"("fair_key":"009999")"), 1u);
  EXPECT_EQ(count(body.text(), R"("fair_key":"234567")"), 1u);
  EXPECT_TRUE(sdk::is_json(body.text()));
}

TEST(AllSubmitted, CountsWhatABatchTook) {
  EXPECT_TRUE(all_submitted({201, "{}"}, 1));
  EXPECT_FALSE(all_submitted({200, "{}"}, 1));
  constexpr std::string_view kTwo = R"({"results":[{"status":201,"id":"a"},{"status":201}]})";
  EXPECT_TRUE(all_submitted({200, kTwo}, 2));
  EXPECT_FALSE(all_submitted({200, kTwo}, 3));
  EXPECT_FALSE(all_submitted({422, kTwo}, 2));
}

using Places = std::vector<std::size_t>;

TEST(RefusedForNow, IsEveryJobOfARefusedCall) {
  EXPECT_EQ(refused_for_now({503, "{}"}, 2), (Places{0, 1}));
  EXPECT_EQ(refused_for_now({429, "{}"}, 1), (Places{0}));
}

TEST(RefusedForNow, TellsWhichOfABatchWere) {
  constexpr std::string_view kThree =
      R"({"results":[{"status":503,"error":{"type":"t","status":503}},)"
      R"({"status":201,"id":"a"},{"status":429,"error":{"type":"t","status":429}}]})";
  EXPECT_EQ(refused_for_now({200, kThree}, 3), (Places{0, 2}));
  EXPECT_EQ(refused_for_now({200, kThree}, 4), std::nullopt) << "one has no answer";
  EXPECT_EQ(refused_for_now({200, R"({"results":[{"status":201},{"status":201}]})"}, 2), Places{});
  EXPECT_EQ(refused_for_now({201, R"({"id":"a","state":"ready"})"}, 1), Places{});
}

TEST(RefusedForNow, IsNothingThatMayNotBeSentAgain) {
  EXPECT_EQ(refused_for_now({422, "{}"}, 1), std::nullopt);
  EXPECT_EQ(refused_for_now({200, R"({"results":[{"status":503},{"status":422}]})"}, 2),
            std::nullopt);
  EXPECT_EQ(refused_for_now({200, R"({"results":[{"status":200},{"status":201}]})"}, 2),
            std::nullopt)
      << "there already";
}

TEST(EachHandedOut, FindsIdTokenAndTimeOfEveryJob) {
  const std::string answer =
      R"({"acks":[{"status":200,"id":"01900000-0000-7000-8000-00000000000f"}],"jobs":[)"
      R"({"id":"01900000-0000-7000-8000-000000000001","payload":"0000000000000042xx",)"
      R"("lease":{"token":7}},)"
      R"({"id":"01900000-0000-7000-8000-000000000002","lease":{"token":8},)"
      R"("payload":"0000000000000043"}]})";
  std::string acks;
  std::vector<std::uint64_t> stamps;
  each_handed_out(answer, [&](const HandedOut& job) {
    stamps.push_back(job.stamp_us);
    add_ack(acks, job);
  });
  EXPECT_EQ(stamps, (std::vector<std::uint64_t>{42, 43}));
  EXPECT_EQ(acks,
            R"({"id":"01900000-0000-7000-8000-000000000001","token":7,"outcome":"succeeded"},)"
            R"({"id":"01900000-0000-7000-8000-000000000002","token":8,"outcome":"succeeded"})");
}

TEST(EachHandedOut, FindsNothingWhereThereIsNothing) {
  int jobs = 0;
  each_handed_out(R"({"acks":[],"jobs":[],"commands":[]})", [&](const HandedOut&) { ++jobs; });
  each_handed_out(R"({"code":"draining"})", [&](const HandedOut&) { ++jobs; });
  EXPECT_EQ(jobs, 0);
}

TEST(MetricValue, IsThatOfTheWholeName) {
  constexpr std::string_view kMetrics =
      "# TYPE a_total counter\na_total_more 1\na_total{queue=\"q\"} 2\na_total 3.5\nb 1e6";
  EXPECT_EQ(metric_value(kMetrics, "a_total"), 3.5);
  EXPECT_EQ(metric_value(kMetrics, "b"), 1e6);
  EXPECT_EQ(metric_value(kMetrics, "c"), std::nullopt);
  EXPECT_EQ(metric_value("", "c"), std::nullopt);
}

}  // namespace
}  // namespace millrace::cli
