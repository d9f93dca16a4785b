// millrace worker quiet and stop: sends workers an order with their next poll.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

using Call = sdk::Result<sdk::SeenWorker> (sdk::Client::*)(std::string_view);

// Sends the orders one after the other. If all fail alike, the exit code is that of the failures.
void tell(const std::vector<std::string>& ids, Call call, std::string_view what, Session& session) {
  if (session.refuse_dashes()) return;
  session.with_client([&](sdk::Client& client) {
    std::size_t told = 0;
    for (const std::string& id : ids) {
      const auto worker = (client.*call)(id);
      if (!worker) {
        const int code = exit_code_of(worker.error());
        note(fmt::format("{}: {}", id, explain(worker.error())));
        session.exit_code = session.exit_code == kOk || session.exit_code == code ? code : kFailure;
        continue;
      }
      ++told;
      print_line(session.json() ? worker->json
                                : fmt::format("{}  {}, {} running", printable(worker->id), what,
                                              worker->running.size()));
    }
    if (told > 0 && told < ids.size()) session.exit_code = kPartlyFailed;
  });
}

void add(CLI::App& worker, Session& session, const std::string& name,
         const std::string& description, const std::string& footer, Call call,
         std::string_view what) {
  CLI::App& command = *worker.add_subcommand(name, description);
  const auto ids = std::make_shared<std::vector<std::string>>();
  command.add_option("WORKER", *ids, "Name of the worker, as `millrace worker list` shows it")
      ->required();
  command.footer(footer);
  command.callback([ids, call, what, &session] { tell(*ids, call, what, session); });
}

}  // namespace

void add_worker_quiet(CLI::App& worker, Session& session) {
  add(worker, session, "quiet", "Tell workers to finish their jobs and claim no more",
      "The worker learns it with its next poll. The server then hands it no more jobs.\n"
      "Examples:\n"
      "  millrace worker quiet box7-4711",
      &sdk::Client::quiet_worker, "will claim no more");
}

void add_worker_stop(CLI::App& worker, Session& session) {
  add(worker, session, "stop", "Tell workers to finish their jobs and end",
      "The worker learns it with its next poll.\n"
      "Examples:\n"
      "  millrace worker stop box7-4711\n"
      "  millrace worker stop $(millrace worker list -o json | jq -r '.items[].id')",
      &sdk::Client::stop_worker, "will end");
}

}  // namespace millrace::cli
