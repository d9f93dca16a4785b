#include "engine/wire/request_codec.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <utility>

#include "core/arbitrary.h"
#include "core/describe_testing.h"
#include "core/same.h"
#include "engine/wire/request_fields.h"

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

// --- Messages to a node of the first level.

std::string at_first(const Request& request) {
  std::string body;
  encode_request(request, body, PeerLevel::kFirst);
  return body;
}

TEST(RequestCodec, AnOlderNodeIsToldWhatItKnows) {
  Poll poll;
  poll.worker.id = SharedBytes("w");
  const std::string plain_poll = encoded(Request(poll));
  poll.goodbye = true;
  EXPECT_NE(encoded(Request(poll)), plain_poll);
  EXPECT_EQ(at_first(poll), plain_poll);
  EXPECT_EQ(level_of(poll), PeerLevel::kFirst);

  WatchJob watch{.id = {}, .wait = Duration{5}};
  const std::string plain_watch = encoded(Request(watch));
  watch.lease = LeaseToken{9};
  EXPECT_EQ(at_first(watch), plain_watch);

  core::SetQueue settings;
  settings.queue = SharedBytes("mail");
  const std::string plain_settings = encoded(Request(core::Command(settings)));
  settings.create = true;
  EXPECT_EQ(at_first(core::Command(settings)), plain_settings);

  core::GetQueues queues;
  const std::string all_queues = at_first(core::Command(queues));
  queues.after = SharedBytes("mail");
  queues.limit = 10;
  queues.counts_only = true;
  EXPECT_EQ(at_first(core::Command(queues)), all_queues);
}

TEST(RequestCodec, WhatMeansNothingWithoutANewMemberIsNotForAnOlderNode) {
  EXPECT_EQ(level_of(core::Command(core::DeleteQueue{SharedBytes("mail")})), PeerLevel::kSecond);
  core::Enqueue enqueue;
  enqueue.jobs.resize(2);
  EXPECT_EQ(level_of(core::Command(enqueue)), PeerLevel::kFirst);
  enqueue.jobs[1].key = std::make_shared<core::SubmissionKey>();
  EXPECT_EQ(level_of(core::Command(enqueue)), PeerLevel::kSecond);
}

TEST(RequestCodec, AnOlderNodeIsToldAReasonThatItKnows) {
  const auto told = [](const Answer& answer) {
    std::string body;
    encode_answer(answer, body, PeerLevel::kFirst);
    auto read = decode_answer(body);
    EXPECT_TRUE(read);
    return read ? *read : Answer();
  };
  EXPECT_EQ(std::get<Unavailable>(told(Unavailable::kUpgrading)), Unavailable::kNoLeader);
  EXPECT_EQ(std::get<Unavailable>(told(Unavailable::kStorage)), Unavailable::kStorage);
  const auto refusal_told = [&](core::Refusal refusal) {
    core::ItemsReply reply;
    reply.items.emplace_back().refusal = refusal;
    const Answer answer = told(core::Reply(reply));
    return std::get<core::ItemsReply>(std::get<core::Reply>(answer)).items.at(0).refusal;
  };
  using core::RefusalDetail;
  using core::Rejection;
  const auto mismatch = refusal_told({Rejection::kIdMismatch, {}, RefusalDetail::kIdOfAnotherBody});
  EXPECT_EQ(mismatch.why, Rejection::kDuplicateJob);
  EXPECT_EQ(mismatch.detail, RefusalDetail{});
  EXPECT_EQ(refusal_told({Rejection::kTooManyQueues, {}, {}}).why, Rejection::kOverloaded);
  EXPECT_EQ(refusal_told({Rejection::kNotFound, {}, RefusalDetail::kOfAnotherState}).detail,
            RefusalDetail::kOfAnotherState);
}

TEST(RequestCodec, ANodeOfTheSixthLevelIsToldADetailThatItKnows) {
  using core::RefusalDetail;
  const auto told = [](RefusalDetail detail, PeerLevel level) {
    core::ItemsReply reply;
    reply.items.emplace_back().refusal = {core::Rejection::kOverloaded, {}, detail};
    std::string body;
    encode_answer(core::Reply(reply), body, level);
    const auto read = decode_answer(body);
    EXPECT_TRUE(read);
    return std::get<core::ItemsReply>(std::get<core::Reply>(*read)).items.at(0).refusal.detail;
  };
  const PeerLevel sixth = PeerLevel::kSixth;
  EXPECT_EQ(told(RefusalDetail::kMemoryFull, sixth), RefusalDetail::kBehind);
  EXPECT_EQ(told(RefusalDetail::kTooManyLimitKeys, sixth), RefusalDetail::kTooManyKeys);
  EXPECT_EQ(told(RefusalDetail::kTooManyOperationsOfToken, sixth),
            RefusalDetail::kTooManyOperations);
  EXPECT_EQ(told(RefusalDetail::kTooManyOperations, sixth), RefusalDetail::kTooManyOperations);
  for (const auto detail : {RefusalDetail::kMemoryFull, RefusalDetail::kTooManyLimitKeys}) {
    EXPECT_EQ(told(detail, PeerLevel::kSeventh), detail);
  }
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
