// millrace limit list, get, keys and holders; millrace type list and get.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/limit/calls.h"
#include "cli/limit/view.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

void list(bool of_types, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    const auto items = all_pages(client, of_types ? "/v1/types" : "/v1/limits");
    if (!items) return session.fail(items.error());
    if (session.json()) return session.print_list(on_one_page(*items));
    if (items->empty()) {
      return note(of_types ? "no type has a gate; `millrace type set` gives it one"
                           : "there are no limits yet; `millrace limit set` makes one");
    }
    print(limit_table(views(*items), of_types, output_width()));
  });
}

void get(bool of_type, const std::string& name, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    const auto body = send(client, "GET", limit_path(of_type, name));
    if (!body) return session.fail_on(body.error(), of_type ? "type" : "limit", name);
    print_line(session.json() ? *body : limit_details(sdk::JsonView(*body), of_type));
  });
}

// Why a job is dead or is tried again: its last error.
void show_failure(sdk::Client& client, const std::string& id) {
  const auto job = client.get(id);
  if (!job || !job->last_error) return;
  print_line(printable(
      fmt::format("Its last error: {}: {}", job->last_error->type, job->last_error->message)));
  const auto group = sdk::JsonView(job->json)["last_error"]["fingerprint"].string().value_or("");
  print_line(fmt::format("Next: see all jobs with this error: millrace error get {}; or {}", group,
                         job->is_final() ? "run the job again: millrace job retry " + id
                                         : "see its attempts: millrace job get " + id));
}

void add_list(CLI::App& group, bool of_types, Session& session) {
  CLI::App& command = *group.add_subcommand(
      "list", of_types ? "List the gates of types with their use" : "List limits with their use");
  command.footer(of_types ? "Examples:\n  millrace type list"
                          : "Examples:\n  millrace limit list\n  millrace limit list -o json");
  command.callback([of_types, &session] { list(of_types, session); });
}

void add_get(CLI::App& group, bool of_type, Session& session) {
  CLI::App& command = *group.add_subcommand(
      "get", of_type ? "Show the gate of a type" : "Show a limit: its bounds and its use");
  const auto name = std::make_shared<std::string>();
  command.add_option("NAME", *name, of_type ? "Job type" : "Name of the limit")->required();
  command.footer(of_type ? "Examples:\n  millrace type get charge"
                         : "Examples:\n  millrace limit get payments");
  command.callback([name, of_type, &session] { get(of_type, *name, session); });
}

}  // namespace

void add_limit_list(CLI::App& limit, Session& session) { add_list(limit, false, session); }
void add_limit_get(CLI::App& limit, Session& session) { add_get(limit, false, session); }
void add_type_list(CLI::App& type, Session& session) { add_list(type, true, session); }
void add_type_get(CLI::App& type, Session& session) { add_get(type, true, session); }

void add_limit_keys(CLI::App& limit, Session& session) {
  CLI::App& command = *limit.add_subcommand("keys", "List the keys of a limit with their use");
  struct Keys {
    std::string name;
    bool waiting = false;
  };
  const auto options = std::make_shared<Keys>();
  command.add_option("NAME", options->name, "Name of the limit")->required();
  command.add_flag("--waiting", options->waiting, "The 100 keys for which most jobs wait");
  command.footer("Examples:\n  millrace limit keys payments --waiting");
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto items = all_pages(
          client,
          limit_path(false, options->name, options->waiting ? "/keys?order=waiting" : "/keys"));
      if (!items) return session.fail_on(items.error(), "limit", options->name);
      if (session.json()) return session.print_list(on_one_page(*items));
      if (items->empty()) return note("no job names a key of this limit now");
      print(key_table(views(*items), output_width()));
    });
  });
}

void add_limit_holders(CLI::App& limit, Session& session) {
  CLI::App& command = *limit.add_subcommand("holders", "List the running jobs that hold a limit");
  struct Holders {
    std::string name;
    std::string key;
  };
  const auto options = std::make_shared<Holders>();
  command.add_option("NAME", options->name, "Name of the limit")->required();
  command.add_option("--key", options->key, "Only holders of this key");
  command.footer("Examples:\n  millrace limit holders payments --key acme");
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const std::string query = options->key.empty() ? "" : "?key=" + sdk::url_encode(options->key);
      const auto items = all_pages(client, limit_path(false, options->name, "/holders" + query));
      if (!items) return session.fail_on(items.error(), "limit", options->name);
      if (session.json()) return session.print_list(on_one_page(*items));
      if (items->empty()) return note("no running job holds it");
      print(holder_table(views(*items), output_width()));
    });
  });
}

void add_job_why(CLI::App& job, Session& session) {
  CLI::App& command = *job.add_subcommand("why", "Say why a job is not running");
  const auto id = std::make_shared<std::string>();
  command.add_option("ID", *id, "Job id")->required();
  command.footer("Examples:\n  millrace job why 019cb0b7-3f5c-737a-8def-0123456789ab");
  command.callback([id, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto body = send(client, "GET", "/v1/jobs/" + sdk::url_encode(*id) + "/why");
      if (!body) return session.fail_on(body.error(), "job", *id);
      if (session.json()) return print_line(*body);
      const sdk::JsonView why(*body);
      print(why_text(why));
      const std::string state = why["state"].string().value_or("");
      if (state == "dead" || state == "retrying") show_failure(client, *id);
    });
  });
}

}  // namespace millrace::cli
