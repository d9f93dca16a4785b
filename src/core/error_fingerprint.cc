#include "core/error_fingerprint.h"

#include <algorithm>

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

}  // namespace

std::uint64_t error_fingerprint(std::string_view type, std::string_view message) {
  Hash hash;
  hash.add(type);
  hash.add('\0');
  for (std::size_t i = 0; i < message.size();) {
    const char c = message[i];
    if (c == '"' || c == '\'' || c == '`') {
      const std::size_t close = message.find(c, i + 1);
      if (close != std::string_view::npos) {
        hash.add("<text>");
        i = close + 1;
        continue;
      }
    }
    if (!is_word(c)) {
      hash.add(c);
      ++i;
      continue;
    }
    const std::size_t begin = i;
    while (i < message.size() && is_word(message[i])) ++i;
    const std::string_view word = message.substr(begin, i - begin);
    if (std::any_of(word.begin(), word.end(), is_digit)) {
      hash.add('#');  // a number, an id, an address: any word with a digit
    } else {
      hash.add(word);
    }
  }
  return hash.value();
}

}  // namespace millrace::core
