// millrace push-target list, get, set, delete: manages the receivers that the server calls for
// jobs.
#include "cli/commands.h"

#include <fmt/format.h>

#include <sstream>

#include "base/file.h"
#include "base/json_writer.h"
#include "cli/confirm.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/push_target/view.h"
#include "cli/schedule/json_members.h"

namespace millrace::cli {
namespace {

struct Set {
  std::string name;
  std::string url;
  std::vector<std::string> queues;
  std::vector<std::string> types;
  std::vector<std::string> headers;
  std::string secret_file;
  bool no_secret = false;
  bool no_headers = false;
  std::optional<int> concurrency;
  std::optional<sdk::Milliseconds> timeout;
  bool paused = false;
};

void add_names(JsonWriter& json, std::string_view key, const std::vector<std::string>& names) {
  json.key(key);
  json.begin_array();
  for (const std::string& name : names) json.string(name);
  json.end_array();
}

// The file has one or two lines: the new secret, and the one that it replaces.
Result<std::vector<std::string>> read_secrets(const std::string& path) {
  const auto content = read_file(path);
  if (!content) return std::unexpected(content.error());
  std::istringstream lines(*content);
  std::vector<std::string> secrets;
  std::string line;
  while (std::getline(lines, line)) {
    while (line.ends_with('\r') || line.ends_with(' ')) line.pop_back();
    if (!line.empty()) secrets.push_back(line);
  }
  if (secrets.empty() || secrets.size() > 2) {
    return failure(
        fmt::format("{} must have a secret in its first line, and may have the one that "
                    "it replaces in its second",
                    path));
  }
  return secrets;
}

Status add_headers(JsonWriter& json, const std::vector<std::string>& headers) {
  json.key("headers");
  json.begin_object();
  for (const std::string& header : headers) {
    const std::size_t colon = header.find(':');
    if (colon == std::string::npos) {
      return failure(fmt::format("--header {}: write NAME: VALUE", header));
    }
    const std::size_t value = header.find_first_not_of(' ', colon + 1);
    json.text_key(header.substr(0, colon));
    json.string(value == std::string::npos ? "" : header.substr(value));
  }
  json.end_object();
  return {};
}

Result<std::string> body_of(const Set& options) {
  std::string body;
  JsonWriter json(body);
  json.begin_object();
  json.member("url", options.url);
  add_names(json, "queues", options.queues);
  if (!options.types.empty()) add_names(json, "types", options.types);
  if (options.concurrency) json.member("concurrency", *options.concurrency);
  if (options.timeout) json.member("timeout_ms", *options.timeout);
  if (options.paused) json.member("paused", true);
  if (!options.headers.empty() || options.no_headers) {
    if (Status added = add_headers(json, options.headers); !added) {
      return std::unexpected(added.error());
    }
  }
  if (options.no_secret) {
    json.key("secret");
    json.null();
  } else if (!options.secret_file.empty()) {
    const auto secrets = read_secrets(options.secret_file);
    if (!secrets) return std::unexpected(secrets.error());
    add_names(json, "secret", *secrets);
  }
  json.end_object();
  return body;
}

void set(const Set& options, Session& session) {
  if (session.refuse_dashes()) return;
  auto body = body_of(options);
  if (!body) return session.fail(kUsage, body.error().message);
  session.with_client([&](sdk::Client& client) {
    show_push_target(
        client.call(
            {.method = "PUT", .path = push_target_path(options.name), .body = std::move(*body)}),
        session);
    if (session.json() || session.exit_code != kOk) return;
    for (const std::string& queue : options.queues) {
      const auto there = client.queue(queue);
      if (there || there.error().code != "not_found") continue;
      note(fmt::format("there is no queue {} yet; if the name is right, its first job makes it",
                       queue));
    }
  });
}

void add_set(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("set", "Create a push target, or replace its settings");
  const auto options = std::make_shared<Set>();
  command.add_option("NAME", options->name, "Name of the push target")->required();
  command.add_option("--target-url", options->url, "URL that the server calls for each job")
      ->type_name("URL")
      ->required();
  command
      .add_option("-q,--queue", options->queues,
                  "Queues in order of preference; repeatable, or separated by commas")
      ->type_name("QUEUE")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->required();
  command.add_option("-t,--type", options->types, "Only jobs of these types")
      ->type_name("TYPE")
      ->delimiter(',')
      ->allow_extra_args(false);
  command
      .add_option("-c,--concurrency", options->concurrency,
                  "Number of calls at a time (default: 10)")
      ->type_name("N");
  add_duration(command, "--timeout", options->timeout,
               "Time for the receiver's answer (default: 30s)");
  CLI::Option* const header = command
                                  .add_option("--header", options->headers,
                                              "Header of each call, as NAME: VALUE; repeatable")
                                  ->type_name("HEADER")
                                  ->allow_extra_args(false);
  command.add_flag("--no-headers", options->no_headers, "Send no headers of its own any more")
      ->excludes(header);
  CLI::Option* const secret =
      command
          .add_option("--secret-file", options->secret_file,
                      "File with the secret that signs the calls, as whsec_...; a second line may "
                      "have the former one, while receivers change")
          ->type_name("FILE");
  command.add_flag("--no-secret", options->no_secret, "Sign no more")->excludes(secret);
  command.add_flag("--paused", options->paused, "Call nobody until it is resumed");
  command.footer(
      "Without --secret-file, --header and --paused these stay as they are. All else gets its "
      "default.\n"
      "\n"
      "Examples:\n"
      "  millrace push-target set mailer --target-url https://mailer.example.com/jobs -q mail\n"
      "  millrace push-target set mailer --target-url https://mailer.example.com/jobs -q mail \\\n"
      "    --secret-file mailer.secret --concurrency 50 --timeout 10s");
  command.callback([options, &session] { set(*options, session); });
}

void add_list(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("list", "List push targets and how they are");
  command.footer("Examples:\n  millrace push-target list\n  millrace push-target list -o json");
  command.callback([&session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) { list_push_targets(client, session); });
  });
}

void add_get(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("get", "Show a push target: its settings, its health, its last calls");
  const auto name = std::make_shared<std::string>();
  command.add_option("NAME", *name, "Name of the push target")->required();
  command.footer(
      "Examples:\n  millrace push-target get mailer\n  millrace push-target get mailer -o json | "
      "jq .health.breaker");
  command.callback([name, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto answer = client.call({.path = push_target_path(*name)});
      if (!answer) return session.fail_on(answer.error(), "push-target", *name);
      show_push_target(answer, session);
    });
  });
}

void add_delete(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("delete", "Delete a push target; its jobs stay");
  struct Delete {
    std::string name;
    bool yes = false;
  };
  const auto options = std::make_shared<Delete>();
  command.add_option("NAME", options->name, "Name of the push target")->required();
  add_yes(command, options->yes);
  command.footer("Examples:\n  millrace push-target delete mailer --yes");
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    const std::string question =
        fmt::format("Delete the push target {}?", printable(options->name));
    if (!is_confirmed(session, options->yes, question)) return;
    session.with_client([&](sdk::Client& client) {
      const auto gone = client.call({.method = "DELETE", .path = push_target_path(options->name)});
      if (!gone) return session.fail_on(gone.error(), "push-target", options->name);
      print_line(session.json() ? "{}" : printable(options->name) + "  deleted");
    });
  });
}

void add_state(CLI::App& group, Session& session, const std::string& verb,
               const std::string& description, const std::string& done) {
  CLI::App& command = *group.add_subcommand(verb, description);
  struct State {
    std::string name;
    std::string reason;
  };
  const auto options = std::make_shared<State>();
  command.add_option("NAME", options->name, "Name of the push target")->required();
  if (verb == "pause") {
    command.add_option("--reason", options->reason, "Reason, which the push target shows");
  }
  command.footer(fmt::format("Examples:\n  millrace push-target {} mailer", verb));
  command.callback([options, verb, done, &session] {
    if (session.refuse_dashes()) return;
    std::string body;
    if (verb == "pause") {
      JsonWriter json(body);
      json.begin_object();
      if (!options->reason.empty()) json.member("reason", options->reason);
      json.end_object();
    }
    session.with_client([&](sdk::Client& client) {
      const auto answer = client.call({.method = "POST",
                                       .path = push_target_path(options->name) + "/" + verb,
                                       .body = body,
                                       .repeat = sdk::Repeat::kAlways});
      if (!answer) return session.fail_on(answer.error(), "push-target", options->name);
      print_line(session.json() ? answer->body : printable(options->name) + "  " + done);
    });
  });
}

void add_test(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand(
      "test", "Call the receiver once, without a job, and say what it answers");
  const auto name = std::make_shared<std::string>();
  command.add_option("NAME", *name, "Name of the push target")->required();
  command.footer(
      "The call has the type millrace.test and the body {}.\n"
      "Exit status 0: the receiver answered with 2xx.\n"
      "\n"
      "Examples:\n  millrace push-target test mailer");
  command.callback([name, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto answer =
          client.call({.method = "POST", .path = push_target_path(*name) + "/test"});
      if (!answer) return session.fail_on(answer.error(), "push-target", *name);
      if (!is_object(*answer)) return fail_on_answer(session);
      const JsonMembers result = members_of(answer->body);
      const bool ok = find_member(result, "ok").value_or("") == "true";
      const std::string took = find_member(result, "took_ms").value_or("0");
      if (session.json()) {
        print_line(answer->body);
      } else if (ok) {
        print_line(fmt::format("{}  answered {} within {} ms", printable(*name),
                               find_member(result, "status").value_or("?"), took));
      }
      const std::string error = find_member(result, "error").value_or("\"\"");
      if (!ok) session.fail(kFailure, text_or_raw(JsonCursor(error)));
    });
  });
}

}  // namespace

void add_push_target(CLI::App& group, Session& session) {
  add_list(group, session);
  add_get(group, session);
  add_set(group, session);
  add_delete(group, session);
  add_state(group, session, "pause", "Begin no more calls to a push target", "paused");
  add_state(group, session, "resume", "Call a paused push target again", "resumed");
  add_test(group, session);
}

}  // namespace millrace::cli
