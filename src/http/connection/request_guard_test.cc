// The corpus of heads that must be refused, and of those that must not, at every split point.
#include "http/connection/request_guard.h"

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace millrace::http {
namespace {

using api::ProblemCode;
using Verdict = RequestGuard::Verdict;
using std::string_view_literals::operator""sv;

struct Outcome {
  Verdict verdict{};
  int status = 0;
  std::string_view detail;
  std::size_t head_size = 0;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

Outcome outcome_of(const RequestGuard& guard, Verdict verdict) {
  if (verdict == Verdict::kRefused) {
    return {verdict, api::kind_of(guard.fault().code).status, guard.fault().detail, 0};
  }
  return {verdict, 0, {}, verdict == Verdict::kComplete ? guard.head_size() : 0};
}

// Feeds `first` bytes, then the rest; with `step`, the rest in pieces of that size.
Outcome judge(std::string_view bytes, std::size_t first, std::size_t step,
              const HeadLimits& limits = {}) {
  RequestGuard guard(limits);
  std::size_t given = first;
  while (true) {
    // A copy of its own each time: the guard may not keep views of what it saw before.
    const std::string received(bytes.substr(0, given));
    const Verdict verdict = guard.advance(received);
    if (verdict != Verdict::kNeedMore || given == bytes.size()) return outcome_of(guard, verdict);
    given = std::min(bytes.size(), given + step);
  }
}

Outcome judge_at_every_split(std::string_view bytes, const HeadLimits& limits = {}) {
  const Outcome whole = judge(bytes, bytes.size(), 1, limits);
  for (std::size_t split = 0; split < bytes.size(); ++split) {
    EXPECT_EQ(judge(bytes, split, bytes.size(), limits), whole) << "split at " << split;
  }
  EXPECT_EQ(judge(bytes, 0, 1, limits), whole) << "byte by byte";
  return whole;
}

std::string request_with(std::string_view fields) {
  return "POST /v1/jobs HTTP/1.1\r\nHost: a\r\n" + std::string(fields) + "\r\n";
}

TEST(RequestGuard, RefusesWhateverCouldBeFramedInTwoWays) {
  constexpr std::string_view kCorpus[] = {
      "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
      "Transfer-Encoding: gzip\r\n",
      "Transfer-Encoding: gzip, chunked\r\n",
      "Transfer-Encoding: chunked, chunked\r\n",
      "Transfer-Encoding: chunked, identity\r\n",
      "Transfer-Encoding: identity\r\n",
      "Transfer-Encoding: xchunked\r\n",
      "Transfer-Encoding: chunkedx\r\n",
      "Transfer-Encoding: \"chunked\"\r\n",
      "Transfer-Encoding: Chunked\r\n",
      "Transfer-Encoding:\tchunked\r\n",
      "Transfer-Encoding: chunked\t\r\n",
      "Transfer-Encoding: \x0b"
      "chunked\r\n",
      "Transfer-Encoding:\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n",
      "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
      "Transfer-Encoding : chunked\r\n",
      "Transfer-Encoding\t: chunked\r\n",
      " Transfer-Encoding: chunked\r\n",
      "X: y\r\n Transfer-Encoding: chunked\r\n",
      "Transfer-Encoding:\r\n chunked\r\n",
      "X: y\rTransfer-Encoding: chunked\r\n",
      "Content-Length: 5\r\nContent-Length: 5\r\n",
      "Content-Length: 5\r\nContent-Length: 6\r\n",
      "Content-Length: 5, 5\r\n",
      "Content-Length: +5\r\n",
      "Content-Length: -5\r\n",
      "Content-Length: 0x5\r\n",
      "Content-Length: 5 5\r\n",
      "Content-Length: 5a\r\n",
      "Content-Length: 5.0\r\n",
      "Content-Length: \t5\r\n",
      "Content-Length:\r\n",
      "Content-Length : 5\r\n",
      "Content-Length: 5\n",
      "X: y\n",
      "X: y\r\r\n",
      "X: a\rb\r\n",
      "X y\r\n",
      ": y\r\n",
      "X\x01: y\r\n",
      "X(: y\r\n",
      "X: a\x01z\r\n",
      "X: a\x7fz\r\n",
      "\tfolded\r\n",
      "Host: b\r\n",
      "Expect: 200-ok\r\n",
  };
  for (const std::string_view fields : kCorpus) {
    const Outcome outcome = judge_at_every_split(request_with(fields));
    EXPECT_EQ(outcome.verdict, Verdict::kRefused) << fields;
    EXPECT_EQ(outcome.status, 400) << fields;
  }
  EXPECT_EQ(judge_at_every_split(request_with("X: a\0z\r\n"sv)).status, 400) << "NUL in a value";
  EXPECT_EQ(judge_at_every_split(request_with("X\0: z\r\n"sv)).status, 400) << "NUL in a name";
}

TEST(RequestGuard, RefusesBadRequestLinesAndHosts) {
  constexpr std::string_view kCorpus[] = {
      "\r\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "\nGET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\nHost: a\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a\n\n",
      "GET /\r\nHost: a\r\n\r\n",
      "GET  / HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.1 \r\nHost: a\r\n\r\n",
      "GET\t/\tHTTP/1.1\r\nHost: a\r\n\r\n",
      "GET / HTTP/1.2\r\nHost: a\r\n\r\n",
      "GET / HTTP/2.0\r\nHost: a\r\n\r\n",
      "GET / http/1.1\r\nHost: a\r\n\r\n",
      "GET http://a/ HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET * HTTP/1.1\r\nHost: a\r\n\r\n",
      "CONNECT a:80 HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /a b HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /a#b HTTP/1.1\r\nHost: a\r\n\r\n",
      "GET /\x80 HTTP/1.1\r\nHost: a\r\n\r\n",
      "G@T / HTTP/1.1\r\nHost: a\r\n\r\n",
      " GET / HTTP/1.1\r\nHost: a\r\n\r\n",
      "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
      "GET / HTTP/1.1\r\n\r\n",
      "GET / HTTP/1.1\r\nHost:\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n",
      "GET / HTTP/1.1\r\nHost: a@b\r\n\r\n",
      "GET / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n",
  };
  for (const std::string_view bytes : kCorpus) {
    const Outcome outcome = judge_at_every_split(bytes);
    EXPECT_EQ(outcome.verdict, Verdict::kRefused) << bytes;
    EXPECT_EQ(outcome.status, 400) << bytes;
  }
}

TEST(RequestGuard, RefusesTwoValuesOfWhatHasOne) {
  for (const char* name : {"If-Match", "Idempotency-Key", "Authorization", "Content-Type"}) {
    const auto verdict = [&](const std::string& first, const std::string& second) {
      const std::string field = std::string(name) + ": ";
      return judge_at_every_split(
                 request_with(field + first + "\r\nX-Other: x\r\n" + field + second + "\r\n"))
          .verdict;
    };
    EXPECT_EQ(verdict("1", "2"), Verdict::kRefused) << name;
    EXPECT_EQ(verdict("1", " 1 "), Verdict::kComplete) << name;
  }
}

TEST(RequestGuard, ReadsAHead) {
  const std::string bytes =
      "PATCH /v1/jobs/x?include=payload&a=%20 HTTP/1.1\r\nhOST: [::1]:7600\r\nX-Empty:\r\n"
      "X-Wide: \t v\xc3\xa9 w \t\r\nContent-Length: 007\r\nExpect: 100-Continue\r\n\r\n{\"a\":1}";
  RequestGuard guard{HeadLimits{}};
  ASSERT_EQ(guard.advance(bytes), Verdict::kComplete);
  const RequestHead& head = guard.head();
  EXPECT_EQ(head.method, api::Method::kPatch);
  EXPECT_EQ(head.path(), "/v1/jobs/x");
  EXPECT_EQ(head.query(), "include=payload&a=%20");
  EXPECT_EQ(head.content_length, 7u);
  EXPECT_TRUE(head.keep_alive);
  EXPECT_TRUE(head.expects_continue);
  EXPECT_FALSE(head.chunked);
  EXPECT_EQ(bytes.substr(guard.head_size()), "{\"a\":1}");
  ASSERT_NE(head.find("x-wide"), nullptr);
  EXPECT_EQ(head.find("x-wide")->value, "v\xc3\xa9 w");
  EXPECT_EQ(head.find("x-empty")->value, "");
  EXPECT_EQ(head.find("x-absent"), nullptr);
  EXPECT_EQ(judge_at_every_split(bytes).verdict, Verdict::kComplete);
}

TEST(RequestGuard, IsFreshAfterReset) {
  RequestGuard guard{HeadLimits{}};
  ASSERT_EQ(guard.advance("GET /a HTTP/1.1\r\nHost: a\r\nConnection: close\r\n"
                          "Content-Length: 3\r\n\r\n"),
            Verdict::kComplete);
  EXPECT_FALSE(guard.head().keep_alive);
  guard.reset();
  ASSERT_EQ(guard.advance("GET /b HTTP/1.1\r\nHost: b\r\n\r\n"), Verdict::kComplete);
  EXPECT_EQ(guard.head().target, "/b");
  EXPECT_TRUE(guard.head().keep_alive);
  EXPECT_FALSE(guard.head().content_length);
  EXPECT_EQ(guard.head().fields.size(), 1u);
}

TEST(RequestGuard, OldVersionsCloseUnlessAsked) {
  RequestGuard guard{HeadLimits{}};
  ASSERT_EQ(guard.advance("GET / HTTP/1.0\r\n\r\n"), Verdict::kComplete);
  EXPECT_FALSE(guard.head().keep_alive);
  guard.reset();
  ASSERT_EQ(guard.advance("GET / HTTP/1.0\r\nConnection: te, Keep-Alive\r\n\r\n"),
            Verdict::kComplete);
  EXPECT_TRUE(guard.head().keep_alive);
}

TEST(RequestGuard, ALengthTooLongForANumberIsALength) {
  RequestGuard guard{HeadLimits{}};
  ASSERT_EQ(guard.advance(request_with("Content-Length: 99999999999999999999999\r\n")),
            Verdict::kComplete);
  EXPECT_EQ(guard.head().content_length, std::numeric_limits<std::uint64_t>::max());
}

TEST(RequestGuard, BoundsTheTarget) {
  const HeadLimits limits{.block_bytes = 4096, .fields = 4, .target_bytes = 100};
  const auto target_of = [](std::size_t size) {
    return "GET /" + std::string(size - 1, 'a') + " HTTP/1.1\r\nHost: a\r\n\r\n";
  };
  EXPECT_EQ(judge_at_every_split(target_of(100), limits).verdict, Verdict::kComplete);
  EXPECT_EQ(judge_at_every_split(target_of(101), limits).status, 414);
  EXPECT_EQ(judge_at_every_split(target_of(1000), limits).status, 414);
  EXPECT_EQ(judge_at_every_split(target_of(5000), limits).status, 414);
}

TEST(RequestGuard, BoundsTheBlockAndTheFields) {
  const HeadLimits limits{.block_bytes = 1000, .fields = 4, .target_bytes = 100};
  const std::string start = "GET / HTTP/1.1\r\nHost: a\r\nX: ";
  const auto block_of = [&start](std::size_t size) {
    return start + std::string(size - start.size() - 4, 'x') + "\r\n\r\n";
  };
  EXPECT_EQ(judge_at_every_split(block_of(1000), limits).verdict, Verdict::kComplete);
  EXPECT_EQ(judge_at_every_split(block_of(1001), limits).status, 431);
  EXPECT_EQ(judge_at_every_split(block_of(3000), limits).status, 431);
  EXPECT_EQ(judge_at_every_split(start + std::string(2000, 'x'), limits).status, 431);

  const std::string line = "GET / HTTP/1.1\r\nHost: a\r\n";
  EXPECT_EQ(judge_at_every_split(line + "A: 1\r\nB: 2\r\nC: 3\r\n\r\n", limits).verdict,
            Verdict::kComplete);
  EXPECT_EQ(judge_at_every_split(line + "A: 1\r\nB: 2\r\nC: 3\r\nD: 4\r\n\r\n", limits).status,
            431);
}

}  // namespace
}  // namespace millrace::http
