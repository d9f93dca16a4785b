// millrace workflow create: begins a workflow.
#include <fmt/format.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/workflow/calls.h"
#include "cli/workflow/waiting.h"
#include "cli/workflow/workflow.h"

namespace millrace::cli {
namespace {

struct Create {
  std::string file;
  std::string idempotency_key;
  bool wait = false;
};

// It had been created with this key, has ended, and its retention was short.
void show_pruned(std::string_view json, std::string_view id, Session& session) {
  session.exit_code = kDidNotSucceed;
  note(fmt::format(
      "workflow {} has ended, and the server has deleted it, so its outcome is unknown; a longer "
      "retention of its queue keeps ended workflows",
      id));
  print_line(session.json() ? std::string(json) : fmt::format("{}  pruned", printable(id)));
}

void create(const Create& options, Session& session) {
  if (session.refuse_dashes()) return;
  auto content = read_json_file(options.file, session);
  if (!content) return;
  session.with_client([&](sdk::Client& client) {
    sdk::Request request{.method = "POST", .path = "/v1/workflows", .body = std::move(*content)};
    if (!options.idempotency_key.empty()) {
      request.headers.emplace_back("Idempotency-Key", options.idempotency_key);
    }
    const auto answer = client.call(std::move(request));
    if (!answer) return fail_on_workflow_file(answer.error(), options.file, session);
    const sdk::JsonView made(answer->body);
    const std::string id = made["id"].string().value_or("");
    if (made["state"].string() == "pruned") return show_pruned(answer->body, id, session);
    if (options.wait) {
      if (!session.json()) print_line(id);
      return wait_for_workflow(client, session, id, std::nullopt);
    }
    print_workflow(answer->body, session);
    if (answer->status == 200 && !session.json()) note("it was there already");
  });
}

}  // namespace

void add_workflow_create(CLI::App& group, Session& session) {
  CLI::App& command = *group.add_subcommand("create", "Begin a workflow, from a file with JSON");
  const auto options = std::make_shared<Create>();
  command.add_option("FILE", options->file, "The workflow as JSON; - is standard input")
      ->required();
  command.add_option("--idempotency-key", options->idempotency_key,
                     "A key by which the server knows a repetition");
  command.add_flag("--wait", options->wait,
                   "Wait for its end, as `millrace workflow wait`; exit code 8 unless it succeeds");
  command.footer(
      "The file is the body of POST /v1/workflows:\n"
      "\n"
      "  {\"name\": \"nightly\",\n"
      "   \"members\": [\n"
      "     {\"ref\": \"extract\", \"job\": {\"type\": \"sales.extract\"}},\n"
      "     {\"ref\": \"load\", \"needs\": [\"extract\"], \"job\": {\"type\": \"sales.load\"}}],\n"
      "   \"on_failure\": {\"type\": \"page.me\"}}\n"
      "\n"
      "Examples:\n"
      "  millrace workflow create nightly.json\n"
      "  ./make-images-workflow | millrace workflow create - --wait\n"
      "  id=$(millrace workflow create nightly.json -o json | jq -r .id)");
  command.callback([options, &session] { create(*options, session); });
}

}  // namespace millrace::cli
