// millrace schedule delete: deletes a schedule, so that it gives no more jobs.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/output.h"
#include "cli/schedule/view.h"

namespace millrace::cli {
namespace {

struct Delete {
  std::string name;
  bool yes = false;
};

void run(const Delete& options, Session& session) {
  if (session.refuse_dashes()) return;
  const std::string question =
      fmt::format("Delete schedule {} and the list of its runs for good?", options.name);
  if (!is_confirmed(session, options.yes, question)) return;
  session.with_client([&](sdk::Client& client) {
    const auto deleted = client.delete_schedule(options.name);
    if (!deleted) return fail_on_schedule(deleted.error(), options.name, session);
    if (!session.json()) print_line(fmt::format("{}  deleted", printable(options.name)));
  });
}

}  // namespace

void add_schedule_delete(CLI::App& schedule, Session& session) {
  CLI::App& command = *schedule.add_subcommand("delete", "Delete a schedule");
  const auto options = std::make_shared<Delete>();
  command.add_option("NAME", options->name, "Name of the schedule")->required();
  add_yes(command, options->yes);
  command.footer(
      "The jobs of the schedule stay. `millrace schedule pause` stops a schedule and keeps it.\n"
      "\n"
      "Examples:\n"
      "  millrace schedule delete reports.morning\n"
      "  millrace schedule delete trial --yes");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
