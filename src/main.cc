// Runs the command line, with the server's own commands added.
#include "cli/cli.h"
#include "server/commands.h"

int main(int argc, char** argv) {
  return millrace::cli::run(argc, argv, &millrace::server::add_commands);
}
