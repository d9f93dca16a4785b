// millrace worker list: lists workers and the jobs they run.
#include <fmt/format.h>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

sdk::Result<std::vector<sdk::SeenWorker>> all_workers(sdk::Client& client) {
  std::vector<sdk::SeenWorker> all;
  std::string cursor;
  do {
    auto page = client.workers(cursor);
    if (!page) return std::unexpected(std::move(page.error()));
    std::move(page->items.begin(), page->items.end(), std::back_inserter(all));
    cursor = std::move(page->next_cursor);
  } while (!cursor.empty());
  return all;
}

// "email.send 019c..., 2 more": the job that has been running longest.
std::string running_text(const sdk::SeenWorker& worker, sdk::Timestamp at) {
  const sdk::RunningJob* oldest = nullptr;
  for (const sdk::RunningJob& job : worker.running) {
    if (oldest == nullptr || job.started_at < oldest->started_at) oldest = &job;
  }
  if (oldest == nullptr) return {};
  std::string text = oldest->type;
  if (oldest->started_at) text += " for " + format_duration_for_people(at - *oldest->started_at);
  if (worker.running.size() > 1) text += fmt::format(", {} more", worker.running.size() - 1);
  return printable(text);
}

std::string worker_table(const std::vector<sdk::SeenWorker>& workers) {
  Table table({{.title = "WORKER", .least = 16},
               {"STATE"},
               {.title = "QUEUES", .least = 10},
               {"RUNS", Align::kRight},
               {"SEEN"},
               {.title = "WORKS ON", .least = 0}});
  const auto at = now();
  for (const sdk::SeenWorker& worker : workers) {
    table.add({printable(worker.id), printable(worker.state),
               printable(fmt::format("{}", fmt::join(worker.queues, ","))),
               std::to_string(worker.running.size()), relative_time(worker.last_seen_at, at),
               running_text(worker, at)});
  }
  return table.text(output_width());
}

void run(Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&session](sdk::Client& client) {
    const auto workers = all_workers(client);
    if (!workers) return session.fail(workers.error());
    if (session.json()) {
      std::string items;
      for (const sdk::SeenWorker& worker : *workers) {
        items += (items.empty() ? "" : ",") + worker.json;
      }
      return session.print_list(fmt::format(R"({{"items":[{}],"next_cursor":null}})", items));
    }
    if (workers->empty()) {
      return note("no worker was active recently; `millrace work --help` explains how to run one");
    }
    print(worker_table(*workers));
  });
}

}  // namespace

void add_worker_list(CLI::App& worker, Session& session) {
  CLI::App& command = *worker.add_subcommand("list", "List recently active workers and their jobs");
  command.footer(
      "Examples:\n"
      "  millrace worker list\n"
      "  millrace worker list -o json | jq -r '.items[] | select(.running != []) | .id'");
  command.callback([&session] { run(session); });
}

}  // namespace millrace::cli
