// Text for people: tables, times, what is safe to print on a terminal.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "millrace/job.h"

namespace millrace::cli {

// With control characters written as \n or \x1b and bytes that are not UTF-8 as \xff: what a
// stranger put into a job must not steer the terminal. One line.
std::string printable(std::string_view text);
// The same, at most `columns` wide, cut with "...".
std::string printable(std::string_view text, std::size_t columns);
// The same for text of several lines: line ends and tabs stay.
std::string printable_block(std::string_view text);

// How many columns a text takes that printable() made; every character counts as one.
std::size_t width_of(std::string_view text);

sdk::Timestamp now();
// "4.2s ago", "in 18m"; "-" where there is no time.
std::string relative_time(const std::optional<sdk::Timestamp>& time, sdk::Timestamp now);
// "2026-03-01T09:30:00.000Z (18m ago)"
std::string time_for_people(const std::optional<sdk::Timestamp>& time, sdk::Timestamp now);
// A count with a unit that keeps it short: "812", "1.2k".
std::string short_number(double value);

enum class Align { kLeft, kRight };

struct Column {
  std::string title;
  Align align = Align::kLeft;
  // It gives way, down to so many columns of the screen, where the table is too wide; 0: it may go
  // wholly. None: it is never cut.
  std::optional<std::size_t> least{};
};

constexpr std::size_t kNoLimit = static_cast<std::size_t>(-1);

// Columns as wide as their widest cell, blanks between them, nothing after the last.
class Table {
 public:
  explicit Table(std::vector<Column> columns, std::size_t gap = 2)
      : columns_(std::move(columns)), gap_(gap) {}
  // As many cells as there are columns; shown as they are.
  void add(std::vector<std::string> cells);
  bool empty() const { return rows_.empty(); }
  // How wide it is when all that may give way has.
  std::size_t least_width() const;
  // No wider than `width`, as far as its columns give way: the widest of them first.
  std::string text(std::size_t width = kNoLimit) const;

 private:
  std::vector<std::size_t> natural_widths() const;
  std::vector<std::size_t> fitted_widths(std::size_t at_most) const;
  std::size_t total(const std::vector<std::size_t>& widths) const;

  std::vector<Column> columns_;
  std::size_t gap_;
  std::vector<std::vector<std::string>> rows_;
};

// "name:   value" lines, the values aligned; empty values are left out.
class Properties {
 public:
  void add(std::string_view name, std::string value);
  std::string text() const;

 private:
  std::vector<std::pair<std::string, std::string>> lines_;
};

void print(std::string_view text);       // to standard output, as it is
void print_line(std::string_view text);  // with a line end where it has none
void note(std::string_view text);        // to standard error, one line, for the person who watches

bool is_terminal(int descriptor);
// The columns of the terminal that standard output is; kNoLimit where it is none.
std::size_t output_width();

}  // namespace millrace::cli
