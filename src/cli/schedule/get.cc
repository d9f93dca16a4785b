// millrace schedule get: shows all about one schedule.
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/schedule/view.h"

namespace millrace::cli {

void add_schedule_get(CLI::App& schedule, Session& session) {
  CLI::App& command =
      *schedule.add_subcommand("get", "Show a schedule, its last job and its next instants");
  const auto name = std::make_shared<std::string>();
  command.add_option("NAME", *name, "Name of the schedule")->required();
  command.footer(
      "Examples:\n"
      "  millrace schedule get reports.morning\n"
      "  millrace schedule get reports.morning -o json | jq -r '.next[0]'");
  command.callback([name, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto found = client.schedule(*name);
      if (!found) return fail_on_schedule(found.error(), *name, session);
      print_line(session.json() ? found->json : schedule_details(*found, now(), output_width()));
    });
  });
}

}  // namespace millrace::cli
