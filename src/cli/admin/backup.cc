// millrace admin backup: makes a consistent copy of a running server's store.
#include <fmt/format.h>

#include <filesystem>

#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr sdk::Milliseconds kTimeout{24 * 3'600 * 1'000};  // a large store takes long

void run(const std::string& path, Session& session) {
  if (session.refuse_dashes()) return;
  std::error_code fault;
  const auto absolute = std::filesystem::absolute(path, fault).lexically_normal();
  session.with_client([&](sdk::Client& client) {
    auto answer =
        client.call({.method = "POST",
                     .path = "/v1/admin/backup",
                     .body = fmt::format(R"({{"path":{}}})", sdk::json_string(absolute.string())),
                     .timeout = kTimeout});
    if (!answer && answer.error().code == "validation_failed" && !answer.error().errors.empty()) {
      return session.fail(
          kUsage, fmt::format("the backup path {} on the server's machine {}", absolute.string(),
                              answer.error().errors.front().detail));
    }
    if (!answer) return session.fail(answer.error());
    print_line(session.json() ? answer->body
                              : fmt::format("{}  written and synced", absolute.string()));
  });
}

}  // namespace

void add_admin_backup(CLI::App& admin, Session& session) {
  CLI::App& command =
      *admin.add_subcommand("backup", "Copy the store of a running server to a new directory");
  const auto path = std::make_shared<std::string>();
  command
      .add_option("DIRECTORY", *path, "Path on the server's machine; a new or an empty directory")
      ->required();
  command.footer(
      "Examples:\n"
      "  millrace admin backup /backup/millrace-$(date +%F)\n"
      "The copy holds everything that the server acknowledged before the command.");
  command.callback([path, &session] { run(*path, session); });
}

}  // namespace millrace::cli
