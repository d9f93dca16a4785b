// Reads a request's head strictly, and refuses every head that two readers could frame differently.
// It is the only reader of heads, so no other reader can disagree with it.
//
// Strict means: lines end only in CRLF; no folding, no control characters, no space before a colon;
// one Host; at most one Content-Length of digits; Transfer-Encoding only as "chunked", and never
// together with Content-Length. The verdict depends only on the bytes, not on how they were split.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "api/method.h"
#include "api/problem.h"

namespace millrace::http {

struct HeadLimits {
  std::size_t block_bytes = 16 * 1024;  // request line, fields and the empty line
  std::size_t fields = 64;
  std::size_t target_bytes = 8 * 1024;
};

// Views of the buffer that was read; invalid once the buffer is moved.
struct Field {
  std::string_view name;
  std::string_view value;  // without the white space around it
};

struct RequestHead {
  api::Method method = api::Method::kOther;
  std::string_view method_text;
  std::string_view target;  // origin form: starts with '/'
  bool http_1_0 = false;
  bool keep_alive = true;
  bool expects_continue = false;
  bool chunked = false;
  std::optional<std::uint64_t> content_length;  // saturates; never together with `chunked`
  std::vector<Field> fields;

  std::string_view path() const { return target.substr(0, target.find('?')); }
  std::string_view query() const;  // without the '?'
  // The first field of this name, in any case; `name` is in lower case. Null: there is none.
  const Field* find(std::string_view name) const;
};

// The reason for a refusal. The connection is closed after the answer.
struct GuardFault {
  api::ProblemCode code{};
  std::string_view detail;  // a constant, suitable for the client
};

// Reads one head. Whenever more bytes have come, call advance() with all bytes since the start of
// the request. Call reset() before the next request.
class RequestGuard {
 public:
  enum class Verdict : std::uint8_t { kNeedMore, kComplete, kRefused };

  explicit RequestGuard(const HeadLimits& limits) : limits_(limits) {}

  // `received` must start at the same byte in every call, but may be at a different address: the
  // views of head() are made when the head is complete.
  Verdict advance(std::string_view received);
  void reset();

  const RequestHead& head() const { return head_; }      // kComplete
  std::size_t head_size() const { return line_start_; }  // kComplete: where the body begins
  const GuardFault& fault() const { return *fault_; }    // kRefused

 private:
  Verdict refuse(api::ProblemCode code, std::string_view detail);
  std::optional<GuardFault> overflow(std::size_t line_size) const;
  Verdict read_head(std::string_view block);
  std::optional<GuardFault> read_request_line(std::string_view line);
  std::optional<GuardFault> read_field(std::string_view line);
  std::optional<GuardFault> note_repeated(const Field& field) const;
  std::optional<GuardFault> note_framing(const Field& field, std::string_view untrimmed);
  std::optional<GuardFault> judge_framing() const;

  HeadLimits limits_;
  RequestHead head_;
  std::size_t line_start_ = 0;  // of the line being received; all lines before it are complete
  std::size_t scanned_ = 0;     // there is no line feed before this
  std::size_t field_lines_ = 0;
  std::size_t hosts_ = 0;
  bool asks_keep_alive_ = false;
  bool asks_close_ = false;
  std::optional<GuardFault> fault_;
};

}  // namespace millrace::http
