// millrace version: the version of this program, not of the server.
#include "base/version.h"

#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/output.h"

namespace millrace::cli {

void add_version(CLI::App& app, Session& session) {
  CLI::App& command = *app.add_subcommand("version", "Print the version of the program");
  command.callback([&session] {
    print_line(session.json()
                   ? fmt::format(R"({{"version":"{}","commit":"{}"}})", version(), build_commit())
                   : fmt::format("millrace {} ({})", version(), build_commit()));
  });
}

}  // namespace millrace::cli
