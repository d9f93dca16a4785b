#include "core/jobs/error_fingerprint.h"

#include <algorithm>
#include <utility>

#include "base/ascii.h"
#include "base/random.h"

namespace millrace::core {
namespace {

bool is_word(char c) { return is_alphanumeric(c) || c == '_'; }

// FNV-1a, 64 bits (Fowler, Noll, Vo), finished with a mixer.
class Hash {
 public:
  void add(char c) { value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL; }
  void add(std::string_view text) {
    for (const char c : text) add(c);
  }
  std::uint64_t value() const { return std::max<std::uint64_t>(mix64(value_), 1); }

 private:
  std::uint64_t value_ = 0xcbf29ce484222325ULL;
};

class Text {
 public:
  void add(char c) { text_.push_back(c); }
  void add(std::string_view text) { text_ += text; }
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
};

template <typename Sink>
void add_pattern(Sink& sink, std::string_view message) {
  for (std::size_t i = 0; i < message.size();) {
    const char c = message[i];
    if (c == '"' || c == '\'' || c == '`') {
      const std::size_t close = message.find(c, i + 1);
      if (close != std::string_view::npos) {
        sink.add("<text>");
        i = close + 1;
        continue;
      }
    }
    if (!is_word(c)) {
      sink.add(c);
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < message.size() && is_word(message[i])) ++i;
    const std::string_view word = message.substr(begin, i - begin);
    if (std::any_of(word.begin(), word.end(), is_digit)) {
      sink.add('#');  // a number, an id, an address: any word with a digit
    } else {
      sink.add(word);
    }
  }
}

}  // namespace

std::uint64_t error_fingerprint(std::string_view type, std::string_view message) {
  Hash hash;
  hash.add(type);
  hash.add('\0');
  add_pattern(hash, message);
  return hash.value();
}

std::string error_pattern(std::string_view message) {
  Text text;
  add_pattern(text, message);
  return text.take();
}

}  // namespace millrace::core
