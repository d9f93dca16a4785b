// Server-sent events: a parser for the stream, and the pauses between reconnection attempts.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "millrace/client.h"

namespace millrace::cli {

struct StreamMessage {
  std::string event{};  // "message" if the stream names none
  std::string id{};     // empty: none
  std::string data{};
};

// Splits a stream into messages, however its bytes are divided.
class StreamParser {
 public:
  // Returns false to stop.
  using Take = std::function<bool(StreamMessage message)>;
  explicit StreamParser(Take take) : take_(std::move(take)) {}

  // False: the callback wants no more.
  bool feed(std::string_view bytes);

 private:
  bool line(std::string_view text);

  Take take_;
  std::string rest_;  // an incomplete line
  StreamMessage message_;
  bool has_data_ = false;
};

// Pauses between attempts to reconnect. They double within bounds, with random jitter so that many
// readers do not reconnect at the same moment.
class ComeBack {
 public:
  static constexpr sdk::Milliseconds kFirst{500};
  static constexpr sdk::Milliseconds kLast{15'000};
  explicit ComeBack(std::uint64_t seed) : random_(seed | 1) {}
  sdk::Milliseconds next();
  void reset() { pause_ = kFirst; }

 private:
  sdk::Milliseconds pause_ = kFirst;
  std::uint64_t random_;
};

}  // namespace millrace::cli
