#include "base/ids.h"

#include <gtest/gtest.h>

#include "base/random.h"

namespace millrace {
namespace {

constexpr char kId[] = "019cb0b7-3f5c-7abc-8def-0123456789ab";

TEST(JobIds, ReadAndWriteTheCanonicalForm) {
  const auto id = parse_job_id(kId);
  ASSERT_TRUE(id);
  EXPECT_EQ(to_string(*id), kId);
  EXPECT_EQ(id->bytes[0], 0x01);
  EXPECT_EQ(id->bytes[15], 0xab);
}

TEST(JobIds, ReadUpperCaseAndWriteLowerCase) {
  const auto id = parse_job_id("019CB0B7-3F5C-7ABC-8DEF-0123456789AB");
  ASSERT_TRUE(id);
  EXPECT_EQ(to_string(*id), kId);
}

TEST(JobIds, RefuseEveryOtherForm) {
  for (const char* text :
       {"", "019cb0b73f5c7abc8def0123456789ab", "{019cb0b7-3f5c-7abc-8def-0123456789ab}",
        "019cb0b7-3f5c-7abc-8def-0123456789a", "019cb0b7-3f5c-7abc-8def-0123456789abc",
        "019cb0b7-3f5c-7abc-8def-0123456789ag", "019cb0b7+3f5c-7abc-8def-0123456789ab",
        "019cb0b-73f5c-7abc-8def-0123456789ab"}) {
    EXPECT_FALSE(parse_job_id(text)) << text;
  }
}

TEST(JobIds, TellVersionSevenFromOthers) {
  EXPECT_TRUE(is_uuid_v7(*parse_job_id(kId)));
  EXPECT_FALSE(is_uuid_v7(*parse_job_id("019cb0b7-3f5c-4abc-8def-0123456789ab")));  // version 4
  EXPECT_FALSE(is_uuid_v7(*parse_job_id("019cb0b7-3f5c-7abc-cdef-0123456789ab")));  // variant
}

TEST(JobIds, AreMadeOfTimeQueueAndRandomBits) {
  const JobId id = make_job_id(time_from_ms(0x0123456789ab), 0xabc, ~std::uint64_t{0});
  EXPECT_EQ(to_string(id), "01234567-89ab-7abc-bfff-ffffffffffff");
  EXPECT_TRUE(is_uuid_v7(make_job_id(time_from_ms(0), 0, 0)));
}

TEST(JobIds, OrderByTimeOfCreation) {
  Random random(1);
  JobId previous = make_job_id(time_from_ms(1'000), 0xfff, random.next());
  for (std::int64_t ms = 1'001; ms < 2'000; ++ms) {
    const JobId id = make_job_id(time_from_ms(ms), 0, random.next());
    EXPECT_LT(previous, id);
    previous = id;
  }
}

TEST(QueueBits, AreTheStartOfTheNamesSha256) {
  EXPECT_EQ(queue_bits("default"), 0x37a);  // sha256("default") = 37a8eec1ce19...
  EXPECT_EQ(queue_bits("abc"), 0xba7);      // sha256("abc") = ba7816bf8f01...
}

}  // namespace
}  // namespace millrace
