// millrace stats: shows how much was done, and how long it took.
#include <fmt/format.h>

#include <numeric>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

constexpr sdk::Milliseconds kHour{3'600'000};

struct Options {
  std::optional<sdk::Milliseconds> window = kHour;
  std::optional<sdk::Milliseconds> step;
  std::string by;
};

std::string time_taken(const std::vector<std::optional<double>>& column, std::size_t i) {
  if (i >= column.size() || !column[i]) return "-";
  return format_duration_for_people(sdk::Milliseconds{static_cast<std::int64_t>(*column[i])});
}

// The beginning of a column.
std::string clock_of(const sdk::Stats& stats, std::size_t i) {
  if (!stats.from) return "-";
  const auto at = *stats.from + stats.step * static_cast<std::int64_t>(i);
  return format_rfc3339(at).substr(5, 14);
}

std::string title_of(const std::string& by) {
  return by == "queue" ? "QUEUE" : by == "type" ? "TYPE" : by == "tag" ? "TAG" : "FAIR KEY";
}

std::vector<Column> columns_of(const Options& options) {
  std::vector<Column> columns;
  if (options.step) columns.push_back({"UTC"});
  if (!options.by.empty()) {
    columns.push_back({.title = title_of(options.by), .least = 6});
  }
  for (const char* title :
       {"IN", "STARTED", "DONE", "FAILED", "DEAD", "WAIT50", "WAIT99", "RUN50", "RUN99"}) {
    columns.push_back({title, Align::kRight});
  }
  return columns;
}

std::string stats_table(const sdk::Stats& stats, const Options& options) {
  Table table(columns_of(options), output_width() == kNoLimit ? 2 : 1);
  for (const sdk::StatsGroup& group : stats.groups) {
    for (std::size_t i = 0; i < group.submitted.size(); ++i) {
      std::vector<std::string> cells;
      if (options.step) cells.push_back(clock_of(stats, i));
      if (!options.by.empty()) cells.push_back(printable(group.name));
      for (const auto* column :
           {&group.submitted, &group.started, &group.succeeded, &group.failed, &group.dead}) {
        cells.push_back(i < column->size() ? short_number(static_cast<double>((*column)[i])) : "-");
      }
      for (const auto* column :
           {&group.wait.p50, &group.wait.p99, &group.run.p50, &group.run.p99}) {
        cells.push_back(time_taken(*column, i));
      }
      table.add(std::move(cells));
    }
  }
  return table.empty() ? "" : table.text(output_width());
}

void run(const Options& options, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    // One column for the whole window by default, since percentiles can't be added up.
    const auto stats = client.stats({.window = options.window,
                                     .step = options.step ? options.step : options.window,
                                     .by = options.by});
    if (!stats) return session.fail(stats.error());
    if (session.json()) return print_line(stats->json);
    const std::string text = stats_table(*stats, options);
    if (text.empty()) return note("there was no activity in that time");
    print(text);
  });
}

}  // namespace

void add_stats(CLI::App& app, Session& session) {
  CLI::App& command = *app.add_subcommand("stats", "Show recent numbers of jobs, and their times");
  const auto options = std::make_shared<Options>();
  add_duration(command, "--window", options->window,
               "Length of time to show, up to 90d (default: 1h)");
  add_duration(command, "--step", options->step, "Length of time of each row (default: one row)");
  command.add_option("--by", options->by, "Show a row for each queue, type, fair_key or tag")
      ->check(CLI::IsMember({"queue", "type", "fair_key", "tag"}))
      ->type_name("NAME");
  command.footer(
      "WAIT is the time from when a job was due to its start. RUN is the time from the start to "
      "the\n"
      "end of an attempt. WAIT50 and RUN50 are medians, WAIT99 and RUN99 are 99th percentiles.\n"
      "\n"
      "Examples:\n"
      "  millrace stats --by queue\n"
      "  millrace stats --window 10m --step 1m\n"
      "  millrace stats --window 24h --by type -o json");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
