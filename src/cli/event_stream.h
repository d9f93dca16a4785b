// A stream of server-sent events: messages out of bytes, and a reader that comes back where it was.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "millrace/client.h"

namespace millrace::cli {

struct StreamMessage {
  std::string event{};  // "message" where the stream names none
  std::string id{};     // empty: none
  std::string data{};
};

// Takes a stream apart, whatever pieces it comes in.
class StreamParser {
 public:
  // Returns false to take no more.
  using Take = std::function<bool(StreamMessage message)>;
  explicit StreamParser(Take take) : take_(std::move(take)) {}

  // False: the taker wants no more.
  bool feed(std::string_view bytes);

 private:
  bool line(std::string_view text);

  Take take_;
  std::string rest_;  // a line that is not complete
  StreamMessage message_;
  bool has_data_ = false;
};

// Pauses between attempts to come back: doubling, within bounds, each moved by chance, so that many
// readers do not come back together.
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
