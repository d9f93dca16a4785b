// millrace workflow add, close, cancel, retry, skip and delete.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/words.h"
#include "cli/confirm.h"
#include "cli/limit/calls.h"
#include "cli/output.h"
#include "cli/workflow/calls.h"
#include "cli/workflow/workflow.h"

namespace millrace::cli {
namespace {

// Makes a call that answers the workflow, and prints it.
void change(const std::string& id, std::string_view rest, std::string body, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    const auto answer = send(client, "POST", workflow_path(id, rest), std::move(body));
    if (!answer) return session.fail_on(answer.error(), "workflow", id);
    print_workflow(*answer, session);
  });
}

struct Add {
  std::string id;
  std::string file;
  std::string idempotency_key;
};

void add_members(const Add& options, Session& session) {
  if (session.refuse_dashes()) return;
  auto content = read_json_file(options.file, session);
  if (!content) return;
  if (sdk::JsonView(*content).is_array()) *content = fmt::format(R"({{"members":{}}})", *content);
  session.with_client([&](sdk::Client& client) {
    sdk::Request request{.method = "POST",
                         .path = workflow_path(options.id, "/members"),
                         .body = std::move(*content)};
    if (!options.idempotency_key.empty()) {
      request.headers.emplace_back("Idempotency-Key", options.idempotency_key);
    }
    const auto answer = client.call(std::move(request));
    if (!answer && answer.error().code == "not_found") {
      return session.fail_on(answer.error(), "workflow", options.id);
    }
    if (!answer) return fail_on_workflow_file(answer.error(), options.file, session);
    if (session.json()) return print_line(answer->body);
    const sdk::JsonView done(answer->body);
    print_line(fmt::format("{}  {} added, {} were there already", printable(options.id),
                           count_of(done["added"].integer().value_or(0), "member", "members"),
                           done["existing"].integer().value_or(0)));
  });
}

void add_add(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("add", "Add members to an open workflow");
  const auto options = std::make_shared<Add>();
  add_workflow_id(command, options->id);
  command
      .add_option("FILE", options->file,
                  "A list of members as JSON, or an object with `members`, `by` and `close`; - is "
                  "standard input")
      ->required();
  command.add_option("--idempotency-key", options->idempotency_key,
                     "A key by which the server knows a repetition; members with refs need none");
  command.footer(fmt::format(
      "A member whose ref is there already is left alone, so a call can be repeated.\n"
      "\n"
      "Examples:\n"
      "  millrace workflow add {0} members.json\n"
      "  echo '[{{\"ref\": \"b\", \"job\": {{\"type\": \"resize\"}}}}]' | millrace workflow add "
      "{0} -",
      kExampleWorkflow));
  command.callback([options, &session] { add_members(*options, session); });
}

void add_close(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("close", "Take no more members, so that an open workflow can end");
  const auto id = std::make_shared<std::string>();
  add_workflow_id(command, *id);
  command.footer(fmt::format("Examples:\n  millrace workflow close {}", kExampleWorkflow));
  command.callback([id, &session] { change(*id, "/close", {}, session); });
}

void add_cancel(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand(
      "cancel", "Stop a workflow: nothing more begins, and its jobs are cancelled");
  struct Cancel {
    std::string id;
    std::string reason;
  };
  const auto options = std::make_shared<Cancel>();
  add_workflow_id(command, options->id);
  command.add_option("--reason", options->reason, "Reason, which the workflow keeps");
  command.footer(
      fmt::format("Members that have succeeded stay so; the workers of running jobs are told.\n"
                  "\n"
                  "Examples:\n"
                  "  millrace workflow cancel {0}\n"
                  "  millrace workflow cancel {0} --reason 'the order was withdrawn'",
                  kExampleWorkflow));
  command.callback([options, &session] {
    sdk::JsonWriter body;
    body.begin_object();
    if (!options->reason.empty()) body.key("reason").string(options->reason);
    body.end_object();
    change(options->id, "/cancel", body.take(), session);
  });
}

struct Retry {
  std::string id;
  std::vector<std::string> refs;
  bool keep_attempts = false;
  bool drop_limits = false;
};

void retry(const Retry& options, Session& session) {
  if (session.refuse_dashes()) return;
  sdk::JsonWriter body;
  body.begin_object();
  if (!options.refs.empty()) {
    body.key("refs").begin_array();
    for (const std::string& ref : options.refs) body.string(ref);
    body.end_array();
  }
  if (options.keep_attempts) body.key("reset_attempts").boolean(false);
  if (options.drop_limits) body.key("drop_limits").boolean(true);
  body.end_object();
  session.with_client([&](sdk::Client& client) {
    const auto answer = send(client, "POST", workflow_path(options.id, "/retry"), body.take());
    if (!answer && !options.refs.empty()) {
      return fail_on_member(answer.error(), options.id,
                            fmt::format("{}", fmt::join(options.refs, " or ")), session);
    }
    if (!answer) return session.fail_on(answer.error(), "workflow", options.id);
    print_workflow(*answer, session);
  });
}

void add_retry(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand(
      "retry", "Run failed members again, and what was skipped because of them");
  const auto options = std::make_shared<Retry>();
  add_workflow_id(command, options->id);
  command
      .add_option("--ref", options->refs,
                  "Only this member, by its ref or @NUMBER; repeatable (default: the failures that "
                  "nothing else dealt with)")
      ->type_name("REF")
      ->allow_extra_args(false);
  command.add_flag("--keep-attempts", options->keep_attempts, "Keep the count of attempts");
  command.add_flag("--drop-limits", options->drop_limits,
                   "Drop the limits of the jobs that have been deleted");
  command.footer(
      fmt::format("What succeeded stays. One that had ended runs again, and calls back again.\n"
                  "\n"
                  "Examples:\n"
                  "  millrace workflow retry {0}\n"
                  "  millrace workflow retry {0} --ref price --ref @17",
                  kExampleWorkflow));
  command.callback([options, &session] { retry(*options, session); });
}

struct Skip {
  std::string id;
  std::string ref;
};

void skip(const Skip& options, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    const auto answer = send(client, "POST", member_path(options.id, options.ref, "/skip"));
    if (!answer) return fail_on_member(answer.error(), options.id, options.ref, session);
    print_workflow(*answer, session);
  });
}

void add_skip(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("skip", "Skip a member that waits, and go on without it");
  const auto options = std::make_shared<Skip>();
  add_workflow_id(command, options->id);
  command.add_option("REF", options->ref, "Ref of the member, or @NUMBER")->required();
  command.footer(
      fmt::format("What needs the success of the member is skipped too; what needs its end runs.\n"
                  "\n"
                  "Examples:\n"
                  "  millrace workflow skip {} publish",
                  kExampleWorkflow));
  command.callback([options, &session] { skip(*options, session); });
}

struct Delete {
  std::string id;
  bool yes = false;
};

void remove(const Delete& options, Session& session) {
  if (session.refuse_dashes()) return;
  const std::string question =
      fmt::format("Delete workflow {} with the jobs of its members for good?", options.id);
  if (!is_confirmed(session, options.yes, question)) return;
  session.with_client([&](sdk::Client& client) {
    const auto deleted = send(client, "DELETE", workflow_path(options.id));
    if (!deleted) return session.fail_on(deleted.error(), "workflow", options.id);
    if (!session.json()) print_line(fmt::format("{}  deleted", printable(options.id)));
  });
}

void add_delete(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("delete", "Delete an ended workflow with the jobs of its members");
  const auto options = std::make_shared<Delete>();
  add_workflow_id(command, options->id);
  add_yes(command, options->yes);
  command.footer(
      fmt::format("`millrace workflow cancel` ends one that runs.\n"
                  "\n"
                  "Examples:\n"
                  "  millrace workflow delete {} --yes",
                  kExampleWorkflow));
  command.callback([options, &session] { remove(*options, session); });
}

}  // namespace

void add_workflow_changes(CLI::App& group, Session& session) {
  add_add(group, session);
  add_close(group, session);
  add_cancel(group, session);
  add_retry(group, session);
  add_skip(group, session);
  add_delete(group, session);
}

}  // namespace millrace::cli
