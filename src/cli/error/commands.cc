// millrace error: shows error groups, and acts on their jobs.
#include "cli/commands.h"

#include <fmt/format.h>

#include "base/time.h"
#include "base/words.h"
#include "cli/confirm.h"
#include "cli/error/view.h"
#include "cli/limit/calls.h"
#include "cli/options.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr std::chrono::minutes kWithin{10};  // to change many jobs
constexpr std::size_t kMostExamples = 20;

std::string path_of(const std::string& id, std::string_view rest = {}) {
  return fmt::format("/v1/error-groups/{}{}", sdk::url_encode(id), rest);
}

// The error of the group as one of its sample jobs has it. None: the jobs are gone, have failed
// otherwise since, or the token must not see them.
std::optional<sdk::JobError> example_of(sdk::Client& client, sdk::JsonView group) {
  for (const sdk::JsonView id : group["sample"].elements()) {
    const auto job = client.get(id.string().value_or(""));
    if (!job || !job->last_error || job->last_error->message.empty()) continue;
    const auto fingerprint = sdk::JsonView(job->json)["last_error"]["fingerprint"].string();
    if (fingerprint == group["id"].string()) return job->last_error;
  }
  return std::nullopt;
}

// For the groups whose message alone says nothing, at most kMostExamples.
Examples examples_for(sdk::Client& client, const std::vector<sdk::JsonView>& groups) {
  Examples examples;
  for (const sdk::JsonView group : groups) {
    if (examples.size() == kMostExamples) break;
    const auto message = group["message"].string();
    if (!message || message->empty() || !is_masked(*message)) continue;
    if (const auto example = example_of(client, group)) {
      examples.emplace(group["id"].string().value_or(""), example->message);
    }
  }
  return examples;
}

struct List {
  std::vector<std::string> statuses;
  std::string queue;
  std::string type;
  std::string order;
  int limit = 50;
};

void list(const List& options, Session& session) {
  if (session.refuse_dashes()) return;
  std::string path = fmt::format("/v1/error-groups?limit={}", options.limit);
  if (!options.statuses.empty())
    path += fmt::format("&status={}", fmt::join(options.statuses, ","));
  if (!options.queue.empty()) path += "&queue=" + sdk::url_encode(options.queue);
  if (!options.type.empty()) path += "&type=" + sdk::url_encode(options.type);
  if (!options.order.empty()) path += "&order=" + options.order;
  session.with_client([&](sdk::Client& client) {
    const auto body = send(client, "GET", path);
    if (!body) return session.fail(body.error());
    if (session.json()) return session.print_list(*body);
    const sdk::JsonView page(*body);
    const auto groups = page["items"].elements();
    if (groups.empty()) return note("no attempt has failed so");
    print(error_table(groups, examples_for(client, groups), output_width()));
  });
}

// Prints the group contained in the answer.
void print_group(const std::string& body, Session& session) {
  print_line(session.json() ? body : error_details(sdk::JsonView(body), nullptr));
}

void patch(const std::string& id, std::string body, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    const auto answer = send(client, "PATCH", path_of(id), std::move(body));
    if (!answer) return session.fail_on(answer.error(), "error", id);
    print_group(*answer, session);
  });
}

struct Jobs {
  std::string id;
  bool all = false;
  bool yes = false;
  std::optional<int> rate;
};

// Changes the jobs that `member` of the group counts.
void change_all(const Jobs& options, std::string_view what, std::string_view member,
                sdk::JsonWriter& body, Session& session) {
  if (options.rate) body.key("rate_per_s").integer(*options.rate);
  body.end_object();
  session.with_client([&](sdk::Client& client) {
    std::int64_t jobs = 0;
    if (!session.json()) {
      const auto group = send(client, "GET", path_of(options.id));
      if (!group) return session.fail_on(group.error(), "error", options.id);
      jobs = sdk::JsonView(*group)[member].integer().value_or(0);
    }
    auto answer = client.call({.method = "POST",
                               .path = path_of(options.id, what),
                               .body = body.take(),
                               .timeout = kWithin});
    if (!answer) return session.fail_on(answer.error(), "error", options.id);
    if (session.json()) return print_line(answer->body);
    const std::string id = sdk::JsonView(answer->body)["id"].string().value_or("");
    print_line(
        fmt::format("{}  has begun, for {} {}; `millrace operation watch {}` shows how it goes", id,
                    count_of(jobs, "job", "jobs"), member, id));
  });
}

void retry(const Jobs& options, Session& session) {
  if (session.refuse_dashes()) return;
  sdk::JsonWriter body;
  body.begin_object();
  body.key("mode").string(options.all ? "all" : "canary");
  if (options.all) return change_all(options, "/retry", "dead", body, session);
  body.end_object();
  session.with_client([&](sdk::Client& client) {
    const auto answer = send(client, "POST", path_of(options.id, "/retry"), body.take());
    if (!answer) return session.fail_on(answer.error(), "error", options.id);
    print_group(*answer, session);
  });
}

void remove(const Jobs& options, Session& session) {
  if (session.refuse_dashes()) return;
  const std::string question =
      fmt::format("Delete all waiting jobs that failed with {} for good?", options.id);
  if (!is_confirmed(session, options.yes, question)) return;
  sdk::JsonWriter body;
  body.begin_object();
  change_all(options, "/delete", "waiting", body, session);
}

std::shared_ptr<std::string> add_id(CLI::App& command) {
  const auto id = std::make_shared<std::string>();
  command.add_option("ID", *id, "Fingerprint of the error: 16 hexadecimal digits")->required();
  return id;
}

void add_list(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("list", "List groups of errors, the newest first");
  const auto options = std::make_shared<List>();
  command
      .add_option("--status", options->statuses,
                  "Only groups that are open, muted or resolved; separate several with commas")
      ->delimiter(',')
      ->check(CLI::IsMember({"open", "muted", "resolved"}))
      ->type_name("STATUS");
  command.add_option("-q,--queue", options->queue, "Only errors of this queue");
  command.add_option("-t,--type", options->type, "Only errors of this job type");
  command.add_option("--order", options->order, "What comes first: last_seen, count or first_seen")
      ->check(CLI::IsMember({"last_seen", "count", "first_seen"}))
      ->type_name("ORDER");
  command.add_option("-n,--limit", options->limit, "The most groups to list (default: 50)")
      ->check(CLI::Range(1, 1'000));
  command.footer(
      "Examples:\n"
      "  millrace error list --status open\n"
      "  millrace error list --order first_seen -n 5");
  command.callback([options, &session] { list(*options, session); });
}

void add_get(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("get", "Show a group of errors");
  const auto id = add_id(command);
  command.footer("Examples:\n  millrace error get 5bd1f0c2a94e7d10");
  command.callback([id, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto body = send(client, "GET", path_of(*id));
      if (!body) return session.fail_on(body.error(), "error", *id);
      if (session.json()) return print_line(*body);
      const sdk::JsonView group(*body);
      const auto example = example_of(client, group);
      print(error_details(group, example ? &*example : nullptr));
    });
  });
}

void add_retry(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("retry", "Retry one dead job of a group as a canary, or all");
  const auto options = std::make_shared<Jobs>();
  command.add_option("ID", options->id, "Fingerprint of the error")->required();
  CLI::Option* const all = command.add_flag("--all", options->all, "Retry all dead jobs");
  command.add_option("--rate", options->rate, "At most so many jobs a second")
      ->needs(all)
      ->type_name("PER-SECOND");
  command.footer(
      "Examples:\n"
      "  millrace error retry 5bd1f0c2a94e7d10\n"
      "  millrace error retry 5bd1f0c2a94e7d10 --all --rate 50");
  command.callback([options, &session] { retry(*options, session); });
}

void add_delete(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("delete", "Delete the dead and retrying jobs of a group");
  const auto options = std::make_shared<Jobs>();
  command.add_option("ID", options->id, "Fingerprint of the error")->required();
  command.add_option("--rate", options->rate, "At most so many jobs a second")
      ->type_name("PER-SECOND");
  add_yes(command, options->yes);
  command.footer("Examples:\n  millrace error delete 5bd1f0c2a94e7d10 --yes");
  command.callback([options, &session] { remove(*options, session); });
}

void add_mute(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("mute", "Mute a group: it no longer asks for attention");
  const auto id = add_id(command);
  const auto until = std::make_shared<std::optional<sdk::Timestamp>>();
  add_time(command, "--until", *until, "Then it is open again (default: until it is opened)");
  command.footer(
      "Examples:\n"
      "  millrace error mute 5bd1f0c2a94e7d10 --until +2h");
  command.callback([id, until, &session] {
    sdk::JsonWriter body;
    body.begin_object();
    body.key("status").string("muted");
    if (*until) body.key("muted_until").string(format_rfc3339(**until));
    body.end_object();
    patch(*id, body.take(), session);
  });
}

void add_status(CLI::App& group, const char* name, const char* status, const char* help,
                Session& session) {
  CLI::App& command = *group.add_subcommand(name, help);
  const auto id = add_id(command);
  command.footer(fmt::format("Examples:\n  millrace error {} 5bd1f0c2a94e7d10", name));
  command.callback(
      [id, status, &session] { patch(*id, fmt::format(R"({{"status":"{}"}})", status), session); });
}

void add_note(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("note", "Leave a note for others at a group");
  const auto id = add_id(command);
  const auto text = std::make_shared<std::string>();
  command.add_option("TEXT", *text, "The note; an empty one removes it")->required();
  command.footer("Examples:\n  millrace error note 5bd1f0c2a94e7d10 'fixed in 2.4.1'");
  command.callback([id, text, &session] {
    sdk::JsonWriter body;
    body.begin_object();
    body.key("note").string(*text);
    body.end_object();
    patch(*id, body.take(), session);
  });
}

}  // namespace

void add_error(CLI::App& group, Session& session) {
  add_list(group, session);
  add_get(group, session);
  add_retry(group, session);
  add_mute(group, session);
  add_status(group, "resolve", "resolved", "Mark a group as fixed: it opens again if it comes back",
             session);
  add_status(group, "reopen", "open", "Open a group that is muted or resolved", session);
  add_delete(group, session);
  add_note(group, session);
}

}  // namespace millrace::cli
