#include "base/words.h"

#include <algorithm>

#include "base/ascii.h"

namespace millrace {

std::string count_of(std::int64_t count, std::string_view one, std::string_view many) {
  std::string text = std::to_string(count);
  text += ' ';
  text += count == 1 ? one : many;
  return text;
}

std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return is_alphanumeric(c) || std::string_view("._:/-@%+,=").contains(c);
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

}  // namespace millrace
