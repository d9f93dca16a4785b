// The command line. What the server's own commands (serve, config show, token new, admin verify) do
// is handed in, so that this room knows nothing of the server and yet help and completion cover all
// of the tree.
#pragma once

#include <functional>

namespace CLI {
class App;
}

namespace millrace::cli {

// Adds commands whose callbacks set `exit_code`.
using AddCommands = std::function<void(CLI::App& app, int& exit_code)>;

// Parses, runs the one command named, returns the process's exit code.
int run(int argc, char** argv, const AddCommands& add_server_commands);

}  // namespace millrace::cli
