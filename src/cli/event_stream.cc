#include "cli/event_stream.h"

#include <algorithm>
#include <utility>

namespace millrace::cli {

bool StreamParser::feed(std::string_view bytes) {
  rest_ += bytes;
  std::size_t begin = 0;
  for (;;) {
    const std::size_t end = rest_.find('\n', begin);
    if (end == std::string::npos) break;
    std::string_view text = std::string_view(rest_).substr(begin, end - begin);
    if (text.ends_with('\r')) text.remove_suffix(1);
    begin = end + 1;
    if (!line(text)) return false;
  }
  rest_.erase(0, begin);
  return true;
}

bool StreamParser::line(std::string_view text) {
  if (text.empty()) {
    StreamMessage message = std::exchange(message_, {});
    const bool is_complete = std::exchange(has_data_, false);
    if (message.event.empty()) message.event = "message";
    return !is_complete || take_(std::move(message));
  }
  if (text.starts_with(':')) return true;  // a comment
  const std::size_t colon = std::min(text.find(':'), text.size());
  const std::string_view name = text.substr(0, colon);
  std::string_view value = text.substr(std::min(colon + 1, text.size()));
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (name == "event") message_.event = value;
  if (name == "id") message_.id = value;
  if (name == "data") {
    if (has_data_) message_.data += '\n';
    message_.data += value;
    has_data_ = true;
  }
  return true;
}

sdk::Milliseconds ComeBack::next() {
  // xorshift64: random enough for jitter.
  random_ ^= random_ << 13;
  random_ ^= random_ >> 7;
  random_ ^= random_ << 17;
  const auto most = pause_.count();
  const auto pause =
      most / 2 + static_cast<std::int64_t>(random_ % static_cast<std::uint64_t>(most));
  pause_ = std::min(pause_ * 2, kLast);
  return sdk::Milliseconds{pause};
}

}  // namespace millrace::cli
