// millrace schedule apply: writes the whole set of one owner from a file.
#include "cli/schedule/apply.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/schedule/set_file.h"
#include "cli/schedule/view.h"

namespace millrace::cli {
namespace {

struct Apply {
  std::string file;
  sdk::ScheduleSet flags;
};

void run(const Apply& options, Session& session) {
  if (session.refuse_dashes()) return;
  const auto content = read_whole_file(options.file);
  if (!content) return session.fail(kUsage, content.error().message);
  auto file = read_set_file(*content, format_of(options.file, *content));
  if (!file) return fail_on_file(options.file, file.error(), session);
  sdk::ScheduleSet& set = file->set;
  if (!options.flags.managed_by.empty()) set.managed_by = options.flags.managed_by;
  set.prune = set.prune || options.flags.prune;
  set.dry_run = set.dry_run || options.flags.dry_run;
  set.force = set.force || options.flags.force;
  if (set.managed_by.empty()) {
    return session.fail(
        kUsage, "the set has no owner; name one with managed_by in the file, or with --managed-by");
  }
  apply_set(set, options.file, file->lines, session);
}

}  // namespace

void add_set_options(CLI::App& command, sdk::ScheduleSet& set) {
  command.add_option("--managed-by", set.managed_by, "Owner of the set")->type_name("OWNER");
  command.add_flag("--prune", set.prune,
                   "Delete the schedules of the owner that are not in the set");
  command.add_flag("--force", set.force, "Take over schedules that another owner manages");
}

void apply_set(const sdk::ScheduleSet& set, std::string_view path, const Lines& lines,
               Session& session) {
  session.with_client([&](sdk::Client& client) {
    const auto changes = client.apply_schedules(set);
    if (!changes && changes.error().status == 409 && !set.force) {
      return session.fail(kConflict, sdk::describe(changes.error()) +
                                         "; use --force to take over schedules of another owner");
    }
    if (!changes) return fail_on_file(changes.error(), path, lines, session);
    if (session.json()) return print_line(changes->json);
    print(changes_text(*changes));
    if (set.dry_run) note("nothing was changed, because this was a dry run");
  });
}

void add_schedule_apply(CLI::App& schedule, Session& session) {
  CLI::App& command =
      *schedule.add_subcommand("apply", "Create and change all schedules of a file");
  const auto options = std::make_shared<Apply>();
  command.add_option("FILE", options->file, "File in TOML or JSON; - is standard input")
      ->required();
  add_set_options(command, options->flags);
  command.add_flag("--dry-run", options->flags.dry_run, "Only show the changes");
  command.footer(
      "The file is the body of PUT /v1/schedules, in TOML:\n"
      "\n"
      "  managed_by = \"deploy\"\n"
      "  [schedules.\"reports.morning\"]\n"
      "  cron = \"0 9 * * MON-FRI\"\n"
      "  timezone = \"Europe/Zurich\"\n"
      "  overlap = \"skip\"\n"
      "  job = { type = \"report\", queue = \"reports\", payload = { kind = \"morning\" } }\n"
      "\n"
      "Applying the same file again changes nothing. If only a part took effect (exit code 75), "
      "run the\n"
      "command again.\n"
      "\n"
      "Examples:\n"
      "  millrace schedule apply schedules.toml --dry-run\n"
      "  millrace schedule apply schedules.toml --prune\n"
      "  ./make-schedules | millrace schedule apply - --managed-by tenants -o json");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
