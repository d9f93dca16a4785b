// millrace schedule trigger: submits one job, or creates one workflow, of a schedule now.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/schedule/view.h"

namespace millrace::cli {
namespace {

struct Trigger {
  std::string name;
  sdk::TriggerSchedule options;
};

void run(const Trigger& options, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    const auto made = client.trigger_schedule(options.name, options.options);
    if (!made) return fail_on_schedule(made.error(), options.name, session);
    if (session.json()) return print_line(made->job.json);
    std::string what = made->job.state;
    if (!made->is_new) what += " (existed already)";
    print_line(fmt::format("{}  {}", made->job.id, what));
  });
}

}  // namespace

void add_schedule_trigger(CLI::App& schedule, Session& session) {
  CLI::App& command = *schedule.add_subcommand(
      "trigger", "Submit one job, or create one workflow, of a schedule now");
  const auto options = std::make_shared<Trigger>();
  command.add_option("NAME", options->name, "Name of the schedule")->required();
  add_time(command, "--scheduled-at", options->options.scheduled_at,
           "Instant that the job gets as scheduled_at (default: now)");
  command
      .add_option("--idempotency-key", options->options.idempotency_key,
                  "Idempotency key: a repeated command gives the same job")
      ->type_name("KEY")
      ->check([](const std::string& key) { return key.empty() ? "must not be empty" : ""; });
  command.footer(
      "The command works for a paused schedule too, and while a job of the schedule runs.\n"
      "\n"
      "Examples:\n"
      "  millrace schedule trigger reports.morning\n"
      "  millrace job wait $(millrace schedule trigger reports.morning -o json | jq -r .id)");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
