// Hands the command line to the room that knows it, with the server's own commands.
#include "cli/cli.h"
#include "server/commands.h"

int main(int argc, char** argv) {
  return millrace::cli::run(argc, argv, &millrace::server::add_commands);
}
