// Completion scripts for shells, made from the tree of commands itself: they can't lag behind it.
#pragma once

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace millrace::cli {

struct CompletedOption {
  std::vector<std::string> names;  // with their dashes: "-q", "--queue"
  std::string description;
  bool takes_value = false;
};

// One command of the tree; `path` is what is typed to get there, after the program's name: "job
// list".
struct CompletedCommand {
  std::string path;
  std::string description;
  std::vector<std::string> children;  // names of its sub-commands
  std::vector<CompletedOption> options;
};

// All commands, the application itself (empty path) first. Options of outer commands are not
// repeated.
std::vector<CompletedCommand> describe_tree(const CLI::App& app);

std::string bash_completion(const std::vector<CompletedCommand>& commands);
std::string zsh_completion(const std::vector<CompletedCommand>& commands);
std::string fish_completion(const std::vector<CompletedCommand>& commands);

}  // namespace millrace::cli
