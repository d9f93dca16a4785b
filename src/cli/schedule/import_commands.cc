// millrace schedule import: imports schedules from a crontab or another program's list.
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/schedule/apply.h"
#include "cli/schedule/import.h"
#include "cli/schedule/set_options.h"
#include "cli/schedule/view.h"
#include "cli/schedule/zone_view.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr const char* kCrontab = "crontab";

struct Import {
  std::string file;
  ImportDefaults defaults;
  std::optional<Missed> missed;
  sdk::ScheduleSet set;  // its options
  bool is_system = false;
  bool yes = false;
  bool print = false;
};

void complete_policies(Import& options, std::string_view missed) {
  sdk::NewSchedule& schedule = options.defaults.schedule;
  schedule.missed = options.missed ? options.missed->policy : std::string(missed);
  if (options.missed) schedule.missed_limit = options.missed->limit;
}

// Makes the owner independent of the current folder.
std::string whole_path(const std::string& file) {
  if (file == "-") return file;
  std::error_code error;
  const auto path = std::filesystem::weakly_canonical(file, error);
  return error ? file : path.string();
}

// Sends the imported schedules to the server: as a dry run, or with --yes as a change.
void apply_import(Import& options, std::string_view kind, const std::vector<Imported>& imported,
                  Session& session) {
  sdk::ScheduleSet set = set_of(imported);
  set.managed_by = options.set.managed_by.empty() ? owner_of(kind, whole_path(options.file))
                                                  : options.set.managed_by;
  set.prune = options.set.prune;
  set.force = options.set.force;
  set.dry_run = !options.yes;
  if (options.print) {
    set.dry_run = false;
    return print_line(to_json(set));
  }
  if (!session.json()) {
    print(import_table(imported, output_width()));
    print("\n");
  }
  apply_set(set, options.file, lines_of(imported), session);
  if (set.dry_run && session.exit_code == 0) {
    note(fmt::format("--yes does it, as {}", set.managed_by));
  }
}

void run_crontab(Import& options, Session& session) {
  if (session.refuse_dashes()) return;
  const auto content = read_whole_file(options.file, kMaxCrontabBytes);
  if (!content) return session.fail(kUsage, content.error().message);
  const Crontab crontab =
      parse_crontab(*content, options.is_system ? CrontabForm::kSystem : CrontabForm::kUser);
  print_faults(options.file, crontab.notes);
  if (!crontab.faults.empty()) return fail_on_file(options.file, crontab.faults, session);
  if (options.defaults.timezone.empty()) {
    auto zone = zone_of_machine();
    if (!zone) return session.fail(kUsage, zone.error().message);
    options.defaults.timezone = std::move(*zone);
  }
  complete_policies(options, "skip");
  const auto imported = import_crontab(crontab.entries, options.defaults);
  if (!imported) return fail_on_file(options.file, imported.error(), session);
  apply_import(options, kCrontab, *imported, session);
}

void run_list(Import& options, Session& session) {
  if (session.refuse_dashes()) return;
  const auto content = read_whole_file(options.file);
  if (!content) return session.fail(kUsage, content.error().message);
  const auto entries = read_foreign_list(*content);
  if (!entries) return fail_on_file(options.file, entries.error(), session);
  complete_policies(options, "");
  const auto imported = import_list(*entries, options.defaults);
  if (!imported) return fail_on_file(options.file, imported.error(), session);
  apply_import(options, "json", *imported, session);
}

void add_common_options(CLI::App& command, Import& options) {
  command.add_option("--prefix", options.defaults.prefix, "Prefix of each schedule's name")
      ->type_name("TEXT");
  add_overlap(command, options.defaults.schedule.overlap);
  add_missed(command, options.missed);
  add_duration(command, "--jitter", options.defaults.schedule.jitter,
               "Largest delay of an instant");
  add_set_options(command, options.set);
  command.add_flag("--print", options.print,
                   "Print the set as JSON for `schedule apply`, without a server");
  command.add_flag("-y,--yes", options.yes, "Apply the import (default: only show the changes)");
}

void add_import_crontab(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("crontab", "Import a crontab; its commands run as jobs");
  const auto options = std::make_shared<Import>();
  options->defaults.queue = kCrontab;
  options->defaults.type = kCrontab;
  options->defaults.schedule.job.max_attempts = 1;
  command.add_option("FILE", options->file, "Crontab file; - is standard input")->required();
  command.add_flag("--system", options->is_system,
                   "Expect a user before each command, as in /etc/crontab and /etc/cron.d; the "
                   "jobs go to the queue QUEUE.USER");
  command
      .add_option("--timezone", options->defaults.timezone,
                  "Time zone of lines without CRON_TZ (default: this machine's)")
      ->type_name("ZONE");
  command.add_option("-q,--queue", options->defaults.queue, "Queue of the jobs (default: crontab)")
      ->type_name("QUEUE");
  command.add_option("-t,--type", options->defaults.type, "Type of the jobs (default: crontab)")
      ->type_name("TYPE");
  command
      .add_option("--max-attempts", options->defaults.schedule.job.max_attempts,
                  "Attempts of each job (default: 1, as in cron)")
      ->type_name("N");
  add_common_options(command, *options);
  command.footer(
      "Each line becomes a schedule with the name of its program. The import understands CRON_TZ, "
      "SHELL\n"
      "and other variables, names such as @daily, and % before standard input. It refuses "
      "@reboot.\n"
      "Schedules skip missed instants, as cron does (--missed). A job sends no mail; it keeps the\n"
      "output of its command. Remove the lines from cron when the schedules exist.\n"
      "\n"
      "Run a worker on the machine, as the user of the crontab, with the option --shell:\n"
      "\n"
      "  millrace work -q crontab --shell -c 10\n"
      "\n"
      "For several machines, give each its own queue, prefix and owner, such as\n"
      "-q crontab.box7 --prefix box7. --managed-by crontab:box7.\n"
      "\n"
      "Examples:\n"
      "  crontab -l | millrace schedule import crontab -\n"
      "  crontab -l | millrace schedule import crontab - --yes --prune\n"
      "  millrace schedule import crontab /etc/crontab --system --print > crontab.json");
  command.callback([options, &session] { run_crontab(*options, session); });
}

void add_import_list(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand(
      "json", "Import a list of recurring jobs of Sidekiq-cron, Celery beat or Oban");
  const auto options = std::make_shared<Import>();
  command.add_option("FILE", options->file, "File in JSON; - is standard input")->required();
  command
      .add_option("--timezone", options->defaults.timezone,
                  "Time zone of entries without one (default: UTC)")
      ->type_name("ZONE");
  command
      .add_option("-q,--queue", options->defaults.queue,
                  "Queue of entries without one (default: default)")
      ->type_name("QUEUE");
  command
      .add_option("--max-attempts", options->defaults.schedule.job.max_attempts,
                  "Attempts of jobs whose entry has none (default: the queue's)")
      ->type_name("N");
  add_common_options(command, *options);
  command.footer(
      "The file is a list of objects, or an object of them by name. The members may have these "
      "names:\n"
      "\n"
      "  name        name, else the type\n"
      "  expression  cron, expression, schedule, crontab, interval: five or six fields, with a "
      "zone\n"
      "              after them (Sidekiq-cron); a number of seconds, {\"every\", \"period\"} or\n"
      "              {\"minute\", \"hour\", \"day_of_week\", \"day_of_month\", \"month_of_year\"} "
      "(Celery)\n"
      "  zone        timezone, tz, zone\n"
      "  type        type, class, klass (Sidekiq), task (Celery), worker (Oban)\n"
      "  payload     payload; args, kwargs: one alone is the payload, both make an object of them\n"
      "  queue       queue, queue_name\n"
      "  paused      paused, enabled, status\n"
      "  more        opts (Oban): queue, args, priority, max_attempts, tags, timezone;\n"
      "              options (Celery): queue\n"
      "\n"
      "The import ignores a description and the time of the last run. It refuses any other "
      "member.\n"
      "\n"
      "Examples:\n"
      "  millrace schedule import json sidekiq.json --timezone Europe/Zurich\n"
      "  millrace schedule import json beat.json -q celery --managed-by beat --yes --prune");
  command.callback([options, &session] { run_list(*options, session); });
}

}  // namespace

void add_schedule_import(CLI::App& schedule, Session& session) {
  CLI::App& command = *schedule.add_subcommand(
      "import", "Import schedules from a crontab or from the list of another program");
  command.require_subcommand(1);
  add_import_crontab(command, session);
  add_import_list(command, session);
}

}  // namespace millrace::cli
