// millrace workflow wait: waits until a workflow has ended.
#include "cli/workflow/waiting.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <thread>
#include <utility>

#include "base/time.h"
#include "cli/bench/report.h"
#include "cli/exit_code.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/workflow/calls.h"
#include "cli/workflow/view.h"
#include "cli/workflow/workflow.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

using std::chrono::steady_clock;

constexpr sdk::Milliseconds kLookEvery{2'000};  // the server answers an end at once
constexpr sdk::Milliseconds kPause{500};        // while the server is away
constexpr sdk::Milliseconds kAwayLimit{30'000};
constexpr std::size_t kProgressColumns = 72;

void tell_end(const std::string& json, Session& session) {
  print_workflow(json, session);
  if (sdk::JsonView(json)["state"].string() == "succeeded") return;
  session.exit_code = kDidNotSucceed;
  if (session.json()) return;
  const std::string id = sdk::JsonView(json)["id"].string().value_or("");
  note(fmt::format("`millrace workflow get {}` shows what failed", id));
}

struct Wait {
  std::string id;
  std::optional<sdk::Milliseconds> timeout;
};

}  // namespace

void wait_for_workflow(sdk::Client& client, Session& session, const std::string& id,
                       std::optional<sdk::Milliseconds> timeout) {
  const auto began = steady_clock::now();
  auto last_answer = began;
  std::optional<std::string> end;
  {
    ProgressLine line;
    while (!end) {
      sdk::Milliseconds wait = kLookEvery;
      if (timeout) {
        const auto passed = std::chrono::floor<sdk::Milliseconds>(steady_clock::now() - began);
        wait = std::clamp(*timeout - passed, sdk::Milliseconds{0}, kLookEvery);
      }
      const auto asked = steady_clock::now();
      auto answer = client.call(
          {.path = workflow_path(
               id, fmt::format("?include=result&until=final&wait_ms={}", wait.count()))});
      if (session.stop.stop_requested()) {
        session.exit_code = kInterrupted;
        return;
      }
      if (answer) {
        last_answer = steady_clock::now();
        const sdk::JsonView workflow(answer->body);
        if (workflow_has_ended(workflow)) {
          end = std::move(answer->body);
          continue;
        }
        line.show(printable(workflow_progress(workflow), kProgressColumns));
      } else if (!answer.error().is_temporary() || steady_clock::now() - last_answer > kAwayLimit) {
        return session.fail_on(answer.error(), "workflow", id);
      }
      if (timeout && steady_clock::now() - began >= *timeout) {
        return session.fail(kFailure, fmt::format("workflow {} did not end within {}; it goes on",
                                                  id, format_duration(*timeout)));
      }
      // A server that is about to stop answers waiting requests at once.
      if (!answer || steady_clock::now() - asked < wait / 2) {
        std::this_thread::sleep_for(std::min(kPause, std::max(wait, sdk::Milliseconds{10})));
      }
    }
  }
  tell_end(*end, session);
}

void add_workflow_wait(CLI::App& group, Session& session) {
  CLI::App& command =
      *group.add_subcommand("wait", "Wait until a workflow ends; exit code 8 unless it succeeds");
  const auto options = std::make_shared<Wait>();
  add_workflow_id(command, options->id);
  add_duration(command, "--timeout", options->timeout,
               "Longest time to wait; after it exit code 1");
  command.footer(
      fmt::format("Ctrl-C ends the command, not the workflow.\n"
                  "\n"
                  "Examples:\n"
                  "  millrace workflow wait {0}\n"
                  "  millrace workflow wait {0} --timeout 2h -o json | jq .result",
                  kExampleWorkflow));
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    session.with_client([&](sdk::Client& client) {
      wait_for_workflow(client, session, options->id, options->timeout);
    });
  });
}

}  // namespace millrace::cli
