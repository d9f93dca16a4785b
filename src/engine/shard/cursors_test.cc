#include "engine/shard/cursors.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/random.h"

namespace millrace::engine {
namespace {

constexpr std::size_t kMostShards = 9;

bool is_url_safe(const std::string& text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || c == '.' || c == '-';
  });
}

// Often at an edge.
std::uint64_t number(Random& random, std::uint64_t least, std::uint64_t most) {
  switch (random.next() % 4) {
    case 0:
      return least;
    case 1:
      return most;
    default:
      return least + random.next() % (1 + ((most - least) >> (1 + random.next() % 50)));
  }
}

JobCursor any_cursor(Random& random, std::size_t shards) {
  JobCursor cursor;
  for (std::size_t i = 0; i < shards; ++i) {
    cursor.below.push_back(number(random, JobCursor::kEnded, JobCursor::kFromNewest));
  }
  std::uint64_t& one = cursor.below[random.next() % shards];
  if (one == JobCursor::kEnded) one = 1;  // it is not at its end
  return cursor;
}

EventPlaces any_places(Random& random, std::size_t shards) {
  EventPlaces places;
  for (std::size_t i = 0; i < shards; ++i) {
    places.push_back({number(random, 1, EventPlace::kMaxSeq),
                      number(random, 0, std::numeric_limits<std::uint64_t>::max())});
  }
  return places;
}

TEST(Cursors, AreReadBackAsTheyWereWritten) {
  Random random(1);
  for (int round = 0; round < 2'000; ++round) {
    const std::size_t shards = 1 + random.next() % kMostShards;
    const JobCursor cursor = any_cursor(random, shards);
    EXPECT_TRUE(is_url_safe(encode(cursor))) << encode(cursor);
    EXPECT_EQ(decode_job_cursor(encode(cursor), shards), cursor) << encode(cursor);
    const EventPlaces places = any_places(random, shards);
    EXPECT_TRUE(is_url_safe(encode(places))) << encode(places);
    EXPECT_EQ(decode_event_places(encode(places), shards), places) << encode(places);
  }
}

TEST(Cursors, AreOfSoManyShardsAndNoOthers) {
  Random random(2);
  for (std::size_t shards = 1; shards <= kMostShards; ++shards) {
    const std::string cursor = encode(any_cursor(random, shards));
    const std::string places = encode(any_places(random, shards));
    for (std::size_t others = 1; others <= kMostShards; ++others) {
      EXPECT_EQ(decode_job_cursor(cursor, others).has_value(), others == shards);
      EXPECT_EQ(decode_event_places(places, others).has_value(), others == shards);
    }
  }
}

TEST(Cursors, OfOneShardAreWhatTheyWereBeforeThereWereSeveral) {
  EXPECT_EQ(encode(JobCursor{{46'656}}), "1000");
  EXPECT_EQ(encode(EventPlaces{{128, 3}}), "128-3");
  EXPECT_EQ(encode(JobCursor{{46'656, JobCursor::kEnded, 35}}), "1000..z");
  EXPECT_EQ(encode(EventPlaces{{128, 3}, {1, 0}}), "128-3.1-0");
}

// Every other text is invalid, so no two texts mean the same cursor.
TEST(Cursors, HaveOneTextEach) {
  Random random(3);
  constexpr std::string_view kBytes = "0123456789az.-AZ +";
  for (int round = 0; round < 20'000; ++round) {
    const std::size_t shards = 1 + random.next() % 3;
    std::string text = random.next() % 2 == 0 ? encode(any_cursor(random, shards))
                                              : encode(any_places(random, shards));
    for (std::uint64_t left = random.next() % 3; left > 0 && !text.empty(); --left) {
      text[random.next() % text.size()] = kBytes[random.next() % kBytes.size()];
    }
    if (const auto cursor = decode_job_cursor(text, shards)) {
      EXPECT_EQ(encode(*cursor), text);
    }
    if (const auto places = decode_event_places(text, shards)) {
      EXPECT_EQ(encode(*places), text);
    }
  }
  for (const char* text : {"", ".", "0", "01", "Z", "1.", "-1", "1y2p0ij32e8e8"}) {
    EXPECT_FALSE(decode_job_cursor(text, 1)) << text;
  }
  EXPECT_TRUE(decode_job_cursor("1y2p0ij32e8e7", 1)) << "the largest";
  for (const char* text :
       {"", "1", "1-", "-1", "0-0", "01-0", "1-0.", "1--1", "9007199254740993-0"}) {
    EXPECT_FALSE(decode_event_places(text, 1)) << text;
  }
}

}  // namespace
}  // namespace millrace::engine
