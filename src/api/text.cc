#include "api/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>
#include <vector>

#include "api/bounds.h"
#include "base/hex.h"
#include "base/tomorrow.h"
#include "base/utf8.h"

namespace millrace::api {
namespace {

constexpr std::size_t kMaxQuotedBytes = 64;
constexpr std::size_t kMaxSuggestedBytes = 32;  // the distance takes quadratic time

constexpr std::array<bool, 256> make_name_characters() {
  std::array<bool, 256> table{};
  for (const char c :
       std::string_view("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._:/-")) {
    table[static_cast<unsigned char>(c)] = true;
  }
  return table;
}
constexpr std::array<bool, 256> kNameCharacters = make_name_characters();

// The Levenshtein distance.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0];
    row[0] = i + 1;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t above = row[j + 1];
      row[j + 1] = std::min({above + 1, row[j] + 1, diagonal + (a[i] == b[j] ? 0 : 1)});
      diagonal = above;
    }
  }
  return row.back();
}

}  // namespace

bool is_name_character(char c) { return kNameCharacters[static_cast<unsigned char>(c)]; }

bool is_name(std::string_view text) {
  if (is_of_tomorrow(text)) return true;
  return !text.empty() && text.size() <= kMaxNameBytes && text != "." && text != ".." &&
         std::ranges::all_of(text, is_name_character);
}

bool is_visible(std::string_view text) {
  return std::ranges::all_of(text, [](char c) { return c >= '!' && c <= '~'; });
}

std::optional<std::string> percent_decode(std::string_view text, PlusSign plus) {
  std::string decoded;
  decoded.reserve(text.size());
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (text.size() - i < 3) return std::nullopt;
      const int high = hex_value(text[i + 1]);
      const int low = hex_value(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      decoded.push_back(text[i] == '+' && plus == PlusSign::kSpace ? ' ' : text[i]);
    }
  }
  if (!is_utf8(decoded)) return std::nullopt;
  return decoded;
}

std::string_view nearest(std::string_view word, std::span<const std::string_view> known) {
  std::string_view best;
  if (word.empty() || word.size() > kMaxSuggestedBytes) return best;
  std::size_t best_distance =
      word.size() <= 4 ? 2 : 3;  // one typing error in a short word, two in a long one
  for (const std::string_view candidate : known) {
    const std::size_t distance = edit_distance(word, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  return best;
}

std::string words_rule(std::span<const std::string_view> words) {
  return fmt::format("must be one of {}", fmt::join(words, ", "));
}

std::string describe_faults(std::size_t count) {
  return count == 1 ? "1 fault" : std::to_string(count) + " faults";
}

std::string single_quoted(std::string_view text) {
  const std::string_view cut = cut_utf8(text, kMaxQuotedBytes);
  std::string result = "'";
  for (const char c : cut) {
    const auto byte = static_cast<unsigned char>(c);
    result.push_back(byte < 0x20 || byte == 0x7F ? '?' : c);
  }
  if (cut.size() < text.size()) result += "...";
  result += "'";
  return result;
}

}  // namespace millrace::api
