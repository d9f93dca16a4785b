#include "http/connection/chunk_decoder.h"

#include <algorithm>
#include <cstring>

#include "base/hex.h"

namespace millrace::http {
namespace {

using api::ProblemCode;

// More digits than any size here needs. Leading zeros count too, so a size can't be drawn out.
constexpr unsigned kMaxSizeDigits = 15;

}  // namespace

void ChunkDecoder::reset(std::size_t max_bytes) {
  state_ = State::kSizeFirst;
  max_bytes_ = max_bytes;
  content_ = 0;
  chunk_left_ = 0;
  digits_ = 0;
}

ChunkDecoder::Verdict ChunkDecoder::refuse(ProblemCode code, std::string_view detail) {
  fault_ = GuardFault{code, detail};
  return Verdict::kRefused;
}

ChunkDecoder::Verdict ChunkDecoder::advance(char* body, std::size_t& received) {
  std::size_t in = content_;
  Verdict verdict = Verdict::kNeedMore;
  while (verdict == Verdict::kNeedMore && in < received) {
    if (state_ == State::kData) {
      const auto size = static_cast<std::size_t>(
          std::min<std::uint64_t>(chunk_left_, static_cast<std::uint64_t>(received - in)));
      if (in != content_) std::memmove(body + content_, body + in, size);
      content_ += size;
      in += size;
      chunk_left_ -= size;
      if (chunk_left_ == 0) state_ = State::kDataCr;
      continue;
    }
    verdict = take(body[in++]);
  }
  // Removes the framing: moves the bytes after it, content or not, to the end of the content.
  if (in != content_) std::memmove(body + content_, body + in, received - in);
  received -= in - content_;
  return verdict;
}

ChunkDecoder::Verdict ChunkDecoder::take(char c) {
  switch (state_) {
    case State::kSizeFirst:
      digits_ = 0;
      chunk_left_ = 0;
      if (hex_value(c) < 0) {
        return refuse(ProblemCode::kInvalidRequest, "a chunk must start with its size");
      }
      state_ = State::kSize;
      return take_size_digit(c);
    case State::kSize:
      if (hex_value(c) >= 0) return take_size_digit(c);
      if (c != '\r') {
        return refuse(ProblemCode::kInvalidRequest, "CRLF must follow the size of a chunk");
      }
      // Checked only now, so that a malformed size (too many digits: 400) is reported before a
      // large one.
      if (chunk_left_ > max_bytes_ - content_) {
        return refuse(ProblemCode::kPayloadTooLarge, "the body is too large");
      }
      state_ = State::kSizeLf;
      return Verdict::kNeedMore;
    case State::kSizeLf:
      return expect(c, '\n', chunk_left_ == 0 ? State::kEndCr : State::kData);
    case State::kDataCr:
      return expect(c, '\r', State::kDataLf);
    case State::kDataLf:
      return expect(c, '\n', State::kSizeFirst);
    case State::kEndCr:
      if (c != '\r') {
        return refuse(ProblemCode::kInvalidRequest, "the server does not accept trailer fields");
      }
      state_ = State::kEndLf;
      return Verdict::kNeedMore;
    case State::kEndLf: {
      const Verdict verdict = expect(c, '\n', State::kDone);
      return verdict == Verdict::kNeedMore ? Verdict::kComplete : verdict;
    }
    case State::kData:
    case State::kDone:
      break;
  }
  return Verdict::kComplete;
}

ChunkDecoder::Verdict ChunkDecoder::take_size_digit(char c) {
  if (++digits_ > kMaxSizeDigits) {
    return refuse(ProblemCode::kInvalidRequest, "a chunk's size has too many digits");
  }
  chunk_left_ = chunk_left_ * 16 + static_cast<std::uint64_t>(hex_value(c));
  return Verdict::kNeedMore;
}

ChunkDecoder::Verdict ChunkDecoder::expect(char c, char wanted, State then) {
  if (c != wanted) {
    return refuse(ProblemCode::kInvalidRequest, "CRLF must follow the data of a chunk");
  }
  state_ = then;
  return Verdict::kNeedMore;
}

}  // namespace millrace::http
