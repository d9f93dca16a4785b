// The other servers of a chain, which read heads less strictly than ours, each in its own way. All
// of them must frame an accepted request as ours does, or a request could be smuggled.
#pragma once

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>
#include <string_view>

#include "base/ascii.h"

namespace millrace::fuzz {

// A reader's knowledge of where a request ends.
struct Framing {
  bool chunked = false;
  std::string length;  // digits without leading zeros; empty: none
  friend bool operator==(const Framing&, const Framing&) = default;
};

// The habits of a reader.
struct Leniency {
  bool bare_lf_ends_a_line = false;
  bool bare_cr_ends_a_line = false;
  bool folds_lines = false;  // a line that begins with white space continues the previous one
  bool keeps_tabs = false;   // at the ends of a value; otherwise all white space there is removed
  bool trims_names = false;  // "Content-Length : 5"
  bool first_wins = false;   // the first of several lengths counts; otherwise the last
  bool chunked_anywhere =
      false;  // "xchunked", "gzip, chunked"; otherwise the whole value must match
  bool length_beats_chunked = false;
};

class LenientReader {
 public:
  explicit LenientReader(const Leniency& leniency) : leniency_(leniency) {}

  // `head` includes its empty line and starts with the request line. None: the reader sees no end,
  // or one before the last byte.
  std::optional<Framing> read(std::string_view head) {
    std::string line;
    bool first = true;
    for (std::size_t at = 0; at < head.size();) {
      const std::size_t end = line_end(head, at);
      if (end == std::string_view::npos) return std::nullopt;
      std::string_view text = head.substr(at, end - at);
      if (text.ends_with('\r')) text.remove_suffix(1);
      at = end + 1;
      if (text.empty()) {
        field(line);
        return at == head.size() ? std::optional(settled()) : std::nullopt;
      }
      if (leniency_.folds_lines && is_space(text.front())) {
        line.append(text);
        continue;
      }
      if (!first) field(line);
      first = line.empty();
      line = first ? ":" : std::string(text);  // the request line is not a field
    }
    return std::nullopt;
  }

 private:
  static bool is_space(char c) { return static_cast<unsigned char>(c) <= ' '; }
  std::string_view trimmed(std::string_view text) const {
    const auto goes = [this](char c) { return leniency_.keeps_tabs ? c == ' ' : is_space(c); };
    while (!text.empty() && goes(text.front())) text.remove_prefix(1);
    while (!text.empty() && goes(text.back())) text.remove_suffix(1);
    return text;
  }

  std::size_t line_end(std::string_view head, std::size_t at) const {
    for (; at < head.size(); ++at) {
      const bool after_cr = at > 0 && head[at - 1] == '\r';
      if (head[at] == '\n' && (after_cr || leniency_.bare_lf_ends_a_line)) return at;
      const bool before_lf = at + 1 < head.size() && head[at + 1] == '\n';
      if (head[at] == '\r' && !before_lf && leniency_.bare_cr_ends_a_line) return at;
    }
    return std::string_view::npos;
  }

  void field(std::string_view line) {
    const std::size_t colon = std::min(line.find(':'), line.size());
    std::string_view name = line.substr(0, colon);
    if (leniency_.trims_names) name = trimmed(name);
    const std::string value = lowered(trimmed(line.substr(std::min(colon + 1, line.size()))));
    if (lowered(name) == "content-length") {
      if (!framing_.length.empty() && leniency_.first_wins) return;
      // Like strtoul: white space, a sign, then digits up to any other character.
      std::string_view digits = value;
      if (digits.starts_with('+')) digits.remove_prefix(1);
      digits = digits.substr(0, std::min(digits.find_first_not_of("0123456789"), digits.size()));
      digits.remove_prefix(std::min(digits.find_first_not_of('0'), digits.size()));
      framing_.length = digits.empty() ? "0" : std::string(digits);
    } else if (lowered(name) == "transfer-encoding") {
      framing_.chunked = leniency_.chunked_anywhere ? value.find("chunked") != std::string::npos
                                                    : value == "chunked";
    }
  }

  Framing settled() const {
    Framing framing = framing_;
    if (framing.chunked && !framing.length.empty()) {
      if (leniency_.length_beats_chunked) {
        framing.chunked = false;
      } else {
        framing.length.clear();
      }
    }
    return framing;
  }

  const Leniency leniency_;
  Framing framing_;
};

// Readers like those for which smuggling has been demonstrated.
inline constexpr Leniency kLenientReaders[] = {
    {},
    {.keeps_tabs = true},
    {.bare_lf_ends_a_line = true, .trims_names = true, .chunked_anywhere = true},
    {.bare_cr_ends_a_line = true, .first_wins = true, .length_beats_chunked = true},
    {.folds_lines = true, .trims_names = true, .first_wins = true, .chunked_anywhere = true},
    {.bare_lf_ends_a_line = true, .folds_lines = true, .length_beats_chunked = true},
};

}  // namespace millrace::fuzz
