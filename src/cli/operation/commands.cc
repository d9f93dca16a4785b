// millrace operation list, get, pause, resume, cancel, rate and watch.
#include "cli/operation/commands.h"

#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>

#include "cli/exit_code.h"
#include "cli/limit/calls.h"
#include "cli/operation/watch.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

void show(std::string_view json, Session& session) {
  print_line(session.json() ? json : operation_details(sdk::JsonView(json)));
}

void add_list(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("list", "List operations, newest first");
  const auto state = std::make_shared<std::string>();
  command.add_option("--state", *state, "Only those in this state")
      ->check(CLI::IsMember({"running", "paused", "completed", "cancelled", "failed"}));
  command.footer("Examples:\n  millrace operation list\n  millrace operation list --state running");
  command.callback([state, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto items =
          all_pages(client, state->empty() ? "/v1/operations" : "/v1/operations?state=" + *state);
      if (!items) return session.fail(items.error());
      if (session.json()) return session.print_list(on_one_page(*items));
      if (items->empty()) {
        return note(
            "there are no such operations; `millrace job retry --filter ... --rate N` "
            "begins one");
      }
      print(operation_table(views(*items), output_width()));
    });
  });
}

void add_get(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("get", "Show an operation");
  const auto id = std::make_shared<std::string>();
  command.add_option("ID", *id, "Id of the operation")->required();
  command.footer("Examples:\n  millrace operation get 019cb0b7-3f5c-737a-8def-0123456789ab");
  command.callback([id, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto body = send(client, "GET", operation_path(*id));
      if (!body) return session.fail(body.error());
      show(*body, session);
    });
  });
}

void add_order(CLI::App& group, const std::string& name, const std::string& help,
               Session& session) {
  CLI::App& command = *group.add_subcommand(name, help);
  const auto id = std::make_shared<std::string>();
  command.add_option("ID", *id, "Id of the operation")->required();
  command.footer(
      fmt::format("Examples:\n  millrace operation {} 019cb0b7-3f5c-737a-8def-0123456789ab", name));
  command.callback([id, name, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto body = send(client, "POST", operation_path(*id, "/" + name));
      if (!body) return session.fail(body.error());
      show(*body, session);
    });
  });
}

void add_rate(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("rate", "Change how fast an operation goes");
  struct Rate {
    std::string id;
    std::string rate;
  };
  const auto options = std::make_shared<Rate>();
  command.add_option("ID", options->id, "Id of the operation")->required();
  command
      .add_option("RATE", options->rate, "Jobs a second, 1 to 100000; or none: as fast as it goes")
      ->required();
  command.footer(
      "Examples:\n"
      "  millrace operation rate 019cb0b7-3f5c-737a-8def-0123456789ab 200\n"
      "  millrace operation rate 019cb0b7-3f5c-737a-8def-0123456789ab none");
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    const std::string& rate = options->rate;
    const bool is_number = !rate.empty() && rate.size() <= 6 &&
                           rate.find_first_not_of("0123456789") == std::string::npos;
    if (rate != "none" && !is_number) {
      return session.fail(kUsage, "the rate is a number of jobs a second, or none");
    }
    session.with_client([&](sdk::Client& client) {
      const std::string body =
          fmt::format(R"({{"rate_per_s":{}}})", rate == "none" ? "null" : rate);
      const auto answer = send(client, "PATCH", operation_path(options->id), body);
      if (!answer) return session.fail(answer.error());
      show(*answer, session);
    });
  });
}

void add_watch(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("watch", "Follow an operation until it ends; Ctrl-C leaves it running");
  const auto id = std::make_shared<std::string>();
  command.add_option("ID", *id, "Id of the operation")->required();
  command.footer(
      "Exits with 0 if it completed, 7 if some jobs were left alone, 1 if it was cancelled or "
      "failed.\n"
      "Examples:\n  millrace operation watch 019cb0b7-3f5c-737a-8def-0123456789ab");
  command.callback([id, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      auto body = send(client, "GET", operation_path(*id));
      if (!body) return session.fail(body.error());
      watch_operation(client, session, std::move(*body));
    });
  });
}

}  // namespace

void add_operation(CLI::App& group, Session& session) {
  add_list(group, session);
  add_get(group, session);
  add_order(group, "pause", "Pause an operation", session);
  add_order(group, "resume", "Let a paused operation go on", session);
  add_order(group, "cancel", "End an operation; what it has done stays", session);
  add_rate(group, session);
  add_watch(group, session);
}

}  // namespace millrace::cli
