// millrace doctor: finds problems of a server and its store, and suggests what to do.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include "cli/commands.h"
#include "cli/doctor/parts.h"
#include "cli/options.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

constexpr int kFine = 0;
constexpr int kFindings = 1;
constexpr int kNotLooked = 2;
constexpr int kStuckFactor = 10;
constexpr sdk::Milliseconds kAlone{5'000};  // at most, for a queue without workers

struct Options {
  std::string directory;
  std::optional<sdk::Milliseconds> patience = sdk::Milliseconds{60'000};
};

// Connects to another address with the same token and certificates.
OpenClient opener(const Session& session) {
  return [&session](const std::string& url) {
    Session other = session;
    other.url = url;
    return other.connect();
  };
}

// The thresholds, as parameters of the call.
std::string query_of(sdk::Milliseconds patience) {
  return fmt::format("late_ms={0}&alone_ms={1}&silent_ms={2}&stuck_ms={3}&transaction_ms={0}",
                     patience.count(), std::min(kAlone, patience).count(),
                     (patience * 3 / 4).count(), (patience * kStuckFactor).count());
}

void report(const Findings& found, const std::vector<std::string>& looked_at,
            const Session& session) {
  if (session.json()) {
    sdk::JsonWriter json;
    json.begin_object();
    write_findings(json, found);
    json.key("looked_at").begin_array();
    for (const std::string& what : looked_at) json.string(what);
    json.end_array();
    json.key("not_looked_at").begin_array();
    for (const std::string& what : found.not_looked_at) json.string(what);
    json.end_array();
    json.end_object();
    return print_line(json.text());
  }
  print(findings_text(found, output_width()));
  if (!has_faults(found)) print_line("nothing is wrong");
  if (!found.looked_at.empty()) note("looked at " + looked_at_text(found));
  for (const std::string& what : found.not_looked_at) note("not looked at: " + printable(what));
}

void run(const Options& options, Session& session) {
  if (session.refuse_dashes()) return;
  std::vector<Finding> of_files;
  std::vector<std::string> looked_at;
  if (!options.directory.empty() && judge_files(options.directory, of_files)) {
    looked_at.emplace_back("files");
  }
  auto client = session.connect();
  if (!client) return session.fail(kNotLooked, client.error().message);
  const std::string query = query_of(*options.patience);
  Findings found;
  if (auto told = read_findings(*client, "closely=true&" + query)) {
    looked_at.insert(looked_at.begin(), "server");
    found = std::move(*told);
    look_at_nodes(*client, opener(session), query, found);
  } else if (options.directory.empty()) {
    return session.fail(kNotLooked, explain(told.error()));
  } else {
    found.not_looked_at.push_back("the server: " + explain(told.error()));
  }
  std::ranges::move(of_files, std::back_inserter(found.items));
  report(found, looked_at, session);
  session.exit_code = looked_at.empty() ? kNotLooked : has_faults(found) ? kFindings : kFine;
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
