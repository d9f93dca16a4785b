// millrace enqueue: submits one job.
#include <fmt/format.h>

#include <iostream>
#include <iterator>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/job/view.h"
#include "cli/limit/calls.h"
#include "cli/options.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

struct Enqueue {
  sdk::NewJob job;
  std::string payload;
  std::vector<std::string> meta;
  std::vector<std::string> limits;  // NAME, or NAME=KEY
  std::string unique_key;
  std::optional<sdk::Milliseconds> unique_for;
  std::string on_conflict;
  std::optional<sdk::Milliseconds> max_wait;
  std::optional<double> jitter;
  bool wait = false;
  std::optional<sdk::Milliseconds> wait_timeout;
};

// Takes the payload from the argument, from after "--" (if it looks like an option), or from
// standard input. False: an error was printed.
bool read_payload(Enqueue& options, Session& session) {
  if (session.has_dashes) {
    if (session.after_dashes.size() != 1 || !options.payload.empty()) {
      session.fail(kUsage, "at most one payload is allowed after \"--\"");
      return false;
    }
    options.payload = session.after_dashes.front();
  } else if (options.payload == "-") {
    options.payload.assign(std::istreambuf_iterator<char>(std::cin), {});
    while (options.payload.ends_with('\n')) options.payload.pop_back();
    if (options.payload.empty()) {
      session.fail(kUsage, "standard input is empty; leave out \"-\" for a job without a payload");
      return false;
    }
  }
  if (options.payload.empty()) return true;
  if (const Status checked = check_payload(options.payload); !checked) {
    session.fail(kUsage, checked.error().message);
    return false;
  }
  options.job.payload = options.payload;
  return true;
}

bool complete(Enqueue& options, Session& session) {
  for (const std::string& text : options.meta) {
    auto assignment = parse_assignment(text);
    if (!assignment) {
      session.fail(kUsage, "--meta: " + assignment.error().message);
      return false;
    }
    options.job.meta.push_back(std::move(*assignment));
  }
  for (const std::string& text : options.limits) options.job.limits.push_back(parse_limit(text));
  if (!options.unique_key.empty()) {
    options.job.unique =
        sdk::Unique{options.unique_key, options.unique_for, options.on_conflict, options.max_wait};
  } else if (options.unique_for || !options.on_conflict.empty() || options.max_wait) {
    session.fail(kUsage, "--unique-for and --on-conflict need --unique-key");
    return false;
  }
  if (options.jitter) {
    if (!options.job.retry) options.job.retry = sdk::RetryPolicy{.strategy = "exponential"};
    options.job.retry->jitter = options.jitter;
  }
  return read_payload(options, session);
}

// The job has ended, and its queue's retention was shorter than the time between two requests.
void show_pruned(Session& session, const std::string& id) {
  session.exit_code = kDidNotSucceed;
  note(
      fmt::format("job {} has ended, and the server has deleted it, so its outcome is unknown; a "
                  "longer retention of the queue keeps ended jobs",
                  id));
  if (session.json()) {
    return print_line(fmt::format(R"({{"id":{},"state":"pruned"}})", sdk::json_string(id)));
  }
  print_line(fmt::format("{}  pruned", id));
}

void show_end(const Enqueue& options, Session& session, sdk::Client& client,
              const sdk::Job& submitted) {
  const std::string& id = submitted.id;
  if (submitted.state == "pruned") return show_pruned(session, id);
  auto end = wait_for_end(client, id, options.wait_timeout);
  if (!end && end.error().code == "not_found") return show_pruned(session, id);
  if (!end) return session.fail(end.error());
  if (!*end) {
    return session.fail(kFailure, fmt::format("job {} did not end within {}; it goes on", id,
                                              format_duration(*options.wait_timeout)));
  }
  const sdk::Job& job = **end;
  session.exit_code = exit_code_of_end(job);
  if (session.json()) return print_line(job.json);
  print_line(fmt::format("{}  {}", id, job_summary(job)));
  if (job.result && job.state == "succeeded") print_line(printable_block(*job.result));
}

void run(Enqueue& options, Session& session) {
  if (!complete(options, session)) return;
  session.with_client([&](sdk::Client& client) {
    auto submitted = client.submit(options.job);
    if (!submitted) {
      std::vector<std::string> limits;
      for (const sdk::JobLimit& limit : options.job.limits) limits.push_back(limit.name);
      return session.fail(exit_code_of(submitted.error()),
                          explain_on_limits(submitted.error(), limits));
    }
    const sdk::Job& job = submitted->job;
    if (!options.wait) {
      if (session.json()) return print_line(job.json);
      std::string what = job.state;
      if (!submitted->is_new) what += " (existed already)";
      return print_line(fmt::format("{}  {}", job.id, what));
    }
    if (!session.json()) note(fmt::format("submitted {}; waiting for its end", job.id));
    show_end(options, session, client, job);
  });
}

void add_schedule_options(CLI::App& command, Enqueue& options) {
  command
      .add_option("--priority", options.job.priority, "Priority, -32768 to 32767; lower runs first")
      ->type_name("N");
  CLI::Option* delay =
      add_duration(command, "--delay", options.job.delay, "Earliest start, as a delay");
  add_time(command, "--run-at", options.job.run_at, "Earliest start, as a time")->excludes(delay);
  CLI::Option* expires_in = add_duration(command, "--expires-in", options.job.expires_in,
                                         "Latest start, as a delay; the job expires then");
  add_time(command, "--expires-at", options.job.expires_at, "Latest start, as a time")
      ->excludes(expires_in);
}

void add_attempt_options(CLI::App& command, Enqueue& options) {
  command
      .add_option("--max-attempts", options.job.max_attempts,
                  "Number of attempts before the job is dead")
      ->type_name("N");
  add_retry(command, "--retry", options.job.retry,
            "Wait between attempts, as exponential[:BASE[:MAX]], linear[:BASE[:MAX]], "
            "fixed[:BASE], list:D,D,...");
  command.add_option("--retry-jitter", options.jitter, "Share by which waits vary, 0 to 1")
      ->type_name("SHARE");
  add_duration(command, "--timeout", options.job.timeout, "Time limit of one attempt");
  add_duration(command, "--lease", options.job.lease,
               "Time after which a silent worker loses the job");
}

// An empty key probably comes from an unset variable: without a key, duplicates are not prevented.
std::string is_not_empty(const std::string& key) { return key.empty() ? "must not be empty" : ""; }

void add_identity_options(CLI::App& command, Enqueue& options) {
  command.add_option("--tag", options.job.tags, "Tag of the job; repeatable")
      ->type_name("TAG")
      ->allow_extra_args(false);
  command.add_option("--meta", options.meta, "NAME=VALUE for the worker; repeatable")
      ->type_name("NAME=VALUE")
      ->allow_extra_args(false);
  command
      .add_option("--limit", options.limits,
                  "Limit that the job must pass, with the job's key where it counts by key; "
                  "repeatable")
      ->type_name("NAME[=KEY]")
      ->allow_extra_args(false);
  command
      .add_option("--order-key", options.job.order_key,
                  "Order key: jobs of one key run one at a time, in order")
      ->type_name("KEY")
      ->check(is_not_empty);
  command
      .add_option("--order-on-failure", options.job.order_on_failure,
                  "While a job is retried: hold its successors (default), or let them pass")
      ->check(CLI::IsMember({"hold", "pass"}));
  command
      .add_option("--fair-key", options.job.fair_key,
                  "Fair key: whose share of the queue the job takes, such as a tenant")
      ->type_name("KEY")
      ->check(is_not_empty);
  command
      .add_option("--unique-key", options.unique_key,
                  "Unique key: the queue has at most one unfinished job with it")
      ->type_name("KEY")
      ->check(is_not_empty);
  add_duration(command, "--unique-for", options.unique_for,
               "Time for which the job keeps the unique key, even if it ends");
  command
      .add_option(
          "--on-conflict", options.on_conflict,
          "If another job has the unique key: return (default), reject, replace or debounce")
      ->check(CLI::IsMember({"return", "reject", "replace", "debounce"}));
  add_duration(command, "--max-wait", options.max_wait,
               "With debounce: the latest start, after the first submission");
  command
      .add_option("--idempotency-key", options.job.idempotency_key,
                  "Idempotency key: a repeated submission gives the same job")
      ->type_name("KEY")
      ->check(is_not_empty);
  command.add_option("--id", options.job.id, "Id of the job, a UUIDv7")->type_name("UUID");
  command.add_option("--traceparent", options.job.traceparent, "W3C trace context of the job");
}

}  // namespace

void add_enqueue(CLI::App& app, Session& session) {
  CLI::App& command = *app.add_subcommand("enqueue", "Submit a job");
  const auto options = std::make_shared<Enqueue>();
  command.add_option("TYPE", options->job.type, "Type of the job; workers choose their code by it")
      ->required();
  command.add_option("PAYLOAD", options->payload,
                     "Payload as JSON, or - to read it from standard input");
  command.add_option("-q,--queue", options->job.queue, "Queue of the job (default: default)")
      ->type_name("QUEUE");
  add_schedule_options(command, *options);
  add_attempt_options(command, *options);
  add_identity_options(command, *options);
  CLI::Option* wait = command.add_flag("--wait", options->wait,
                                       "Wait until the job ends; exit code 8 unless it succeeds");
  add_duration(command, "--wait-timeout", options->wait_timeout, "Longest time to wait")
      ->needs(wait);
  command.footer(
      "Examples:\n"
      "  millrace enqueue greet '{\"name\": \"Ada\"}'\n"
      "  millrace enqueue email.send -q email --delay 10m --tag news - < mail.json\n"
      "  millrace enqueue report --idempotency-key march --retry exponential:10s:1h\n"
      "  millrace enqueue thumbnail '{\"file\": \"a.png\"}' --wait -o json");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
