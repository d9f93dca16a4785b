#include "engine/routing/operation_parts.h"

#include <gtest/gtest.h>

#include <string>

namespace millrace::engine {
namespace {

JobId id(std::uint8_t number) {
  JobId made;
  made.bytes[15] = number;
  return made;
}

core::OperationReply page(std::vector<std::uint8_t> numbers, std::uint8_t next = 0) {
  core::OperationReply reply;
  for (const std::uint8_t number : numbers) reply.parts.emplace_back().id = id(number);
  if (next > 0) reply.next = id(next);
  return reply;
}

std::string numbers(const core::OperationReply& reply) {
  std::string text;
  for (const core::OperationPart& part : reply.parts) {
    text += std::to_string(part.id.bytes[15]) + " ";
  }
  return text;
}

TEST(OperationParts, StayApart) {
  core::OperationReply whole = page({9, 7});
  merge_operations(whole, page({9, 8}));
  EXPECT_EQ(numbers(whole), "9 7 9 8 ");
  EXPECT_EQ(whole.next, core::kNoJob);
}

// A shard with a full page may have more parts after its last one.
TEST(OperationParts, OfFullPagesAsFarAsEveryShardHasTold) {
  for (const bool other_way : {false, true}) {
    core::OperationReply one = page({9, 5, 3}, 3);
    core::OperationReply two = page({9, 8, 6}, 6);
    core::OperationReply whole;
    merge_operations(whole, other_way ? two : one);
    merge_operations(whole, other_way ? one : two);
    EXPECT_EQ(numbers(whole), other_way ? "9 8 6 9 " : "9 9 8 6 ");
    EXPECT_EQ(whole.next, id(6));
  }
}

TEST(OperationParts, AShardWithoutAPartRefusesNothing) {
  core::OperationReply whole = page({9});
  core::OperationReply unknown;
  unknown.refusal.why = core::Rejection::kNotFound;
  merge_operations(whole, unknown);
  EXPECT_FALSE(whole.refusal);
  unknown.refusal.why = core::Rejection::kTooManyEntries;
  merge_operations(whole, unknown);
  EXPECT_TRUE(whole.refusal);
}

}  // namespace
}  // namespace millrace::engine
