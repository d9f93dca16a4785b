// millrace schedule preview: shows when an expression is due, without creating anything.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/schedule/zone_view.h"

namespace millrace::cli {
namespace {

constexpr int kMaxCount = 1'000;

void run(const sdk::PreviewSchedule& options, Session& session) {
  if (session.refuse_dashes()) return;
  if (options.cron.empty() == !options.every) {
    return session.fail(kUsage,
                        "give a cron expression in quotes, such as '0 9 * * MON-FRI', or --every");
  }
  session.with_client([&](sdk::Client& client) {
    const auto preview = client.preview_schedule(options);
    if (!preview) return session.fail(preview.error());
    if (session.json()) return print_line(preview->json);
    print_line(printable(preview->description));
    for (const std::string& warning : preview->warnings) {
      print_line("warning: " + printable(warning));
    }
    if (preview->next.empty()) return note("the schedule has no instant left");
    const std::string zone = options.timezone.empty() ? "UTC" : options.timezone;
    const auto here = zone_here(zone);
    print("\n");
    print(instants_table(preview->next, zone, here, now(), output_width()));
    if (!here)
      note(fmt::format("this machine has no time zone data for {}; the preview shows only UTC",
                       zone));
  });
}

}  // namespace

void add_schedule_preview(CLI::App& schedule, Session& session) {
  CLI::App& command =
      *schedule.add_subcommand("preview", "Show the instants of an expression; change nothing");
  const auto options = std::make_shared<sdk::PreviewSchedule>();
  options->count = 10;
  CLI::Option* cron =
      command.add_option("EXPRESSION,--cron", options->cron, "Cron expression, in quotes");
  add_duration(command, "--every", options->every, "Interval, in place of an expression")
      ->excludes(cron);
  command
      .add_option("--timezone", options->timezone,
                  "Time zone, such as Europe/Zurich (default: UTC)")
      ->type_name("ZONE");
  add_time(command, "--from", options->from, "Show instants after this time (default: now)");
  command.add_option("-n,--count", options->count, "Number of instants, 1 to 1000 (default: 10)")
      ->check(CLI::Range(1, kMaxCount));
  add_dst_policies(command, options->dst_gap, options->dst_overlap);
  command.footer(
      "The command shows each instant on the clock of the zone, with its offset, and in UTC. A * "
      "marks\n"
      "the first instant after a change of the clock.\n"
      "\n"
      "Examples:\n"
      "  millrace schedule preview '0 9 * * MON-FRI' --timezone Europe/Zurich\n"
      "  millrace schedule preview '30 2 * * *' --timezone America/New_York \\\n"
      "      --from 2027-03-12T00:00:00Z -n 4\n"
      "  millrace schedule preview --every 90m");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
