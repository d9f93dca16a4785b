// millrace work: runs a worker that runs a command for each job or carries it out in another way.
#include <fmt/format.h>

#include <atomic>
#include <condition_variable>
#include <csignal>
#include <cstdio>
#include <mutex>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/executor/executor.h"
#include "cli/exit_code.h"
#include "cli/job/outcome.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/process.h"
#include "cli/shell_job.h"
#include "cli/signals.h"
#include "millrace/worker.h"

namespace millrace::cli {
namespace {

constexpr int kMaxConcurrency = 1'000;
constexpr std::size_t kOtherFiles = 64;               // connections, and the inherited ones
constexpr sdk::Milliseconds kPauseOnShortage{1'000};  // before another job is tried

struct Work {
  std::vector<std::string> queues;
  std::vector<std::string> types;
  int concurrency = 1;
  std::optional<sdk::Milliseconds> lease;
  std::optional<sdk::Milliseconds> grace = sdk::Milliseconds{10'000};
  std::string id;
  std::string version;
  bool shell = false;  // the payload names the command to run
  std::string http_url;
  std::optional<sdk::Milliseconds> http_timeout = sdk::Milliseconds{30'000};
  bool simulate = false;
  bool allow_http_calls = false;
  std::string module;
  std::string module_config;
  bool once = false;
  bool until_empty = false;
  bool verbose = false;
  std::optional<OpenFiles> open_files_before;  // set if our limits were raised
};

// Passes on a line of a job's standard error. One write per line, so that jobs do not mix within a
// line.
void echo(std::string_view line) {
  const std::string text = (is_terminal(2) ? printable(line) : std::string(line)) + "\n";
  std::fwrite(text.data(), 1, text.size(), stderr);
}

Command command_for(const sdk::ClaimedJob& job, const std::vector<std::string>& words) {
  Command command{.words = words,
                  .environment = {{"MILLRACE_JOB_ID", job.id},
                                  {"MILLRACE_TYPE", job.type},
                                  {"MILLRACE_ATTEMPT", std::to_string(job.attempt)},
                                  {"MILLRACE_LEASE_TOKEN", std::to_string(job.token)}},
                  .input = job.payload,
                  .max_output = kMaxOutputBytes,
                  .on_error_line = {}};
  if (job.schedule) {
    command.environment.emplace_back("MILLRACE_SCHEDULE", job.schedule->name);
    if (job.schedule->scheduled_at) {
      command.environment.emplace_back("MILLRACE_SCHEDULED_AT",
                                       format_rfc3339(*job.schedule->scheduled_at));
    }
  }
  return command;
}

// With --shell: takes the command from the payload. Our own variables keep precedence.
Status read_command(const sdk::ClaimedJob& job, Command& command) {
  auto shell = parse_shell_payload(job.payload);
  if (!shell) return std::unexpected(shell.error());
  command.words = shell_words(*shell);
  command.input = std::move(shell->input);
  for (auto& [name, value] : shell->environment) {
    const bool is_ours = std::ranges::any_of(
        command.environment, [&](const auto& variable) { return variable.first == name; });
    if (!is_ours) command.environment.emplace_back(std::move(name), std::move(value));
  }
  return {};
}

// No room for another process: after a pause, gives the job back so that any worker can take it.
sdk::Outcome give_back(sdk::Context& context, const std::string& reason) {
  note(fmt::format("{}; the worker gives job {} back", reason, context.job().id));
  std::mutex mutex;
  std::condition_variable_any stopped;
  std::unique_lock lock(mutex);
  stopped.wait_for(lock, context.stop_token(), kPauseOnShortage, [] { return false; });
  return context.stop_reason() == sdk::StopReason::kCancelled ? sdk::Outcome::cancelled()
                                                              : sdk::Outcome::released();
}

// State shared by the jobs and the main thread.
struct Told {
  std::atomic<bool> is_aborted = false;
  std::atomic<bool> was_given_back = false;  // a job was given back for want of room
};

sdk::Outcome run_job(sdk::Context& context, const Work& options,
                     const std::vector<std::string>& words, Told& told) {
  Command command = command_for(context.job(), words);
  if (options.shell) {
    const Status read = read_command(context.job(), command);
    if (!read) {
      return sdk::Outcome::failed_for_good({.type = "payload", .message = read.error().message});
    }
  }
  command.open_files = options.open_files_before;
  command.on_error_line = [&context](std::string_view line) {
    context.log("info", line);
    echo(line);
  };
  const StopPolicy policy{context.stop_token(), options.grace.value_or(sdk::Milliseconds{0}),
                          [&told] { return told.is_aborted.load(); }};
  const auto end = run_command(command, policy);
  if (!end && end.error().is_shortage) {
    told.was_given_back = true;
    return give_back(context, end.error().message);
  }
  if (!end) return sdk::Outcome::failed({.type = "spawn", .message = end.error().message});
  CommandResult result = result_of(end->output, end->is_output_cut);
  if (result.is_cut) {
    context.log("warn", fmt::format("the output exceeds {}; the result has its first {} bytes",
                                    format_size(kMaxResultBytes), result.bytes));
  }
  auto outcome = outcome_of(*end, std::move(result.json), context.stop_reason());
  return outcome;
}

// Carries the job out with `carry`, and reports the end if verbose.
sdk::Outcome carry_out(sdk::Context& context, const Work& options, const Executor& carry) {
  const auto began = std::chrono::steady_clock::now();
  auto outcome = carry(context);
  if (options.verbose) {
    const auto took =
        std::chrono::floor<sdk::Milliseconds>(std::chrono::steady_clock::now() - began);
    note(fmt::format("{}  {}  {} after {}", context.job().id, context.job().type, outcome.outcome,
                     format_duration_for_people(took)));
  }
  return outcome;
}

sdk::WorkerOptions worker_options(const Work& options) {
  sdk::WorkerOptions worker{.queues = options.queues,
                            .types = options.types,
                            .concurrency = options.concurrency,
                            .lease = options.lease,
                            .grace = std::nullopt,  // a second signal ends it
                            .id = options.id,
                            .version = options.version,
                            .notice = [](std::string_view, std::string_view text) { note(text); }};
  if (worker.queues.empty()) worker.queues = {"default"};
  if (options.once) worker.exit_when = sdk::ExitWhen::kOneJobDone;
  if (options.until_empty) worker.exit_when = sdk::ExitWhen::kNothingToClaim;
  return worker;
}

// The executor that replaces commands; empty: commands are run.
Result<Executor> executor_of(const Work& options) {
  if (!options.http_url.empty()) {
    return make_http_executor(
        {options.http_url, options.http_timeout.value_or(sdk::Milliseconds{30'000})});
  }
  if (options.simulate) return make_simulator(options.allow_http_calls);
  if (!options.module.empty()) return load_module({options.module, options.module_config});
  return Executor();
}

bool is_usable(const Work& options, const std::vector<std::string>& words, Session& session) {
  if (!options.http_url.empty() || options.simulate || !options.module.empty()) {
    if (words.empty()) return true;
    session.fail(kUsage,
                 "with --http, --simulate or --module no command runs; leave out the one after "
                 "\"--\"");
    return false;
  }
  if (options.shell) {
    if (words.empty()) return true;
    session.fail(kUsage,
                 "with --shell each job names its command; leave out the command after \"--\"");
    return false;
  }
  if (words.empty()) {
    session.fail(
        kUsage,
        "name the command to run after \"--\", as in `millrace work -q email -- ./send.sh`");
    return false;
  }
  if (find_program(words.front()).empty()) {
    session.fail(kUsage, fmt::format("{} is not an executable program", words.front()));
    return false;
  }
  return true;
}

void run(Work& options, Session& session) {
  const std::vector<std::string>& words = session.after_dashes;
  if (!is_usable(options, words, session)) return;
  const auto executor = executor_of(options);
  if (!executor) return session.fail(kUsage, executor.error().message);
  const auto jobs = static_cast<std::size_t>(options.concurrency);
  options.open_files_before =
      allow_open_files(jobs * (kFilesPerCommand + kFilesToStart) + kOtherFiles);
  std::signal(SIGPIPE, SIG_IGN);  // a command that closes its standard input must not end us
  session.with_client([&](sdk::Client& client) {
    std::stop_source stop;
    sdk::Worker* running = nullptr;
    Told told;
    const Executor carry = *executor ? *executor : [&](sdk::Context& context) {
      return run_job(context, options, words, told);
    };
    std::mutex mutex;  // guards `running`
    const SignalWatcher signals([&](int count) {
      if (count == 1) {
        note(
            "the worker stops: it claims no new jobs and waits for the running ones; a second "
            "signal kills them");
        stop.request_stop();
        return;
      }
      const std::lock_guard lock(mutex);
      told.is_aborted = true;
      if (running != nullptr) running->abort();
    });
    sdk::Worker worker(client, worker_options(options),
                       [&](sdk::Context& context) { return carry_out(context, options, carry); });
    {
      const std::lock_guard lock(mutex);
      running = &worker;
    }
    const auto done = worker.run(stop.get_token());
    {
      const std::lock_guard lock(mutex);
      running = nullptr;
    }
    if (!done && done.error().kind == sdk::ErrorKind::kUnreachable) {
      session.fail(kTryAgain, sdk::describe(done.error()));
    } else if (!done) {
      session.fail(done.error());
    } else if (options.once && told.was_given_back) {
      session.fail(kTryAgain,
                   "the worker gave the job back, because it had no room to run the command");
    }
    if (told.is_aborted) session.exit_code = kInterrupted;
  });
}

void add_executors(CLI::App& command, Work& options) {
  CLI::Option* const http =
      command.add_option("--http", options.http_url, "POST each job to this URL")->type_name("URL");
  add_duration(command, "--http-timeout", options.http_timeout,
               "Time for the service's answer (default: 30s)")
      ->needs(http);
  CLI::Option* const simulate = command.add_flag("--simulate", options.simulate,
                                                 "Carry out the steps that each payload lists");
  command
      .add_flag("--allow-http-calls", options.allow_http_calls,
                "Let these steps call any URL that this machine can reach")
      ->needs(simulate);
  CLI::Option* const module =
      command
          .add_option("--module", options.module,
                      "Carry jobs out by this shared library (millrace/module.h)")
          ->type_name("FILE");
  command.add_option("--module-config", options.module_config, "Text that the module gets")
      ->type_name("TEXT")
      ->needs(module);
  CLI::Option* const shell = command.get_option("--shell");
  http->excludes(simulate)->excludes(module)->excludes(shell);
  simulate->excludes(module)->excludes(shell);
  module->excludes(shell);
}

}  // namespace

void add_work(CLI::App& app, Session& session) {
  CLI::App& command = *app.add_subcommand("work", "Run a command for each job");
  const auto options = std::make_shared<Work>();
  command
      .add_option(
          "-q,--queue", options->queues,
          "Queues in order of preference; repeatable, or separated by commas (default: default)")
      ->type_name("QUEUE")
      ->delimiter(',')
      ->allow_extra_args(false);
  command.add_option("-t,--type", options->types, "Only jobs of these types")
      ->type_name("TYPE")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("-c,--concurrency", options->concurrency, "Number of jobs at a time (default: 1)")
      ->check(CLI::Range(1, kMaxConcurrency));
  add_duration(command, "--lease", options->lease,
               "Time after which a silent worker loses a job (default: the job's)");
  add_duration(command, "--grace", options->grace,
               "Time between SIGTERM and SIGKILL for a cancelled job (default: 10s)");
  command.add_option("--id", options->id, "Name of this worker (default: host and process id)")
      ->type_name("NAME");
  command
      .add_option("--worker-version", options->version,
                  "Version of your program, shown with errors and in charts (default: "
                  "MILLRACE_WORKER_VERSION, else none)")
      ->type_name("VERSION");
  command.add_flag(
      "--shell", options->shell,
      "Run the command in the job's payload, as for an imported crontab; no command after \"--\"");
  add_executors(command, *options);
  CLI::Option* once = command.add_flag("--once", options->once, "Exit after one job");
  command.add_flag("--until-empty", options->until_empty, "Exit when no job is left to claim")
      ->excludes(once);
  command.add_flag("-v,--verbose", options->verbose, "Print the outcome of each job");
  command.footer(
      "Write the command after \"--\". It gets each job's payload on standard input, and\n"
      "MILLRACE_JOB_ID, MILLRACE_TYPE, MILLRACE_ATTEMPT and MILLRACE_LEASE_TOKEN in its\n"
      "environment. If a schedule made the job, it also gets MILLRACE_SCHEDULE and\n"
      "MILLRACE_SCHEDULED_AT. Its output is the result, and its standard error is the job's log.\n"
      "Exit status 0: the job succeeded; 65: it failed for good; any other: it failed, and may "
      "retry.\n"
      "With --shell the payload is {\"command\": \"...\"}, and may have \"shell\", \"input\" (for\n"
      "standard input) and \"environment\". Anyone who can submit to the queue can then run any "
      "command\n"
      "here, so use a separate queue, and give tokens for it to few.\n"
      "SIGTERM or Ctrl-C stops claiming and waits for the running jobs; a second one kills them.\n"
      "\n"
      "Examples:\n"
      "  millrace work -q email -c 4 -- ./send.sh\n"
      "  millrace work -q urgent,default -t resize -- convert - -resize 100x100 png:-\n"
      "  millrace work -q nightly --until-empty -- ./report.py\n"
      "  millrace work -q crontab --shell\n"
      "  millrace work -q email -c 20 --http http://127.0.0.1:8000/jobs\n"
      "  millrace work -q demo -c 50 --simulate");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
