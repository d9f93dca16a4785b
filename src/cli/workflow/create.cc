// millrace workflow create: begins a workflow.
#include <fmt/format.h>

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
    if (options.wait) {
      const std::string id = sdk::JsonView(answer->body)["id"].string().value_or("");
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
