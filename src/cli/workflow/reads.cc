// millrace workflow list, get, members, member, graph and why.
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "cli/limit/calls.h"
#include "cli/output.h"
#include "cli/workflow/calls.h"
#include "cli/workflow/view.h"
#include "cli/workflow/workflow.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kPage = 1'000;
constexpr std::int64_t kMostMembersDrawn = 100'000;
constexpr std::size_t kMostFailuresShown = 10;

struct List {
  std::vector<std::string> states;
  std::string name;
  std::string queue;
  std::string tag;
  ListLength length;
};

void list_workflows(const List& options, Session& session) {
  if (session.refuse_dashes()) return;
  std::string query = "?fresh=true";
  const auto add = [&query](std::string_view parameter, const std::string& value) {
    if (!value.empty()) query += fmt::format("&{}={}", parameter, sdk::url_encode(value));
  };
  if (!options.states.empty()) query += fmt::format("&state={}", fmt::join(options.states, ","));
  add("name", options.name);
  add("queue", options.queue);
  add("tag", options.tag);
  session.with_client([&](sdk::Client& client) {
    const auto listed = read_items(client, "/v1/workflows" + query, most_of(options.length), kPage);
    if (!listed) return session.fail(listed.error());
    if (session.json()) return session.print_list(list_json(*listed));
    if (listed->items.empty()) {
      return note("no workflow matches; `millrace workflow create` begins one");
    }
    print(workflow_table(views(listed->items), now(), output_width()));
    note_cut(*listed);
  });
}

void add_list(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("list", "List workflows, newest first");
  const auto options = std::make_shared<List>();
  command
      .add_option("-s,--state", options->states,
                  "Only those in these states: running, stopping, succeeded, failed, cancelled")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(CLI::IsMember({"running", "stopping", "succeeded", "failed", "cancelled"}))
      ->type_name("STATE");
  command.add_option("--name", options->name, "Only those of this name");
  command.add_option("-q,--queue", options->queue, "Only those of this queue")->type_name("QUEUE");
  command.add_option("--tag", options->tag, "Only those with this tag");
  add_list_length(command, options->length, "workflows");
  command.footer(
      "Examples:\n"
      "  millrace workflow list\n"
      "  millrace workflow list --state running,stopping --name nightly\n"
      "  millrace workflow list --state failed -o jsonl | jq -r .id");
  command.callback([options, &session] { list_workflows(*options, session); });
}

// The graph, each member as the server sent it.
sdk::Result<ListedItems> read_graph_of(sdk::Client& client, const std::string& id) {
  return read_items(client, workflow_path(id, "/graph"), kAllItems, 0);
}

// What `get` shows below the details: the graph, what failed, and why it has not ended.
std::string get_text(sdk::Client& client, const std::string& id, const std::string& body) {
  const sdk::JsonView workflow(body);
  std::string text = workflow_details(workflow, now());
  const std::int64_t members = workflow["members"].integer().value_or(0);
  if (members > 0 && members <= kMostMembersDrawn) {
    const auto graph = read_graph_of(client, id);
    if (graph) text += "\n" + draw_graph(drawn_members(views(graph->items)), output_width());
  }
  if (workflow["counts"]["failed"].integer().value_or(0) > 0) {
    const auto failed = read_items(client, workflow_path(id, "/members?state=failed&include=job"),
                                   kMostFailuresShown, kMostFailuresShown);
    if (failed && !failed->items.empty()) {
      text += "\n" + failures_text(views(failed->items), output_width());
      text += fmt::format("{}`millrace workflow retry {}` runs them again\n",
                          failed->next_cursor.empty() ? "" : "and more; ", id);
    }
  }
  if (!workflow_has_ended(workflow)) {
    if (const auto why = send(client, "GET", workflow_path(id, "/why"))) {
      text += "\n" + workflow_why(sdk::JsonView(*why));
    }
  }
  return text;
}

void add_get(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand(
      "get", "Show a workflow: its graph, what failed, and why it has not ended");
  const auto id = std::make_shared<std::string>();
  add_workflow_id(command, *id);
  command.footer(
      fmt::format("Examples:\n"
                  "  millrace workflow get {0}\n"
                  "  millrace workflow get {0} -o json | jq .counts",
                  kExampleWorkflow));
  command.callback([id, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto body = send(client, "GET", workflow_path(*id));
      if (!body) return session.fail_on(body.error(), "workflow", *id);
      if (session.json()) return print_line(*body);
      print(get_text(client, *id, *body));
    });
  });
}

struct Members {
  std::string id;
  std::string state;
  bool jobs = false;
  bool results = false;
  ListLength length;
};

std::string include_of(bool jobs, bool results) {
  if (!jobs && !results) return {};
  return fmt::format("include={}{}{}", jobs ? "job" : "", jobs && results ? "," : "",
                     results ? "result" : "");
}

void list_members(const Members& options, Session& session) {
  if (session.refuse_dashes()) return;
  std::vector<std::string> query;
  if (!options.state.empty()) query.push_back("state=" + options.state);
  if (options.jobs || options.results) query.push_back(include_of(options.jobs, options.results));
  const std::string rest =
      query.empty() ? "/members" : fmt::format("/members?{}", fmt::join(query, "&"));
  session.with_client([&](sdk::Client& client) {
    const auto listed =
        read_items(client, workflow_path(options.id, rest), most_of(options.length), kPage);
    if (!listed) return session.fail_on(listed.error(), "workflow", options.id);
    if (session.json()) return session.print_list(list_json(*listed));
    if (listed->items.empty()) return note("the workflow has no such members");
    print(member_table(views(listed->items), output_width()));
    note_cut(*listed);
  });
}

void add_include_options(CLI::App& command, bool& jobs, bool& results) {
  command.add_flag("--jobs", jobs, "With their jobs, if -o is json or jsonl");
  command.add_flag("--results", results, "With their results, if -o is json or jsonl");
}

void add_members_list(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("members", "List the members of a workflow by number");
  const auto options = std::make_shared<Members>();
  add_workflow_id(command, options->id);
  command.add_option("-s,--state", options->state, "Only those in this state")
      ->check(CLI::IsMember({"blocked", "active", "succeeded", "failed", "skipped"}));
  add_include_options(command, options->jobs, options->results);
  add_list_length(command, options->length, "members");
  command.footer(
      fmt::format("Examples:\n"
                  "  millrace workflow members {0} --state failed\n"
                  "  millrace workflow members {0} --all --results -o jsonl",
                  kExampleWorkflow));
  command.callback([options, &session] { list_members(*options, session); });
}

void add_member(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("member", "Show a member: its needs, its job, what it waits for");
  struct Member {
    std::string id;
    std::string ref;
  };
  const auto options = std::make_shared<Member>();
  add_workflow_id(command, options->id);
  command.add_option("REF", options->ref, "Ref of the member, or @NUMBER")->required();
  command.footer(
      fmt::format("Examples:\n"
                  "  millrace workflow member {0} publish\n"
                  "  millrace workflow member {0} @17 -o json | jq .result",
                  kExampleWorkflow));
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto body =
          send(client, "GET", member_path(options->id, options->ref, "?include=job,result"));
      if (!body) return fail_on_member(body.error(), options->id, options->ref, session);
      print_line(session.json() ? *body : member_details(sdk::JsonView(*body)));
    });
  });
}

void add_graph(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("graph", "Draw the graph of a workflow; -o json has all of it");
  const auto id = std::make_shared<std::string>();
  add_workflow_id(command, *id);
  command.footer(fmt::format(
      "Each member stands once, below the need that is furthest from the beginning. Above {0} "
      "members,\n"
      "those that lie alike share a line.\n"
      "\n"
      "Examples:\n"
      "  millrace workflow graph {1}\n"
      "  millrace workflow graph {1} -o json | jq '.items | length'",
      kMostDrawnLines, kExampleWorkflow));
  command.callback([id, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto graph = read_graph_of(client, *id);
      if (!graph) return session.fail_on(graph.error(), "workflow", *id);
      if (session.json()) return session.print_list(list_json(*graph));
      if (graph->items.empty()) return note("the workflow has no members");
      print(draw_graph(drawn_members(views(graph->items)), output_width()));
    });
  });
}

void add_why(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("why", "Say why a workflow has not ended");
  const auto id = std::make_shared<std::string>();
  add_workflow_id(command, *id);
  command.footer(fmt::format("Examples:\n  millrace workflow why {}", kExampleWorkflow));
  command.callback([id, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto body = send(client, "GET", workflow_path(*id, "/why"));
      if (!body) return session.fail_on(body.error(), "workflow", *id);
      if (session.json()) return print_line(*body);
      const sdk::JsonView why(*body);
      print(fmt::format("{}  {}\n{}", printable(*id), printable(why["state"].string().value_or("")),
                        workflow_why(why)));
    });
  });
}

}  // namespace

void add_workflow_reads(CLI::App& group, Session& session) {
  add_list(group, session);
  add_get(group, session);
  add_members_list(group, session);
  add_member(group, session);
  add_graph(group, session);
  add_why(group, session);
}

}  // namespace millrace::cli
