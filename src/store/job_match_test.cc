#include "store/job_match.h"

#include <gtest/gtest.h>

#include "store/testing/jobs.h"

namespace millrace::store {
namespace {

using core::Comparison;
using core::Condition;
using core::JobField;

bool met(JobField field, Comparison comparison, const std::vector<std::string>& values,
         const std::string& path = {}, double real = 0) {
  core::Job job = make_job(1);
  job.payload =
      SharedBytes(R"({"size": 12.5, "name": "Ann", "list": "1,2", "huge": 1e999, "empty": "",)"
                  R"("whole": 12, "dot": "1.", "power": "1e", "sign": "-"})");
  job.latest.worker = SharedBytes("anna");
  core::JobExtras extras;
  extras.meta = {{SharedBytes("tenant"), SharedBytes("acme")}};
  job.extras = std::make_shared<const core::JobExtras>(extras);
  return matches(Condition{field, comparison, false, values, 0, real, path}, job);
}

TEST(JobMatch, ComparesNumbersOfThePayloadOnlyWithNumbers) {
  EXPECT_TRUE(met(JobField::kPayload, Comparison::kGreater, {}, "size", 12));
  EXPECT_FALSE(met(JobField::kPayload, Comparison::kGreater, {}, "size", 12.5));
  EXPECT_TRUE(met(JobField::kPayload, Comparison::kLessEqual, {}, "size", 12.5));
  EXPECT_FALSE(met(JobField::kPayload, Comparison::kGreater, {}, "name", -1)) << "no number";
  EXPECT_FALSE(met(JobField::kPayload, Comparison::kGreater, {}, "list", -1)) << "and more";
  EXPECT_TRUE(met(JobField::kPayload, Comparison::kGreater, {}, "huge", -1));
  EXPECT_FALSE(met(JobField::kPayload, Comparison::kGreater, {}, "none", -1));
  EXPECT_TRUE(met(JobField::kPayload, Comparison::kGreater, {}, "whole", 11.5));
  EXPECT_FALSE(met(JobField::kPayload, Comparison::kGreater, {}, "whole", 12.5));
  for (const char* half : {"dot", "power", "sign"}) {
    EXPECT_FALSE(met(JobField::kPayload, Comparison::kGreater, {}, half, -1)) << half;
  }
}

TEST(JobMatch, ComparesIntegersExactlyHoweverLarge) {
  const auto compare = [](const std::string& is, Comparison comparison, const std::string& bound) {
    core::Job job = make_job(1);
    job.payload = SharedBytes("{\"n\":" + is + "}");
    const double real = std::strtod(bound.c_str(), nullptr);
    return matches(Condition{JobField::kPayload, comparison, false, {bound}, 0, real, "n"}, job);
  };
  using enum Comparison;
  EXPECT_FALSE(compare("9223372036854775807", kGreaterEqual, "9223372036854775808"));
  EXPECT_TRUE(compare("9223372036854775808", kGreaterEqual, "9223372036854775808"));
  EXPECT_TRUE(compare("9223372036854775809", kGreater, "9223372036854775808"));
  EXPECT_FALSE(compare("-9223372036854775809", kGreaterEqual, "-9223372036854775808"));
  EXPECT_TRUE(compare("-99999999999999999999", kLess, "-9223372036854775808"));
  EXPECT_TRUE(compare("123456789012345678901234567890", kLess, "123456789012345678901234567891"));
  EXPECT_FALSE(compare("123456789012345678901234567890", kLess, "99999999999999999999"));
  EXPECT_TRUE(compare("-1", kLess, "1"));
  EXPECT_TRUE(compare("-0", kGreaterEqual, "0"));
  EXPECT_TRUE(compare("-0", kLessEqual, "0"));
  EXPECT_TRUE(compare("9007199254740993", kGreater, "9007199254740992"));
  EXPECT_TRUE(compare("2", kGreater, "1.5"));
  EXPECT_TRUE(compare("1e3", kGreater, "999"));
}

TEST(JobMatch, ContainsInAnyCaseAndNothingInEverything) {
  EXPECT_TRUE(met(JobField::kPayload, Comparison::kContains, {"aNN"}, "name"));
  EXPECT_TRUE(met(JobField::kPayload, Comparison::kContains, {""}, "name"));
  EXPECT_TRUE(met(JobField::kPayload, Comparison::kContains, {""}, "empty"));
  EXPECT_FALSE(met(JobField::kPayload, Comparison::kContains, {"annn"}, "name"));
  EXPECT_FALSE(met(JobField::kPriority, Comparison::kContains, {"0"})) << "numbers contain nothing";
}

TEST(JobMatch, NamesTheWorkerAndTheMetaValue) {
  EXPECT_TRUE(met(JobField::kWorker, Comparison::kEqual, {"bob", "anna"}));
  EXPECT_FALSE(met(JobField::kWorker, Comparison::kEqual, {"ann"}));
  EXPECT_TRUE(met(JobField::kMeta, Comparison::kEqual, {"acme"}, "tenant"));
  EXPECT_FALSE(met(JobField::kMeta, Comparison::kEqual, {"other"}, "tenant"));
  EXPECT_FALSE(met(JobField::kMeta, Comparison::kEqual, {"acme"}, "region"));
}

}  // namespace
}  // namespace millrace::store
