// millrace admin reproject: rebuilds the read models from the log.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/limit/calls.h"
#include "cli/output.h"

namespace millrace::cli {

void add_admin_reproject(CLI::App& admin, Session& session) {
  CLI::App& command = *admin.add_subcommand(
      "reproject", "Count statistics and groups of errors anew, from the log");
  command.footer(
      "Examples:\n"
      "  millrace admin reproject\n"
      "What is older than the log is lost, but for statistics. It is an operation:\n"
      "`millrace operation watch ID` tells how far it is.");
  command.callback([&session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      const auto body = send(client, "POST", "/v1/admin/reproject");
      if (!body) return session.fail(body.error());
      if (session.json()) return print_line(*body);
      const sdk::JsonView answer(*body);
      const std::string id = answer["operation"]["id"].string().value_or("");
      print_line(fmt::format("the read models of {} shard(s) are made anew{}",
                             answer["shards"].integer().value_or(0),
                             id.empty() ? "" : ": millrace operation watch " + id));
    });
  });
}

}  // namespace millrace::cli
