// millrace schedule runs: shows the results of a schedule's instants.
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/schedule/view.h"

namespace millrace::cli {

void add_schedule_runs(CLI::App& schedule, Session& session) {
  CLI::App& command =
      *schedule.add_subcommand("runs", "Show the outcomes of a schedule's last 100 instants");
  const auto name = std::make_shared<std::string>();
  command.add_option("NAME", *name, "Name of the schedule")->required();
  command.footer(
      "The newest come first. submitted: the schedule submitted a job. replaced: it also cancelled "
      "the\n"
      "job before. skipped_overlap: the job before still ran. skipped_missed: the schedule missed "
      "the\n"
      "instant, and --missed does not make up for it; COUNT is the number of such instants.\n"
      "refused: the queue refused the job.\n"
      "\n"
      "Examples:\n"
      "  millrace schedule runs reports.morning\n"
      "  millrace schedule runs meters -o json | jq '.items[] | select(.outcome != "
      "\"submitted\")'");
  command.callback([name, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto runs = client.schedule_runs(*name);
      if (!runs) return fail_on_schedule(runs.error(), *name, session);
      if (session.json()) return print_line(runs->json);
      if (runs->items.empty()) return note("no instant has passed yet");
      print(runs_table(runs->items, output_width()));
    });
  });
}

}  // namespace millrace::cli
