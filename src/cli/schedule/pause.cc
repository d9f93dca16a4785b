// millrace schedule pause and resume: stops and restarts a schedule.
#include "cli/commands.h"
#include "cli/output.h"
#include "cli/schedule/view.h"

namespace millrace::cli {
namespace {

void show(const sdk::Result<sdk::Schedule>& schedule, std::string_view name, std::string_view what,
          Session& session) {
  if (!schedule) return fail_on_schedule(schedule.error(), name, session);
  print_line(session.json() ? schedule->json
                            : printable(schedule->name) + "  " + std::string(what));
}

}  // namespace

void add_schedule_pause(CLI::App& schedule, Session& session) {
  CLI::App& command =
      *schedule.add_subcommand("pause", "Pause a schedule, so that it submits no jobs");
  struct Pause {
    std::string name;
    std::string reason;
  };
  const auto options = std::make_shared<Pause>();
  command.add_option("NAME", options->name, "Name of the schedule")->required();
  command.add_option("--reason", options->reason, "Reason, which the schedule shows");
  command.footer(
      "A resumed schedule does not make up for the instants of the pause, whatever its --missed.\n"
      "`millrace schedule backfill` submits them.\n"
      "\n"
      "Examples:\n"
      "  millrace schedule pause reports.morning --reason 'holidays'");
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      show(client.pause_schedule(options->name, options->reason), options->name, "paused", session);
    });
  });
}

void add_schedule_resume(CLI::App& schedule, Session& session) {
  CLI::App& command = *schedule.add_subcommand("resume", "Resume a paused schedule");
  const auto name = std::make_shared<std::string>();
  command.add_option("NAME", *name, "Name of the schedule")->required();
  command.footer("Examples:\n  millrace schedule resume reports.morning");
  command.callback([name, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      show(client.resume_schedule(*name), *name, "resumed", session);
    });
  });
}

}  // namespace millrace::cli
