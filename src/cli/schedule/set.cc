// millrace schedule set: creates or changes a schedule.
#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/schedule/set_file.h"
#include "cli/schedule/set_options.h"
#include "cli/schedule/view.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

struct Set {
  std::string name;
  std::string file;
  std::string workflow_file;
  sdk::NewSchedule schedule;  // the given timing options
  std::optional<Missed> missed;
  std::optional<std::string> payload;
  std::vector<std::string> meta;
  std::vector<std::string> limits;  // NAME, or NAME=KEY
  bool replace = false;
};

// `members` without those named in `names`.
JsonMembers without(JsonMembers members, std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) erase_member(members, name);
  return members;
}

// The given members, except `job`.
JsonMembers named_members(const Set& options) {
  sdk::NewSchedule schedule = options.schedule;
  if (options.missed) {
    schedule.missed = options.missed->policy;
    schedule.missed_limit = options.missed->limit;
  }
  return without(members_of(to_json(schedule)), {"job"});
}

// The given members of `job`.
JsonMembers named_job(const Set& options) {
  const auto job = find_member(members_of(to_json(options.schedule)), "job");
  JsonMembers members = members_of(*job);
  if (options.schedule.job.type.empty()) erase_member(members, "type");
  if (!options.payload) erase_member(members, "payload");
  return members;
}

// Takes the payload and the metadata into the job. False: an error was printed.
bool complete(Set& options, Session& session) {
  for (const std::string& text : options.meta) {
    auto assignment = parse_assignment(text);
    if (!assignment) {
      session.fail(kUsage, "--meta: " + assignment.error().message);
      return false;
    }
    options.schedule.job.meta.push_back(std::move(*assignment));
  }
  for (const std::string& text : options.limits) {
    options.schedule.job.limits.push_back(parse_limit(text));
  }
  if (!options.payload) return true;
  if (*options.payload == "-") {
    options.payload->assign(std::istreambuf_iterator<char>(std::cin), {});
    while (options.payload->ends_with('\n')) options.payload->pop_back();
  }
  if (const Status checked = check_payload(*options.payload); !checked) {
    session.fail(kUsage, checked.error().message);
    return false;
  }
  options.schedule.job.payload = *options.payload;
  return true;
}

void show(const sdk::Schedule& schedule, Session& session) {
  print_line(session.json() ? schedule.json : schedule_details(schedule, now(), output_width()));
}

void set_from_file(const Set& options, Session& session) {
  const auto content = read_whole_file(options.file);
  if (!content) return session.fail(kUsage, content.error().message);
  const auto document = read_specification_file(*content, format_of(options.file, *content));
  if (!document) return fail_on_file(options.file, document.error(), session);
  session.with_client([&](sdk::Client& client) {
    const auto set = client.put_schedule(options.name, document->json);
    if (!set) return fail_on_file(set.error(), options.file, document->lines, session);
    show(*set, session);
  });
}

// Adds the workflow in the file to the given members. False: an error was printed.
bool add_workflow(const Set& options, JsonMembers& named, Session& session) {
  const auto content = read_whole_file(options.workflow_file);
  if (!content) {
    session.fail(kUsage, content.error().message);
    return false;
  }
  const auto document = read_object_file(*content, format_of(options.workflow_file, *content));
  if (!document) {
    fail_on_file(options.workflow_file, document.error(), session);
    return false;
  }
  set_member(named, "workflow", document->json);
  return true;
}

void set_from_options(Set& options, Session& session) {
  if (!complete(options, session)) return;
  JsonMembers named = named_members(options);
  const JsonMembers job = named_job(options);
  if (!options.workflow_file.empty()) {
    if (!job.empty()) {
      return session.fail(kUsage, fmt::format("--workflow can't stand together with options of a "
                                              "job, such as {}: its members have jobs of their own",
                                              job.front().first));
    }
    if (!add_workflow(options, named, session)) return;
  }
  if (named.empty() && job.empty() && !options.replace) {
    return session.fail(
        kUsage, "name a setting to change; `millrace schedule set --help` lists the options");
  }
  session.with_client([&](sdk::Client& client) {
    std::string there;
    if (!options.replace) {
      const auto found = client.schedule(options.name);
      if (!found && found.error().code != "not_found") return session.fail(found.error());
      if (found) there = found->json;
    }
    const JsonMembers whole = merged(specification_of(there), named, job);
    const bool has_rule = find_member(whole, "cron") || find_member(whole, "every_ms");
    const bool has_work = find_member(whole, "job") || find_member(whole, "workflow");
    if (!has_rule || !has_work) {
      return session.fail(
          there.empty() && !options.replace ? kNotFound : kUsage,
          fmt::format("{}: --cron or --every, and --type or --workflow, make it",
                      options.replace ? "a schedule needs a rule, and a job or workflow"
                                      : fmt::format("there is no schedule {}", options.name)));
    }
    const auto set = client.put_schedule(options.name, object_of(whole));
    if (!set) return session.fail(set.error());
    show(*set, session);
    const bool is_owned = !set->managed_by.empty() && options.schedule.managed_by.empty();
    if (is_owned) {
      note(fmt::format("{} is managed by {}, which may undo this the next time it applies its set",
                       set->name, set->managed_by));
    }
  });
}

// The first given option other than --file; empty: none.
std::string other_option(const CLI::App& command) {
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() == 0 || option->get_lnames().empty()) continue;
    if (!option->check_name("--file")) return "--" + option->get_lnames().front();
  }
  return {};
}

void run(Set& options, const CLI::App& command, Session& session) {
  if (session.refuse_dashes()) return;
  const std::string other = other_option(command);
  if (!options.file.empty() && !other.empty()) {
    return session.fail(kUsage, fmt::format("--file has the whole specification: it can't stand "
                                            "together with {}",
                                            other));
  }
  options.file.empty() ? set_from_options(options, session) : set_from_file(options, session);
}

void add_timing_options(CLI::App& command, Set& options) {
  sdk::NewSchedule& schedule = options.schedule;
  CLI::Option* cron = command
                          .add_option("--cron", schedule.cron,
                                      "minute hour day-of-month month day-of-week, in quotes; six "
                                      "fields begin with the second; or @daily and the like")
                          ->type_name("EXPRESSION");
  add_duration(command, "--every", schedule.every,
               "Interval of at least 1s, in place of an expression")
      ->excludes(cron);
  command
      .add_option("--timezone", schedule.timezone,
                  "Time zone, such as Europe/Zurich (default: UTC)")
      ->type_name("ZONE");
  add_time(command, "--start-at", schedule.start_at,
           "First possible instant; --every counts from it");
  add_time(command, "--end-at", schedule.end_at, "Last possible instant");
  add_duration(command, "--jitter", schedule.jitter,
               "Largest delay of an instant; each instant always has the same delay");
  add_dst_policies(command, schedule.dst_gap, schedule.dst_overlap);
}

void add_policy_options(CLI::App& command, Set& options) {
  sdk::NewSchedule& schedule = options.schedule;
  add_overlap(command, schedule.overlap);
  add_missed(command, options.missed);
  add_duration(command, "--missed-after", schedule.missed_after,
               "Delay after which an instant counts as missed (default: 1m)");
  // A target with three states would not work: CLI11 would set it even if the flag is not given.
  command.add_flag_function(
      "--paused,!--no-paused", [&schedule](std::int64_t count) { schedule.paused = count > 0; },
      "Pause the schedule, or not (default: no change)");
  command
      .add_option("--managed-by", schedule.managed_by,
                  "Owner of the schedule, see `schedule apply`")
      ->type_name("OWNER");
}

void add_job_options(CLI::App& command, Set& options) {
  sdk::NewJob& job = options.schedule.job;
  command.add_option("-t,--type", job.type, "Type of the job; workers choose their code by it")
      ->type_name("TYPE");
  command.add_option("-q,--queue", job.queue, "Queue of the job (default: default)")
      ->type_name("QUEUE");
  command
      .add_option("--payload", options.payload,
                  "Payload as JSON, or - to read it from standard input")
      ->type_name("JSON");
  command.add_option("--priority", job.priority, "Priority, -32768 to 32767; lower runs first")
      ->type_name("N");
  command
      .add_option("--max-attempts", job.max_attempts, "Number of attempts before the job is dead")
      ->type_name("N");
  add_retry(command, "--retry", job.retry,
            "Wait between attempts, as exponential[:BASE[:MAX]], linear[:BASE[:MAX]], "
            "fixed[:BASE], list:D,D,...");
  add_duration(command, "--timeout", job.timeout, "Time limit of one attempt");
  add_duration(command, "--lease", job.lease, "Time after which a silent worker loses the job");
  add_duration(command, "--expires-in", job.expires_in,
               "Latest start, as a delay; the job expires then");
  command.add_option("--tag", job.tags, "Tag of the job; repeatable")
      ->type_name("TAG")
      ->allow_extra_args(false);
  command
      .add_option("--limit", options.limits,
                  "Limit that each job must pass, with its key where it counts by key; repeatable")
      ->type_name("NAME[=KEY]")
      ->allow_extra_args(false);
  command.add_option("--meta", options.meta, "NAME=VALUE for the worker; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
}

}  // namespace

void add_schedule_set(CLI::App& schedule, Session& session) {
  CLI::App& command = *schedule.add_subcommand("set", "Create a schedule, or change one");
  const auto options = std::make_shared<Set>();
  command.add_option("NAME", options->name, "Name of the schedule")->required();
  add_timing_options(command, *options);
  add_job_options(command, *options);
  add_policy_options(command, *options);
  command
      .add_option("--workflow", options->workflow_file,
                  "File with a workflow in TOML or JSON, to create in place of a job")
      ->type_name("FILE");
  command.add_flag("--replace", options->replace, "Reset all other settings to their defaults");
  command
      .add_option(
          "--file", options->file,
          "File with the whole specification in TOML or JSON, in place of all other options")
      ->type_name("FILE");
  command.footer(
      "The command changes only the named settings of an existing schedule. It shows the next "
      "five\n"
      "instants.\n"
      "\n"
      "Examples:\n"
      "  millrace schedule set reports.morning --cron '0 9 * * MON-FRI' --timezone Europe/Zurich "
      "\\\n"
      "      --type report -q reports --payload '{\"kind\": \"morning\"}' --overlap skip\n"
      "  millrace schedule set meters --every 30s --type meters.read --missed skip\n"
      "  millrace schedule set reports.morning --cron '0 8 * * MON-FRI'\n"
      "  millrace schedule set nightly --cron @daily --workflow nightly.json --overlap skip\n"
      "  millrace schedule set reports.morning --file morning.toml");
  command.callback([options, &command, &session] { run(*options, command, session); });
}

}  // namespace millrace::cli
