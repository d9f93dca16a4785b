// Text for people: tables, times, and escaping for terminals.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/job.h"

namespace millrace::cli {

// Control characters become \n, \x1b or \u{202e}, and bytes that are not UTF-8 become \xff, so that
// text in a stranger's job can't control the terminal. The result is one line.
std::string printable(std::string_view text);
// Also cut with "..." to at most `columns`.
std::string printable(std::string_view text, std::size_t columns);
// For text of several lines: keeps line ends and tabs.
std::string printable_block(std::string_view text);
// The same value, with such characters as \u009b. Keeps line ends and tabs.
std::string printable_json(std::string_view json);

// The stack of an error, below a heading and a blank line; empty if there is none.
std::string stack_text(std::string_view stack);

// The width in columns of a text made by printable(); every character counts as one.
std::size_t width_of(std::string_view text);

sdk::Timestamp now();
// "4.2s ago", "in 18m"; "-" if there is no time.
std::string relative_time(const std::optional<sdk::Timestamp>& time, sdk::Timestamp now);
// "2026-03-01T09:30:00.000Z (18m ago)"
std::string time_for_people(const std::optional<sdk::Timestamp>& time, sdk::Timestamp now);
// A number with a unit that keeps it short: "812", "1.2k".
std::string short_number(double value);
std::string grouped(std::int64_t count);  // "104,000"

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  // The width to which the column may shrink if the table is too wide; 0: it may disappear. None:
  // it never shrinks.
  std::optional<std::size_t> least{};
};

constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

// Columns as wide as their widest cell, separated by blanks; nothing after the last.
class Table {
 public:
  explicit Table(std::vector<Column> columns, std::size_t gap = 2)
      : columns_(std::move(columns)), gap_(gap) {}
  // One cell for each column; shown as given.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // The width after all columns that may shrink have shrunk.
  std::size_t least_width() const;
  // At most `width` columns wide, if its columns can shrink that far. The widest shrink first.
  std::string text(std::size_t width = kNoLimit) const;

 private:
  std::vector<std::size_t> natural_widths() const;
  std::vector<std::size_t> fitted_widths(std::size_t at_most) const;
  std::size_t total(const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::size_t gap_;
  std::vector<std::vector<std::string>> rows_;
};

// "name:   value" lines with aligned values; empty values are left out.
class Properties {
 public:
  void add(std::string_view name, std::string value);
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

// Standard output. On a terminal printable_json() is shown: text that printable() made stays as it
// is, and JSON keeps its value. A pipe or a file gets the bytes unchanged.
void print(std::string_view text);
void print_line(std::string_view text);      // adds a line end if missing
void print_controls(std::string_view text);  // what controls the terminal, from this program alone
void note(std::string_view text);            // one line to standard error, for a person watching

bool is_terminal(int descriptor);
// The width of the terminal on standard output; kNoLimit if it is not a terminal.
std::size_t output_width();

}  // namespace millrace::cli
