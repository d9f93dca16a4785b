// The server's own commands: serve, init, config, token new, admin ca, verify and migrate.
#pragma once

namespace CLI {
class App;
}

namespace millrace::server {

// Adds the commands to the tree; each sets `exit_code` when it has run. Both must outlive the
// parsing.
void add_commands(CLI::App& app, int& exit_code);

}  // namespace millrace::server
