// Shell completion scripts, generated from the command tree so that they are always up to date.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace millrace::cli {

struct CompletedOption {
  std::vector<std::string> names;  // with dashes: "-q", "--queue"
  std::string description;
  bool takes_value = false;
};

// One command of the tree. `path` is its name as typed after the program's name: "job list".
struct CompletedCommand {
  std::string path;
  std::string description;
  std::vector<std::string> children;  // names of its sub-commands
  std::vector<CompletedOption> options;
};

// All commands. The application itself (with an empty path) comes first. Options of outer commands
// are not repeated.
std::vector<CompletedCommand> describe_tree(const CLI::App& app);

std::string bash_completion(const std::vector<CompletedCommand>& commands);
std::string zsh_completion(const std::vector<CompletedCommand>& commands);
std::string fish_completion(const std::vector<CompletedCommand>& commands);

}  // namespace millrace::cli
