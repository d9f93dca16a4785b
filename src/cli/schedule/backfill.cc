// millrace schedule backfill: submits jobs for the instants of a past range.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/schedule/view.h"

namespace millrace::cli {
namespace {

constexpr int kMaxBackfill = 1'000;  // jobs per call

struct Backfill {
  std::string name;
  sdk::BackfillSchedule range;
  std::optional<sdk::Timestamp> from;
  std::optional<sdk::Timestamp> to;
  bool all = false;
};

void run(Backfill& options, Session& session) {
  if (session.refuse_dashes()) return;
  options.range.from = *options.from;
  options.range.to = *options.to;
  if (options.range.to <= options.range.from) {
    return session.fail(kUsage, "--to must be later than --from");
  }
  if (options.all) options.range.limit = kMaxBackfill;
  session.with_client([&](sdk::Client& client) {
    std::int64_t submitted = 0;
    for (;;) {
      const auto done = client.backfill_schedule(options.name, options.range);
      if (!done) {
        if (submitted > 0)
          note(fmt::format("the command had submitted {} jobs before the error:", submitted));
        return fail_on_schedule(done.error(), options.name, session);
      }
      submitted += done->submitted;
      // Submitted jobs exist, so the next call continues after them.
      if (options.all && done->more && done->submitted > 0) continue;
      if (session.json()) {
        return print_line(fmt::format(R"({{"submitted":{},"existing":{},"more":{}}})", submitted,
                                      done->existing, done->more));
      }
      print_line(fmt::format("{}  {} {}, {} existing", printable(options.name), submitted,
                             options.range.dry_run ? "to submit" : "submitted", done->existing));
      if (done->more) note("the range has more instants; --all submits them all");
      return;
    }
  });
}

}  // namespace

void add_schedule_backfill(CLI::App& schedule, Session& session) {
  CLI::App& command =
      *schedule.add_subcommand("backfill", "Submit the jobs of a past range of instants");
  const auto options = std::make_shared<Backfill>();
  command.add_option("NAME", options->name, "Name of the schedule")->required();
  add_time(command, "--from", options->from, "Start of the range")->required();
  add_time(command, "--to", options->to, "End of the range")->required();
  CLI::Option* limit =
      command.add_option("-n,--limit", options->range.limit, "Largest number of jobs, 1 to 1000")
          ->check(CLI::Range(1, kMaxBackfill));
  CLI::Option* dry_run =
      command.add_flag("--dry-run", options->range.dry_run, "Only show the number of jobs");
  CLI::Option* rerun = command.add_flag(
      "--rerun", options->range.rerun,
      "Include instants older than the queue's retention, whose jobs may have run already");
  CLI::Option* key = command
                         .add_option("--idempotency-key", options->range.idempotency_key,
                                     "Idempotency key: a repeated call submits nothing more")
                         ->type_name("KEY");
  command.add_flag("--all", options->all, "Submit all instants, in several calls")
      ->excludes(limit)
      ->excludes(dry_run)
      ->excludes(rerun)
      ->excludes(key);
  command.footer(
      "The command submits the oldest instants first. It skips an instant whose job still exists, "
      "so\n"
      "a repeated command submits no job twice. Overlap policies do not apply.\n"
      "\n"
      "Examples:\n"
      "  millrace schedule backfill reports.morning --from 2026-03-01T00:00:00Z \\\n"
      "      --to 2026-03-08T00:00:00Z --dry-run\n"
      "  millrace schedule backfill meters --from 2026-03-01T00:00:00Z --to 2026-03-02T00:00:00Z "
      "--all");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
