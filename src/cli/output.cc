#include "cli/output.h"

#include <fmt/format.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "base/check.h"
#include "base/clock.h"
#include "base/log_escape.h"
#include "base/time.h"
#include "base/utf8.h"

namespace millrace::cli {
namespace {

constexpr std::string_view kGap = "  ";
constexpr std::size_t kLeastCut = 12;      // of a column that may disappear
constexpr std::size_t kUsualColumns = 80;  // of a terminal that does not report its width

std::string escaped_byte(char c) {
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
    const Utf8Character next = first_character(text.substr(i));
    const std::size_t length = std::max<std::size_t>(next.bytes, 1);
    const bool is_shown = next.bytes > 0 && !controls_display(next.code);
    if (is_shown || kept_controls.contains(text[i])) {
      out += text.substr(i, length);
    } else if (length == 1) {
      out += escaped_byte(text[i]);
    } else {
      out += fmt::format("\\u{{{:x}}}", static_cast<std::uint32_t>(next.code));
    }
    i += length;
  }
  return out;
}

// Writes text with the stream's own buffer.
void write(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

}  // namespace

std::string printable(std::string_view text) { return filtered(text, {}); }
std::string printable_block(std::string_view text) { return filtered(text, "\n\t"); }

std::string printable_json(std::string_view json) {
  std::string out;
  for (std::size_t i = 0; i < json.size();) {
    const Utf8Character next = first_character(json.substr(i));
    const std::size_t length = std::max<std::size_t>(next.bytes, 1);
    const char c = json[i];
    if (c == '\n' || c == '\t' || (next.bytes > 0 && !controls_display(next.code))) {
      out += json.substr(i, length);
    } else if (c == '\r') {
      out += ' ';  // JSON has it between tokens only
    } else {
      append_json_escape(out, next.bytes > 0 ? next.code : kReplacementCharacter);
    }
    i += length;
  }
  return out;
}

std::string printable(std::string_view text, std::size_t columns) {
  std::string out = printable(text);
  if (width_of(out) <= columns) return out;
  constexpr std::string_view kMark = "...";
  std::size_t bytes = 0;
  for (std::size_t width = 0; width + kMark.size() < columns; ++width) {
    bytes += std::max<std::size_t>(first_character(std::string_view(out).substr(bytes)).bytes, 1);
  }
  return out.substr(0, bytes) + std::string(kMark);
}

std::string stack_text(std::string_view stack) {
  if (stack.empty()) return {};
  std::string text = "\nStack:\n" + printable_block(stack);
  if (!text.ends_with('\n')) text += '\n';
  return text;
}

std::size_t width_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;  // continuation bytes take no column
  }));
}

sdk::Timestamp now() { return SystemClock().now(); }

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

std::string grouped(std::int64_t count) {
  std::string text = std::to_string(count);
  for (auto at = static_cast<std::ptrdiff_t>(text.size()) - 3; at > 0; at -= 3) {
    text.insert(static_cast<std::size_t>(at), ",");
  }
  return text;
}

void Table::add(std::vector<std::string> cells) {
  MILLRACE_CHECK(cells.size() == columns_.size());
  rows_.push_back(std::move(cells));
}

std::vector<std::size_t> Table::natural_widths() const {
  std::vector<std::size_t> widths;
  for (std::size_t i = 0; i < columns_.size(); ++i) {
    std::size_t width = width_of(columns_[i].title);
    for (const auto& row : rows_) width = std::max(width, width_of(row[i]));
    widths.push_back(width);
  }
  return widths;
}

std::size_t Table::total(const std::vector<std::size_t>& widths) const {
  std::size_t sum = 0;
  for (const std::size_t width : widths) {
    if (width > 0) sum += width + (sum > 0 ? gap_ : 0);
  }
  return sum;
}

std::size_t Table::least_width() const {
  std::vector<std::size_t> widths = natural_widths();
  for (std::size_t i = 0; i < widths.size(); ++i) {
    if (columns_[i].least) widths[i] = std::min(widths[i], *columns_[i].least);
  }
  return total(widths);
}

std::vector<std::size_t> Table::fitted_widths(std::size_t at_most) const {
  const std::vector<std::size_t> natural = natural_widths();
  std::vector<std::size_t> widths = natural;
  std::vector<bool> is_gone(widths.size());
  while (total(widths) > at_most) {
    std::optional<std::size_t> widest;
    for (std::size_t i = 0; i < widths.size(); ++i) {
      const bool gives_way = columns_[i].least && widths[i] > *columns_[i].least;
      if (gives_way && (!widest || widths[i] > widths[*widest])) widest = i;
    }
    if (!widest) break;
    if (--widths[*widest] >= kLeastCut || *columns_[*widest].least > 0) continue;
    // A column that has shrunk to its cut mark is unreadable, so the other columns get its room.
    is_gone[*widest] = true;
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = is_gone[i] ? 0 : natural[i];
  }
  return widths;
}

std::string Table::text(std::size_t at_most) const {
  const std::vector<std::size_t> widths = fitted_widths(at_most);
  std::string out;
  const auto add_row = [&](const auto& cell_at) {
    std::string line;
    for (std::size_t i = 0; i < columns_.size(); ++i) {
      if (widths[i] == 0) continue;
      const std::string& whole = cell_at(i);
      const std::string cell = width_of(whole) > widths[i] ? printable(whole, widths[i]) : whole;
      const std::string blanks(widths[i] - std::min(widths[i], width_of(cell)), ' ');
      if (!line.empty()) line += std::string(gap_, ' ');
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
  write(is_terminal(STDOUT_FILENO) ? printable_json(text) : text);
  std::fflush(stdout);
}

void print_line(std::string_view text) {
  print(text);
  if (!text.ends_with('\n')) write("\n");
  std::fflush(stdout);
}

void print_controls(std::string_view text) {
  write(text);
  std::fflush(stdout);
}

void note(std::string_view text) {
  const std::string line = fmt::format("millrace: {}\n", printable(text));
  std::fwrite(line.data(), 1, line.size(), stderr);
}

bool is_terminal(int descriptor) { return isatty(descriptor) == 1; }

std::size_t output_width() {
  if (!is_terminal(STDOUT_FILENO)) return kNoLimit;
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return kUsualColumns;
  return size.ws_col;
}

}  // namespace millrace::cli
