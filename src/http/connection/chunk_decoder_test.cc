#include "http/connection/chunk_decoder.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace millrace::http {
namespace {

using Verdict = ChunkDecoder::Verdict;

struct Outcome {
  Verdict verdict{};
  int status = 0;
  std::string content;
  std::string rest;  // what belongs to the next request
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

// Like a session: appends bytes after those that the decoder left.
Outcome decode(std::string_view bytes, std::size_t first, std::size_t step, std::size_t max_bytes) {
  ChunkDecoder decoder;
  decoder.reset(max_bytes);
  std::string buffer;
  std::size_t given = 0;
  std::size_t next = first;
  while (true) {
    buffer += bytes.substr(given, next - given);
    given = next;
    std::size_t received = buffer.size();
    const Verdict verdict = decoder.advance(buffer.data(), received);
    buffer.resize(received);
    if (verdict == Verdict::kRefused) {
      return {verdict, api::kind_of(decoder.fault().code).status, {}, {}};
    }
    if (verdict == Verdict::kComplete || given == bytes.size()) {
      buffer += bytes.substr(given);
      return {verdict, 0, buffer.substr(0, decoder.content_size()),
              buffer.substr(decoder.content_size())};
    }
    next = std::min(bytes.size(), given + step);
  }
}

Outcome decode_at_every_split(std::string_view bytes, std::size_t max_bytes = 100) {
  const Outcome whole = decode(bytes, bytes.size(), 1, max_bytes);
  for (std::size_t split = 0; split < bytes.size(); ++split) {
    EXPECT_EQ(decode(bytes, split, bytes.size(), max_bytes), whole) << "split at " << split;
  }
  EXPECT_EQ(decode(bytes, 0, 1, max_bytes), whole) << "byte by byte";
  return whole;
}

TEST(ChunkDecoder, JoinsChunks) {
  const Outcome outcome =
      decode_at_every_split("3\r\nabc\r\n00A\r\n0123456789\r\n1\r\n\n\r\n0\r\n\r\nGET /next");
  EXPECT_EQ(outcome.verdict, Verdict::kComplete);
  EXPECT_EQ(outcome.content, "abc0123456789\n");
  EXPECT_EQ(outcome.rest, "GET /next");
}

TEST(ChunkDecoder, AnEmptyBodyIsABody) {
  const Outcome outcome = decode_at_every_split("0\r\n\r\n");
  EXPECT_EQ(outcome.verdict, Verdict::kComplete);
  EXPECT_EQ(outcome.content, "");
}

TEST(ChunkDecoder, RefusesLooseFraming) {
  constexpr std::string_view kCorpus[] = {
      "3;x=y\r\nabc\r\n0\r\n\r\n",
      "3 \r\nabc\r\n0\r\n\r\n",
      " 3\r\nabc\r\n0\r\n\r\n",
      "+3\r\nabc\r\n0\r\n\r\n",
      "0x3\r\nabc\r\n0\r\n\r\n",
      "g\r\n",
      "\r\nabc\r\n",
      "3\nabc\r\n0\r\n\r\n",
      "3\r\nabc\n0\r\n\r\n",
      "3\r\nabcd\r\n0\r\n\r\n",
      "3\r\nabc\r\n0\n\r\n",
      "3\r\nabc\r\n0\r\n\n",
      "3\r\nabc\r\n0\r\nTrailer: x\r\n\r\n",
      "3\r\nabc\r\n0;ext\r\n\r\n",
      "-1\r\n",
      "0000000000000003\r\nabc\r\n0\r\n\r\n",
      "FFFFFFFFFFFFFFFF\r\n",
      "10000000000000003\r\nabc\r\n0\r\n\r\n",
      "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF3\r\nabc\r\n0\r\n\r\n",
  };
  for (const std::string_view bytes : kCorpus) {
    const Outcome outcome = decode_at_every_split(bytes);
    EXPECT_EQ(outcome.verdict, Verdict::kRefused) << bytes;
    EXPECT_EQ(outcome.status, 400) << bytes;
  }
}

TEST(ChunkDecoder, RefusesBodiesThatAreTooLargeBeforeTheyCome) {
  for (const std::string_view bytes :
       {"FFFFFFFFFFFFFFF\r\n", "65\r\n", "000065\r\n",
        "32\r\n01234567890123456789012345678901234567890123456789\r\n33\r\n"}) {
    const Outcome outcome = decode_at_every_split(bytes);
    EXPECT_EQ(outcome.verdict, Verdict::kRefused) << bytes;
    EXPECT_EQ(outcome.status, 413) << bytes;
  }
  EXPECT_EQ(decode_at_every_split("64\r\n").verdict, Verdict::kNeedMore);
}

}  // namespace
}  // namespace millrace::http
