#include "engine/wire/request_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <utility>

#include "core/arbitrary.h"
#include "core/describe_testing.h"
#include "core/same.h"
#include "engine/wire/request_fields.h"
#include "store/record_wire.h"
#include "store/wire_reader.h"
#include "store/wire_writer.h"

namespace millrace::engine {
namespace {

using core::Arbitrary;
using core::same;
using ::testing::HasSubstr;
using namespace std::string_view_literals;

static_assert(core::Alternatives<Request>::kAreWhole && core::Alternatives<Answer>::kAreWhole);
static_assert(core::are_whole<WorkerInfo, WorkerCommand, WorkerView>());

std::string encoded(const Request& request) {
  std::string body;
  encode_request(request, body);
  return body;
}
std::string encoded(const Answer& answer) {
  std::string body;
  encode_answer(answer, body);
  return body;
}

// --- The tests.

TEST(RequestCodec, GivesBackEveryMemberOfEveryRequest) {
  ASSERT_TRUE(rc::check([](std::uint64_t seed) {
    const Request request = Arbitrary(seed).any<Request>();
    const auto read = decode_request(encoded(request));
    RC_ASSERT(read.has_value());
    RC_ASSERT(same(*read, request));
  }));
}

TEST(RequestCodec, GivesBackEveryMemberOfEveryAnswer) {
  ASSERT_TRUE(rc::check([](std::uint64_t seed) {
    const Answer answer = Arbitrary(seed).any<Answer>();
    const auto read = decode_answer(encoded(answer));
    RC_ASSERT(read.has_value());
    RC_ASSERT(same(*read, answer));
  }));
}

template <std::size_t Count, typename Check>
void for_each_alternative(Check check) {
  [&]<std::size_t... Index>(std::index_sequence<Index...>) {
    (check(std::integral_constant<std::size_t, Index>()), ...);
  }(std::make_index_sequence<Count>());
}

void expect_back(const Request& request) {
  const auto read = decode_request(encoded(request));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(same(*read, request)) << "alternative " << request.index();
}
void expect_back(const Answer& answer) {
  const auto read = decode_answer(encoded(answer));
  ASSERT_TRUE(read) << read.error().message;
  ASSERT_TRUE(same(*read, answer)) << "alternative " << answer.index();
}

constexpr int kRounds = 200;

TEST(RequestCodec, EveryAlternativeHoldsUnderManySeeds) {
  for_each_alternative<std::variant_size_v<core::Command>>([](auto at) {
    Arbitrary make(at);
    for (int i = 0; i < kRounds; ++i) expect_back(Request(make.alternative<at, core::Command>()));
  });
  for_each_alternative<std::variant_size_v<Request>>([](auto at) {
    Arbitrary make(at);
    for (int i = 0; i < kRounds; ++i) expect_back(make.alternative<at, Request>());
  });
  for_each_alternative<std::variant_size_v<core::Reply>>([](auto at) {
    Arbitrary make(at);
    for (int i = 0; i < kRounds; ++i) expect_back(Answer(make.alternative<at, core::Reply>()));
  });
  for_each_alternative<std::variant_size_v<Answer>>([](auto at) {
    Arbitrary make(at);
    for (int i = 0; i < kRounds; ++i) expect_back(make.alternative<at, Answer>());
  });
}

// --- Messages to an older node.

// A record with a member that came later, as one of a later version will have.
struct Grown {
  std::uint32_t old_member = 0;
  std::uint32_t new_member = 0;
};
constexpr auto describe(core::Of<Grown>) {
  return std::tuple(core::Field(1, &Grown::old_member),
                    core::Field(2, &Grown::new_member).since(2));
}

TEST(RequestCodec, AnOlderNodeIsToldWhatItKnows) {
  const auto told = [](std::uint32_t level) {
    std::string body;
    store::WireWriter wire(body, Time{}, nullptr, level);
    wire.message(1, Grown{3, 4});
    wire.finish();
    return body;
  };
  EXPECT_EQ(told(1), std::string("\x0a\x02\x08\x03"));
  EXPECT_EQ(told(2), std::string("\x0a\x04\x08\x03\x10\x04"));
  Grown read;
  store::WireReader(told(1), Time{}).message(1, read);
  EXPECT_EQ(read.old_member, 3U);
  EXPECT_EQ(read.new_member, 0U);
}

TEST(RequestCodec, KindsHaveTheLevelThatBroughtThem) {
  core::Enqueue enqueue;
  enqueue.jobs.resize(2);
  EXPECT_EQ(level_of(core::Command(enqueue)), PeerLevel::kFirst);
  EXPECT_EQ(level_of(Poll{}), PeerLevel::kFirst);
  EXPECT_EQ(level_of(core::Command(core::CreateWorkflow{})), PeerLevel::kWorkflows);
  EXPECT_EQ(level_of(core::Command(core::GetWorkflow{})), PeerLevel::kWorkflows);
  EXPECT_EQ(level_of(core::Command(core::SettleMembers{})), PeerLevel::kWorkflows);
}

// The value, and the names it refers to: none.
std::string with_no_names(std::string_view value) {
  return std::string(value) + std::string("\x12\x00", 2);
}

TEST(RequestCodec, RefusesAnUnknownKind) {
  // {1: {99: {}}}
  EXPECT_THAT(decode_request(with_no_names("\x0a\x03\x9a\x06\x00"sv)).error().message,
              HasSubstr("unknown or misplaced field 99"));
  EXPECT_THAT(decode_answer(with_no_names("\x0a\x03\x9a\x06\x00"sv)).error().message,
              HasSubstr("unknown or misplaced field 99"));
  // {1: {1: {99: {}}}}: a command
  EXPECT_THAT(decode_request(with_no_names("\x0a\x05\x0a\x03\x9a\x06\x00"sv)).error().message,
              HasSubstr("unknown or misplaced field 99"));
}

TEST(RequestCodec, RefusesTwoAlternatives) {
  // {1: {6: {}, 8: {}}}
  EXPECT_TRUE(decode_request(with_no_names("\x0a\x02\x32\x00"sv)));
  EXPECT_THAT(decode_request(with_no_names("\x0a\x04\x32\x00\x42\x00"sv)).error().message,
              HasSubstr("unknown or misplaced field 8"));
}

TEST(RequestCodec, RefusesAnUnknownFieldOrValue) {
  // {1: {6: {1: 1}}}: a member that AwaitProjection does not have
  EXPECT_THAT(decode_request(with_no_names("\x0a\x04\x32\x02\x08\x01"sv)).error().message,
              HasSubstr("unknown or misplaced field 1"));
  // {1: {5: {1: 6}}}, {1: {5: {1: 7}}}: Unavailable
  EXPECT_TRUE(decode_answer(with_no_names("\x0a\x04\x2a\x02\x08\x06"sv)));
  EXPECT_THAT(decode_answer(with_no_names("\x0a\x04\x2a\x02\x08\x07"sv)).error().message,
              HasSubstr("unknown value of field 1"));
  EXPECT_THAT(decode_answer(with_no_names("\x0a\x02\x2a\x00"sv)).error().message,
              HasSubstr("missing field 1"));
}

// A node that does not know states and versions can read a message without them.
TEST(RequestCodec, WhatIsNotNamedTakesNoBytes) {
  core::Delete command{{JobId{}}, core::DeleteCause::kPurge};
  const std::string plain = encoded(core::Command(command));
  command.states = core::StateSet::of({core::State::kDead});
  command.if_version = 1;
  EXPECT_EQ(encoded(core::Command(command)).size(), plain.size() + 3 + 2);
}

TEST(RequestCodec, RefusesNothing) {
  EXPECT_THAT(decode_request("").error().message, HasSubstr("missing"));
  EXPECT_THAT(decode_answer({"\x0a\x00", 2}).error().message, HasSubstr("missing field 1"));
}

TEST(RequestCodec, EveryCutBodyIsReadOrRefusedNeverWorse) {
  for (std::uint64_t seed = 0; seed < 30; ++seed) {
    const std::string body = encoded(Arbitrary(seed).any<Request>());
    for (std::size_t size = 0; size < body.size(); ++size) {
      // A copy of exactly that size, so that the address sanitizer sees a read past its end.
      const std::vector<char> cut(body.begin(), body.begin() + static_cast<std::ptrdiff_t>(size));
      const auto read = decode_request({cut.data(), cut.size()});
      if (read) {
        EXPECT_EQ(encoded(*read).size(), size);
      }
    }
  }
}

TEST(RequestCodec, EveryFlippedBitIsReadOrRefusedNeverWorse) {
  for (std::uint64_t seed = 0; seed < 12; ++seed) {
    const std::string body = encoded(Arbitrary(seed).any<Answer>());
    for (std::size_t bit = 0; bit < std::min<std::size_t>(body.size(), 2'000) * 8; ++bit) {
      std::string flipped = body;
      flipped[bit / 8] = static_cast<char>(flipped[bit / 8] ^ (1 << (bit % 8)));
      if (const auto read = decode_answer(flipped)) {
        const auto again = decode_answer(encoded(*read));
        ASSERT_TRUE(again && same(*again, *read));
      }
    }
  }
}

}  // namespace
}  // namespace millrace::engine
