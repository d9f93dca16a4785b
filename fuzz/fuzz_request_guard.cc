// Any bytes as a connection's input: the verdict on a head, and on a chunked body after it, must
// not depend on how the bytes were split, and nothing beyond them may be read. An accepted head is
// framed the same by readers with other habits.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <string>
#include <string_view>
#include <vector>

#include "base/check.h"
#include "http/connection/chunk_decoder.h"
#include "http/connection/request_guard.h"
#include "lenient_reader.h"

namespace {

using millrace::http::ChunkDecoder;
using millrace::http::HeadLimits;
using millrace::http::RequestGuard;

constexpr HeadLimits kLimits{.block_bytes = 512, .fields = 8, .target_bytes = 128};
constexpr std::size_t kMaxBodyBytes = 256;

struct Outcome {
  RequestGuard::Verdict head{};
  std::size_t head_size = 0;
  std::string_view head_fault;
  ChunkDecoder::Verdict body{};
  std::string_view body_fault;
  std::string content;
  friend bool operator==(const Outcome&, const Outcome&) = default;
};

void check_framing(const millrace::http::RequestHead& head, std::string_view block) {
  for (const millrace::fuzz::Leniency& leniency : millrace::fuzz::kLenientReaders) {
    const auto framing = millrace::fuzz::LenientReader(leniency).read(block);
    MILLRACE_CHECK(framing.has_value());
    MILLRACE_CHECK(framing->chunked == head.chunked);
    MILLRACE_CHECK(framing->length.empty() == !head.content_length);
    const bool saturated = framing->length.size() > 19;
    MILLRACE_CHECK(!head.content_length || saturated ||
                   framing->length == std::to_string(*head.content_length));
  }
}

// Passes `input` in steps of `step` bytes, each time in memory of exactly that size, so that the
// sanitizer detects a read beyond it.
Outcome run(std::string_view input, std::size_t step) {
  Outcome outcome;
  RequestGuard guard(kLimits);
  std::size_t given = 0;
  do {
    given = std::min(input.size(), given + step);
    const std::vector<char> received(input.begin(), input.begin() + static_cast<long>(given));
    outcome.head = guard.advance(std::string_view(received.data(), received.size()));
    if (outcome.head == RequestGuard::Verdict::kComplete) {
      outcome.head_size = guard.head_size();
      MILLRACE_CHECK(!guard.head().target.empty() && guard.head().target[0] == '/');
      MILLRACE_CHECK(!(guard.head().chunked && guard.head().content_length));
    }
  } while (outcome.head == RequestGuard::Verdict::kNeedMore && given < input.size());
  if (outcome.head == RequestGuard::Verdict::kRefused) outcome.head_fault = guard.fault().detail;
  if (outcome.head != RequestGuard::Verdict::kComplete) return outcome;
  if (step >= input.size()) check_framing(guard.head(), input.substr(0, outcome.head_size));

  ChunkDecoder decoder;
  decoder.reset(kMaxBodyBytes);
  std::vector<char> body;
  given = outcome.head_size;
  do {
    const std::size_t next = std::min(input.size(), given + step);
    body.insert(body.end(), input.begin() + static_cast<long>(given),
                input.begin() + static_cast<long>(next));
    given = next;
    std::size_t received = body.size();
    outcome.body = decoder.advance(body.data(), received);
    MILLRACE_CHECK(received <= body.size() && decoder.content_size() <= received);
    MILLRACE_CHECK(decoder.content_size() <= kMaxBodyBytes);
    body.resize(received);
  } while (outcome.body == ChunkDecoder::Verdict::kNeedMore && given < input.size());
  if (outcome.body == ChunkDecoder::Verdict::kRefused) {
    outcome.body_fault = decoder.fault().detail;
  } else {
    outcome.content.assign(body.data(), decoder.content_size());
  }
  return outcome;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view input(reinterpret_cast<const char*>(data), size);
  const Outcome whole = run(input, std::max<std::size_t>(size, 1));
  MILLRACE_CHECK(run(input, 1) == whole);
  MILLRACE_CHECK(run(input, 7) == whole);
  return 0;
}
