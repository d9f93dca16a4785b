// millrace check: reports one fact to a monitoring system, in Nagios's format and with its exit
// codes.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>

#include "base/time.h"
#include "base/words.h"
#include "cli/check/thresholds.h"
#include "cli/commands.h"
#include "cli/limit/calls.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

constexpr Thresholds kScheduleLate{60, 300};

struct QueueCheck {
  std::string name;
  std::optional<Thresholds> depth, age, workers;
};
struct ScheduleCheck {
  std::string name;
  std::optional<Thresholds> late = kScheduleLate;
};
struct ServerCheck {
  std::optional<Thresholds> disk = Thresholds{10, 3};    // per cent free, at least
  std::optional<Thresholds> sync = Thresholds{0.1, 1};   // seconds
  std::optional<Thresholds> behind = Thresholds{5, 60};  // seconds
};

void answer_with(const CheckAnswer& answer, std::string_view subject, Session& session) {
  print_line(session.json() ? answer.json(subject) : printable(answer.line(subject)));
  session.exit_code = static_cast<int>(answer.state());
}

// A fact that can't be read is unknown; a server that does not answer is down.
void fail_with(const sdk::Error& error, std::string_view subject, CheckState unreachable,
               Session& session) {
  CheckAnswer answer;
  const bool is_down = error.kind == sdk::ErrorKind::kUnreachable || error.status >= 500;
  answer.say(is_down ? unreachable : CheckState::kUnknown, explain(error));
  answer_with(answer, subject, session);
}

// An invalid command line also exits with kUnknown: see cli.cc.
void with_client(Session& session, std::string_view subject,
                 const std::function<void(sdk::Client&)>& check) {
  auto client = session.connect();
  if (client) return check(*client);
  CheckAnswer answer;
  answer.say(CheckState::kUnknown, client.error().message);
  answer_with(answer, subject, session);
}

std::size_t workers_of(const std::vector<std::string>& workers, const std::string& queue) {
  return static_cast<std::size_t>(std::ranges::count_if(workers, [&](const std::string& item) {
    const sdk::JsonView worker(item);
    if (worker["state"].string() != "active") return false;
    const auto queues = worker["queues"].elements();
    return std::ranges::any_of(queues, [&](sdk::JsonView q) { return q.string() == queue; });
  }));
}

void check_queue(const QueueCheck& options, Session& session) {
  if (session.refuse_dashes()) return;
  const std::string subject = "queue " + options.name;
  with_client(session, subject, [&](sdk::Client& client) {
    const auto queue = client.queue(options.name);
    if (!queue) return fail_with(queue.error(), subject, CheckState::kUnknown, session);
    CheckAnswer answer;
    if (queue->paused) {
      answer.say(CheckState::kWarning, queue->pause_reason.empty()
                                           ? "it is paused"
                                           : "it is paused: " + queue->pause_reason);
    }
    answer.measure("depth", static_cast<double>(queue->counts.ready), "",
                   fmt::format("{} ready", queue->counts.ready),
                   options.depth.value_or(Thresholds{}));
    const Duration age = queue->oldest_ready_age.value_or(Duration{0});
    answer.measure("age", std::chrono::duration<double>(age).count(), "s",
                   "oldest " + format_duration_for_people(age), options.age.value_or(Thresholds{}));
    // Only on request: a large installation has a long list of workers.
    if (options.workers) {
      const auto workers = all_pages(client, "/v1/workers");
      if (!workers) return fail_with(workers.error(), subject, CheckState::kUnknown, session);
      const std::size_t active = workers_of(*workers, options.name);
      answer.measure_least("workers", static_cast<double>(active),
                           count_of(static_cast<std::int64_t>(active), "worker", "workers"),
                           *options.workers);
    }
    answer_with(answer, subject, session);
  });
}

void check_schedule(const ScheduleCheck& options, Session& session) {
  if (session.refuse_dashes()) return;
  const std::string subject = "schedule " + options.name;
  with_client(session, subject, [&](sdk::Client& client) {
    const auto schedule = client.schedule(options.name);
    if (!schedule) return fail_with(schedule.error(), subject, CheckState::kUnknown, session);
    const auto info = client.server_info();
    if (!info) return fail_with(info.error(), subject, CheckState::kUnknown, session);
    CheckAnswer answer;
    if (schedule->state == "broken") {
      answer.say(CheckState::kCritical, "it is broken: " + schedule->error);
    } else if (schedule->state == "paused") {
      answer.say(CheckState::kWarning,
                 schedule->reason.empty() ? "it is paused" : "it is paused: " + schedule->reason);
    } else if (schedule->next.empty()) {
      answer.say(CheckState::kWarning, "it has no next instant");
    } else {
      const Time now = info->server_time.value_or(cli::now());
      const Duration late = std::max(now - schedule->next.front(), Duration{0});
      answer.measure("late", std::chrono::duration<double>(late).count(), "s",
                     late > Duration{0} ? "late by " + format_duration_for_people(late)
                                        : "next " + relative_time(schedule->next.front(), now),
                     *options.late);
    }
    answer_with(answer, subject, session);
  });
}

void measure_server(const ServerCheck& options, sdk::JsonView facts, CheckAnswer& answer) {
  const sdk::JsonView disk = facts["disk"];
  if (disk.is_object()) {
    const double total = std::max(1.0, disk["total_bytes"].number().value_or(0));
    const double percent = 100 * disk["free_bytes"].number().value_or(0) / total;
    answer.measure_least("disk_free_percent", percent,
                         fmt::format("{:.0f} % of the disk free", percent), *options.disk);
  }
  const sdk::JsonView syncs = facts["syncs"];
  if (syncs.is_object()) {
    const double p99 = syncs["p99_ms"].number().value_or(0);
    answer.measure("sync_p99", p99 / 1'000, "s", fmt::format("syncs' p99 {:.1f} ms", p99),
                   *options.sync);
  }
  if (const auto lag = facts["projection_lag_ms"].number()) {
    answer.measure(
        "tables_behind", *lag / 1'000, "s",
        "tables behind by " + format_duration_for_people(Duration{static_cast<std::int64_t>(*lag)}),
        *options.behind);
  }
  for (const sdk::JsonView what : facts["failing"].elements()) {
    answer.say(CheckState::kCritical, "it can't write its " + what.string().value_or(""));
  }
}

void check_server(const ServerCheck& options, Session& session) {
  if (session.refuse_dashes()) return;
  const std::string subject = "server";
  with_client(session, subject, [&](sdk::Client& client) {
    const auto readiness = client.readiness();
    if (!readiness) return fail_with(readiness.error(), subject, CheckState::kCritical, session);
    CheckAnswer answer;
    answer.say(readiness->is_ready ? CheckState::kOk : CheckState::kCritical, readiness->status);
    for (const auto& check : readiness->checks) {
      if (check.is_ok) continue;
      answer.say(CheckState::kCritical, fmt::format("{} fails: {}", check.name, check.detail));
    }
    // If the token does not allow the diagnosis, only readiness is checked.
    const auto facts = send(client, "GET", "/v1/admin/diagnosis");
    if (facts) measure_server(options, sdk::JsonView(*facts), answer);
    answer_with(answer, subject, session);
  });
}

void add_thresholds(CLI::App& command, const std::string& flag, std::optional<Thresholds>& out,
                    bool durations, const std::string& description) {
  command
      .add_option_function<std::string>(
          flag,
          [&out, flag, durations](const std::string& text) {
            const auto parsed = parse_thresholds(text, durations);
            if (!parsed) throw CLI::ValidationError(flag, parsed.error().message);
            out = *parsed;
          },
          description)
      ->type_name("W:C");
}

}  // namespace

void add_check(CLI::App& app, Session& session) {
  CLI::App& check =
      *app.add_subcommand("check", "Check one thing for a monitoring system, in Nagios's form");
  check.require_subcommand(1);

  CLI::App& queue =
      *check.add_subcommand("queue", "Check how many jobs of a queue wait, how long, and for whom");
  const auto queue_options = std::make_shared<QueueCheck>();
  queue.add_option("NAME", queue_options->name, "Queue")->required();
  add_thresholds(queue, "--depth", queue_options->depth, false,
                 "Warn above W ready jobs; critical above C");
  add_thresholds(queue, "--age", queue_options->age, true,
                 "Warn if the oldest ready job has waited for longer than W; critical above C");
  add_thresholds(queue, "--workers", queue_options->workers, false,
                 "Warn below W active workers; critical below C");
  queue.footer(
      "One line goes out: the state, a text, and after a bar the figures. The exit code is 0 (OK), "
      "1\n"
      "(WARNING), 2 (CRITICAL) or 3 (UNKNOWN). W or C may be left out.\n"
      "\n"
      "Examples:\n"
      "  millrace check queue mail --depth 1000:10000 --age 1m:10m --workers 2:1\n"
      "  millrace check queue mail --age :10m");
  queue.callback([queue_options, &session] { check_queue(*queue_options, session); });

  CLI::App& schedule = *check.add_subcommand("schedule", "Check that a schedule fires in time");
  const auto schedule_options = std::make_shared<ScheduleCheck>();
  schedule.add_option("NAME", schedule_options->name, "Schedule")->required();
  add_thresholds(schedule, "--late", schedule_options->late, true,
                 "Warn if it is late by more than W; critical above C (default: 1m:5m)");
  schedule.footer(
      "A broken schedule is critical, a paused one and one without a next instant a warning.\n"
      "\n"
      "Examples:\n"
      "  millrace check schedule nightly --late 5m:1h");
  schedule.callback([schedule_options, &session] { check_schedule(*schedule_options, session); });

  CLI::App& server = *check.add_subcommand("server", "Check that the server is ready and well");
  const auto server_options = std::make_shared<ServerCheck>();
  add_thresholds(server, "--disk", server_options->disk, false,
                 "Warn below W per cent of the disk free; critical below C (default: 10:3)");
  add_thresholds(server, "--sync", server_options->sync, true,
                 "Warn if syncs take longer than W (p99); critical above C (default: 100ms:1s)");
  add_thresholds(server, "--behind", server_options->behind, true,
                 "Warn if the tables are behind by more than W; critical above C (default: 5s:1m)");
  server.footer(
      "These three need a token of the scope admin; without it the check is of readiness alone.\n"
      "\n"
      "Examples:\n"
      "  millrace check server --url https://jobs.example:7600\n"
      "  millrace check server --disk 20:5");
  server.callback([server_options, &session] { check_server(*server_options, session); });
}

}  // namespace millrace::cli
