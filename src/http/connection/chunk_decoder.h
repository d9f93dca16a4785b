// Reads a chunked body strictly: hexadecimal sizes, CRLF, no extensions, no trailers. Works in
// place: it moves the content to the front of the buffer in which the chunks arrived.
#pragma once

#include <cstddef>
#include <cstdint>

#include "http/connection/request_guard.h"

namespace millrace::http {

class ChunkDecoder {
 public:
  enum class Verdict : std::uint8_t { kNeedMore, kComplete, kRefused };

  // Starts a body of at most `max_bytes`.
  void reset(std::size_t max_bytes);

  // Continues reading. `body` points to the body's first byte, and `received` is the number of
  // bytes there, earlier content included. Framing is removed, which reduces `received`. On
  // kComplete the content is body[0, content_size()), and the bytes after it belong to the next
  // request. The verdict does not depend on how the bytes were split.
  Verdict advance(char* body, std::size_t& received);

  std::size_t content_size() const { return content_; }
  const GuardFault& fault() const { return fault_; }  // kRefused

 private:
  enum class State : std::uint8_t {
    kSizeFirst,  // the first digit of a chunk's size
    kSize,
    kSizeLf,
    kData,
    kDataCr,
    kDataLf,
    kEndCr,
    kEndLf,
    kDone,
  };
  Verdict refuse(api::ProblemCode code, std::string_view detail);
  // Reads one byte of framing; kNeedMore: continue.
  Verdict take(char c);
  Verdict take_size_digit(char c);
  Verdict expect(char c, char wanted, State then);

  State state_ = State::kSizeFirst;
  std::size_t max_bytes_ = 0;
  std::size_t content_ = 0;
  std::uint64_t chunk_left_ = 0;
  unsigned digits_ = 0;
  GuardFault fault_;
};

}  // namespace millrace::http
