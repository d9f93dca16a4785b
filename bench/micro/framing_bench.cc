// The framing of requests: the guard that reads every head, and the decoder of chunked bodies.
#include <fmt/format.h>

#include <string>
#include <string_view>

#include "base/check.h"
#include "http/connection/chunk_decoder.h"
#include "http/connection/request_guard.h"
#include "micro.h"

namespace millrace::bench {
namespace {

// As sent by an HTTP library behind a proxy, with a token and a trace.
constexpr std::string_view kTypicalHead =
    "POST /v1/jobs/batch HTTP/1.1\r\n"
    "Host: queue.internal:7600\r\n"
    "User-Agent: python-requests/2.31.0\r\n"
    "Accept-Encoding: gzip, deflate\r\n"
    "Accept: */*\r\n"
    "Connection: keep-alive\r\n"
    "Content-Type: application/json\r\n"
    "Authorization: Bearer mlr_worker_3f9a1c5e7b2d4f608192a3b4c5d6e7f8091a2b3c4d5e6f70\r\n"
    "X-Forwarded-For: 10.0.3.17\r\n"
    "X-Request-Id: 5f0c2c5e-8d7c-4b5e-9f1a-2d3c4b5a6978\r\n"
    "traceparent: 00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01\r\n"
    "Content-Length: 26204\r\n"
    "\r\n";

// The smallest valid head.
constexpr std::string_view kLeastHead =
    "POST /v1/jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
    "Content-Length: 262\r\n\r\n";

void guard(benchmark::State& state, std::string_view head) {
  http::RequestGuard guard{http::HeadLimits{}};
  for (auto _ : state) {
    guard.reset();
    const auto verdict = guard.advance(head);
    MILLRACE_CHECK(verdict == http::RequestGuard::Verdict::kComplete);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(head.size()));
}
BENCHMARK_CAPTURE(guard, typical, kTypicalHead)->Name("http/guard/typical_head");
BENCHMARK_CAPTURE(guard, least, kLeastHead)->Name("http/guard/least_head");

std::string chunked(std::size_t bytes, std::size_t chunk) {
  std::string text;
  for (std::size_t made = 0; made < bytes; made += chunk) {
    text += fmt::format("{:x}\r\n{}\r\n", chunk, std::string(chunk, 'x'));
  }
  return text + "0\r\n\r\n";
}

// The decoder works in place, so each body is copied first, which is not counted.
void chunks(benchmark::State& state) {
  constexpr std::size_t kContent = 1024 * 1024;
  const std::string sent = chunked(kContent, static_cast<std::size_t>(state.range(0)));
  http::ChunkDecoder decoder;
  std::string body;
  for (auto _ : state) {
    body = sent;
    const auto verdict = timed(state, [&] {
      decoder.reset(kContent);
      std::size_t received = body.size();
      return decoder.advance(body.data(), received);
    });
    MILLRACE_CHECK(verdict == http::ChunkDecoder::Verdict::kComplete);
    MILLRACE_CHECK(decoder.content_size() == kContent);
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(kContent));
}
BENCHMARK(chunks)
    ->Name("http/chunks/of_1MiB")
    ->ArgName("chunk")
    ->Arg(16)
    ->Arg(4'096)
    ->UseManualTime()
    ->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace millrace::bench
