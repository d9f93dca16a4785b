// millrace doctor: finds problems of a server and its store, and suggests what to do.
#include <fmt/format.h>

#include <memory>

#include "cli/commands.h"
#include "cli/doctor/look.h"
#include "cli/options.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

constexpr int kFine = 0;
constexpr int kFindings = 1;
constexpr int kNotLooked = 2;
constexpr int kStuckFactor = 10;

struct Options {
  std::string directory;
  std::optional<sdk::Milliseconds> patience = sdk::Milliseconds{60'000};
};

struct Looked {
  bool at_server = false;
  bool at_files = false;
  Facts::Items unknown{};
  std::string summary{};
};

// Connects to another address with the same token and certificates.
OpenClient opener(const Session& session) {
  return [&session](const std::string& url) {
    Session other = session;
    other.url = url;
    return other.connect();
  };
}

void judge_server(const DoctorFacts& facts, const Patience& patience, Findings& found) {
  for (Finding& finding : judge(facts.overview, patience)) found.push_back(std::move(finding));
  judge_nodes(facts, patience, found);
  judge_tokens(facts, found);
  judge_stuck(facts, patience, found);
  judge_poison(facts, found);
  judge_runs(facts, found);
}

std::string summary_of(const Facts& facts) {
  const auto count = [](const Facts::Items& items, std::string_view one, std::string_view many) {
    return count_of(static_cast<std::int64_t>(items.size()), one, many);
  };
  return fmt::format("{}, {}, {}, {}", count(facts.queues, "queue", "queues"),
                     count(facts.workers, "worker", "workers"),
                     count(facts.limits, "limit", "limits"),
                     count(facts.schedules, "schedule", "schedules"));
}

void report(const Findings& found, const Looked& looked, const Session& session) {
  if (session.json()) {
    sdk::JsonWriter json;
    json.begin_object();
    json.key("findings").raw(findings_json(found));
    json.key("looked_at").begin_array();
    if (looked.at_server) json.string("server");
    if (looked.at_files) json.string("files");
    json.end_array();
    json.key("not_looked_at").begin_array();
    for (const std::string& what : looked.unknown) json.string(what);
    json.end_array();
    json.end_object();
    return print_line(json.text());
  }
  print(findings_text(found, output_width()));
  if (!has_faults(found)) print_line("nothing is wrong");
  if (!looked.summary.empty()) note("looked at " + looked.summary);
  for (const std::string& what : looked.unknown) note("not looked at: " + printable(what));
}

void run(const Options& options, Session& session) {
  if (session.refuse_dashes()) return;
  Findings found;
  Looked looked;
  if (!options.directory.empty()) looked.at_files = judge_files(options.directory, found);
  const Patience patience{.late = *options.patience,
                          .alone = std::min(Patience{}.alone, *options.patience),
                          .silent = *options.patience * 3 / 4,
                          .stuck = *options.patience * kStuckFactor};
  auto client = session.connect();
  if (!client) return session.fail(kNotLooked, client.error().message);
  const auto facts = look_closely(*client, opener(session));
  if (facts) {
    looked.at_server = true;
    looked.unknown = facts->overview.unknown;
    looked.summary = summary_of(facts->overview);
    judge_server(*facts, patience, found);
  } else if (options.directory.empty()) {
    return session.fail(kNotLooked, explain(facts.error()));
  } else {
    looked.unknown.push_back("the server: " + explain(facts.error()));
  }
  put_in_order(found);
  report(found, looked, session);
  const bool saw_something = looked.at_server || looked.at_files;
  session.exit_code = !saw_something ? kNotLooked : has_faults(found) ? kFindings : kFine;
}

}  // namespace

void add_doctor(CLI::App& app, Session& session) {
  CLI::App& command =
      *app.add_subcommand("doctor", "Look for what is wrong, and say what to do about it");
  const auto options = std::make_shared<Options>();
  command
      .add_option("--data", options->directory,
                  "Also look at the files of a store on this machine, even if no server runs")
      ->type_name("DIR");
  add_duration(
      command, "--patience", options->patience,
      "How long a ready job, a schedule, a transaction or the silence of a worker may last "
      "before that is told; ten times as long for holders of a limit (default: 1m)");
  command.footer(
      "The command changes nothing. It exits with 0 if nothing is wrong, with 1 if it found "
      "something,\n"
      "and with 2 if it could not look. With a token of the scopes read and admin it sees most.\n"
      "\n"
      "Examples:\n"
      "  millrace doctor\n"
      "  millrace doctor --url https://jobs.example:7600 --token-file admin.token\n"
      "  millrace doctor --data /var/lib/millrace\n"
      "  millrace doctor -o json | jq -r '.findings[] | select(.severity == \"bad\") | .what'");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
