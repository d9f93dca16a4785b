#include "cli/confirm.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>
#include <string>

#include "cli/exit_code.h"
#include "cli/output.h"

namespace millrace::cli {

void add_yes(CLI::App& command, bool& yes) {
  command.add_flag("-y,--yes", yes, "Do not ask for confirmation; required without a terminal");
}

bool is_confirmed(Session& session, bool yes, std::string_view question) {
  if (yes) return true;
  // Both must be terminals: otherwise a script's piped input would answer a question that nobody
  // sees.
  if (!is_terminal(STDIN_FILENO) || !is_terminal(STDERR_FILENO)) {
    session.fail(
        kUsage,
        fmt::format(
            "{} Nothing was done, because there is no terminal to ask on; use --yes to confirm",
            question));
    return false;
  }
  const std::string prompt = fmt::format("{} [y/N] ", printable(question));
  std::fwrite(prompt.data(), 1, prompt.size(), stderr);
  std::string answer;
  std::getline(std::cin, answer);
  if (answer == "y" || answer == "Y" || answer == "yes") return true;
  session.fail(kFailure, "nothing was done");
  return false;
}

}  // namespace millrace::cli
