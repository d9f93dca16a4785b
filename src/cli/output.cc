#include "cli/output.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "base/time.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kGap = "  ";

// The bytes of the character at `at`, or 0 where the text is not UTF-8. C1 controls (U+0080 to
// U+009F) steer terminals as C0 does, so they are no characters here.
std::size_t character_length(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) -> unsigned {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0;
  };
  const auto follows = [&](std::size_t count) {
    for (std::size_t i = 1; i <= count; ++i) {
      if ((byte(i) & 0xc0) != 0x80) return false;
    }
    return true;
  };
  const unsigned first = byte(0);
  if (first >= 0x20 && first < 0x7f) return 1;
  if (first >= 0xc2 && first <= 0xdf && follows(1)) {
    return first == 0xc2 && byte(1) < 0xa0 ? 0 : 2;
  }
  if (first >= 0xe0 && first <= 0xef && follows(2)) return first == 0xe0 && byte(1) < 0xa0 ? 0 : 3;
  if (first >= 0xf0 && first <= 0xf4 && follows(3)) return first == 0xf0 && byte(1) < 0x90 ? 0 : 4;
  return 0;
}

std::string escaped(char c) {
  switch (c) {
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      return fmt::format("\\x{:02x}", static_cast<unsigned char>(c));
  }
}

std::string filtered(std::string_view text, std::string_view kept_controls) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const std::size_t length = character_length(text, i);
    if (length > 0) {
      out += text.substr(i, length);
      i += length;
    } else {
      const char c = text[i++];
      if (kept_controls.find(c) != std::string_view::npos) {
        out += c;
      } else {
        out += escaped(c);
      }
    }
  }
  return out;
}

}  // namespace

std::string printable(std::string_view text) { return filtered(text, {}); }
std::string printable_block(std::string_view text) { return filtered(text, "\n\t"); }

std::string printable(std::string_view text, std::size_t columns) {
  std::string out = printable(text);
  if (width_of(out) <= columns) return out;
  constexpr std::string_view kMark = "...";
  std::size_t bytes = 0;
  for (std::size_t width = 0; width + kMark.size() < columns; ++width) {
    bytes += std::max<std::size_t>(character_length(out, bytes), 1);
  }
  return out.substr(0, bytes) + std::string(kMark);
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // continuation bytes take no column
  }));
}

sdk::Timestamp now() {
  return std::chrono::floor<sdk::Milliseconds>(std::chrono::system_clock::now());
}

std::string relative_time(const std::optional<sdk::Timestamp>& time, sdk::Timestamp now) {
  if (!time) return "-";
  if (*time > now) return "in " + format_duration_for_people(*time - now);
  return format_duration_for_people(now - *time) + " ago";
}

std::string time_for_people(const std::optional<sdk::Timestamp>& time, sdk::Timestamp now) {
  if (!time) return {};
  return fmt::format("{} ({})", format_rfc3339(*time), relative_time(time, now));
}

std::string short_number(double value) {
  const double size = std::abs(value);
  if (size >= 999'950'000) return fmt::format("{:.1f}G", value / 1e9);
  if (size >= 999'950) return fmt::format("{:.1f}M", value / 1e6);
  if (size >= 9'999.5) return fmt::format("{:.1f}k", value / 1e3);
  if (size >= 10 || value == std::floor(value)) return fmt::format("{:.0f}", value);
  return size < 1 ? fmt::format("{:.2f}", value) : fmt::format("{:.1f}", value);
}

void Table::add(std::vector<std::string> cells) {
  MILLRACE_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::string Table::text() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = width_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  std::string out;
  const auto add_row = [&](const auto& cell_at) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      const std::string& cell = cell_at(i);
      const std::string blanks(widths[i] - width_of(cell), ' ');
      if (i > 0) line += kGap;
      line += columns_[i].align == Align::kRight ? blanks + cell : cell + blanks;
    }
    line.erase(line.find_last_not_of(' ') + 1);
    out += line + '\n';
  };
  add_row([this](std::size_t i) -> const std::string& { return columns_[i].title; });
  for (const auto& row : rows_) {
    add_row([&row](std::size_t i) -> const std::string& { return row[i]; });
  }
  return out;
}

void Properties::add(std::string_view name, std::string value) {
  if (!value.empty()) lines_.emplace_back(name, std::move(value));
}

std::string Properties::text() const {
  std::size_t width = 0;
  for (const auto& [name, value] : lines_) width = std::max(width, name.size());
  std::string out;
  for (const auto& [name, value] : lines_) {
    out +=
        fmt::format("{}:{}{}\n", name, std::string(width - name.size() + kGap.size(), ' '), value);
  }
  return out;
}

void print(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

void print_line(std::string_view text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
  if (!text.ends_with('\n')) std::fputc('\n', stdout);
  std::fflush(stdout);
}

void note(std::string_view text) {
  const std::string line = fmt::format("millrace: {}\n", printable(text));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

}  // namespace millrace::cli
