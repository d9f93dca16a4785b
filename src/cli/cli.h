// The command line. The server's own commands (serve, config show, token new, admin verify) are
// passed in, so that this room does not depend on the server but help and completion cover the
// whole tree.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace millrace::cli {

// Adds commands whose callbacks set `exit_code`.
using AddCommands = std::function<void(CLI::App& app, int& exit_code)>;

// Parses the arguments, runs the named command, and returns the process's exit code.
int run(int argc, char** argv, const AddCommands& add_server_commands);

}  // namespace millrace::cli
