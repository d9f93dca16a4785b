#include "cli/operation/watch.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>
#include <utility>

#include "cli/bench/report.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "millrace/job.h"

namespace millrace::cli {
namespace {

using std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLookEvery{500};
constexpr std::size_t kBarColumns = 20;

std::string text_of(const sdk::JsonView& operation, std::string_view member) {
  return printable(operation[member].string().value_or(""));
}

std::optional<sdk::Timestamp> time_of(const sdk::JsonView& operation, std::string_view member) {
  const auto text = operation[member].string();
  return text ? sdk::read_time(*text) : std::nullopt;
}

bool has_ended(const sdk::JsonView& operation) {
  const std::string state = text_of(operation, "state");
  return state == "completed" || state == "cancelled" || state == "failed";
}

std::string done_text(const sdk::JsonView& operation) {
  const std::int64_t done = operation["done"].integer().value_or(0);
  const auto matched = operation["matched"].integer();
  if (!matched) return grouped(done);
  return fmt::format("{} of {}", grouped(done), grouped(std::max(*matched, done)));
}

bool reads_rows(const sdk::JsonView& operation) {
  return text_of(operation, "kind") == "reproject";
}

// The operation's action and its object.
std::string subject(const sdk::JsonView& operation) {
  if (reads_rows(operation)) return text_of(operation, "kind");
  const std::string action = text_of(operation, "action");
  const std::string query = text_of(operation, "query");
  return query.empty() ? action : fmt::format("{} {}", action, query);
}

void tell_end(const sdk::JsonView& operation, Session& session, std::string_view json) {
  const std::string state = text_of(operation, "state");
  const std::int64_t failed = operation["failed"].integer().value_or(0);
  if (session.json()) {
    print_line(json);
  } else {
    const std::string changed = grouped(operation["changed"].integer().value_or(0));
    print_line(fmt::format("{}  {}: {}", text_of(operation, "id"), state,
                           reads_rows(operation) ? changed + " rows of the log read"
                                                 : fmt::format("{} jobs changed, {} left alone",
                                                               changed, grouped(failed))));
  }
  const std::string reason = text_of(operation, "reason");
  if (!reason.empty()) note(reason);
  if (failed > 0) {
    note(
        fmt::format("the server left {} jobs alone, because their state had changed or something "
                    "forbids it; try one with `millrace job {} ID` to see why",
                    grouped(failed), text_of(operation, "action")));
  }
  if (state != "completed") {
    session.exit_code = kFailure;
  } else if (failed > 0) {
    session.exit_code = kPartlyFailed;
  }
}

}  // namespace

std::string operation_path(std::string_view id, std::string_view rest) {
  return fmt::format("/v1/operations/{}{}", sdk::url_encode(id), rest);
}

std::string operation_table(const std::vector<sdk::JsonView>& operations, std::size_t width) {
  Table table({{"ID"},
               {"STATE"},
               {"DONE", Align::kRight},
               {"RATE", Align::kRight},
               {"BEGAN"},
               {"WHAT", Align::kLeft, 12}});
  for (const sdk::JsonView& one : operations) {
    const auto rate = one["rate_per_s"].integer();
    table.add({text_of(one, "id"), text_of(one, "state"), done_text(one),
               rate ? fmt::format("{}/s", *rate) : "-",
               relative_time(time_of(one, "created_at"), now()), subject(one)});
  }
  return table.text(width);
}

std::string operation_details(const sdk::JsonView& operation) {
  Properties shown;
  shown.add("id", text_of(operation, "id"));
  shown.add("kind", text_of(operation, "kind"));
  shown.add("action", text_of(operation, "action"));
  shown.add("query", text_of(operation, "query"));
  shown.add("error group", text_of(operation, "error_group"));
  shown.add("state", text_of(operation, "state"));
  shown.add("reason", text_of(operation, "reason"));
  shown.add("done", done_text(operation));
  const std::int64_t failed = operation["failed"].integer().value_or(0);
  if (failed > 0) shown.add("left alone", grouped(failed));
  const auto rate = operation["rate_per_s"].integer();
  shown.add("rate", rate ? fmt::format("{} jobs a second", *rate) : "as fast as it goes");
  shown.add("began", time_for_people(time_of(operation, "created_at"), now()));
  shown.add("by", text_of(operation, "created_by"));
  const auto ended = time_of(operation, "ended_at");
  if (ended) shown.add("ended", time_for_people(ended, now()));
  const auto end = time_of(operation, "estimated_end_at");
  if (end) shown.add("should end", time_for_people(end, now()));
  return shown.text();
}

std::string progress_text(const sdk::JsonView& operation, double per_s, std::size_t width) {
  const std::int64_t done = operation["done"].integer().value_or(0);
  const auto matched = operation["matched"].integer();
  std::string text;
  if (matched) {
    const std::int64_t whole = std::max({*matched, done, std::int64_t{1}});
    const double part = static_cast<double>(done) / static_cast<double>(whole);
    const auto filled = static_cast<std::size_t>(std::floor(part * kBarColumns));
    text = fmt::format("[{}{}] {:3.0f}%  ", std::string(filled, '#'),
                       std::string(kBarColumns - filled, '.'), std::floor(part * 100));
  }
  text += done_text(operation);
  const std::string state = text_of(operation, "state");
  if (state != "running") {
    text += ", " + state;
  } else if (per_s >= 0) {
    text += fmt::format(", {}/s", short_number(per_s));
  }
  if (const auto end = time_of(operation, "estimated_end_at"); end && state == "running") {
    text += ", ends " + relative_time(end, now());
  }
  const std::int64_t failed = operation["failed"].integer().value_or(0);
  if (failed > 0) text += fmt::format(", {} left alone", grouped(failed));
  return printable(text, width);
}

void watch_operation(sdk::Client& client, Session& session, std::string json) {
  const std::string path = operation_path(sdk::JsonView(json)["id"].string().value_or(""));
  {
    ProgressLine line;
    auto looked_at = steady_clock::now();
    std::int64_t before = sdk::JsonView(json)["done"].integer().value_or(0);
    double per_s = -1;
    while (!has_ended(sdk::JsonView(json))) {
      line.show(progress_text(sdk::JsonView(json), per_s, 72));
      std::this_thread::sleep_for(kLookEvery);
      if (session.stop.stop_requested()) {
        session.exit_code = kInterrupted;
        return;
      }
      auto answer = client.call({.path = path});
      if (!answer) {
        if (answer.error().is_temporary()) continue;
        return session.fail(answer.error());
      }
      json = std::move(answer->body);
      const auto now = steady_clock::now();
      const std::int64_t done = sdk::JsonView(json)["done"].integer().value_or(0);
      const std::chrono::duration<double> passed = now - looked_at;
      if (passed.count() >= 2) {
        per_s = static_cast<double>(done - before) / passed.count();
        before = done;
        looked_at = now;
      }
    }
  }
  tell_end(sdk::JsonView(json), session, json);
}

}  // namespace millrace::cli
