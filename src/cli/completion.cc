#include "cli/completion.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/commands.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

// @CASES@ is replaced by a branch per command with the words that may follow it; @VALUES@ by the
// options that take a value, so that the word after one of them is not taken for a sub-command.
constexpr std::string_view kBashScript =
    R"SCRIPT(# bash completion for millrace: source it, or put it into /etc/bash_completion.d
_millrace_words() {
  case "$1" in
@CASES@  esac
}
_millrace() {
  local word path='' skip='' i current="${COMP_WORDS[COMP_CWORD]}"
  for ((i = 1; i < COMP_CWORD; i++)); do
    word="${COMP_WORDS[i]}"
    if [[ -n $skip ]]; then skip=''; continue; fi
    case "$word" in
      --) COMPREPLY=(); compopt -o default; return ;;
      @VALUES@) skip=yes ;;
      -*) ;;
      *)
        if [[ " $(_millrace_words "$path") " == *" $word "* ]]; then
          path="${path:+$path }$word"
        fi
        ;;
    esac
  done
  if [[ -n $skip ]]; then COMPREPLY=(); compopt -o default; return; fi
  local words="$(_millrace_words "$path")"
  if [[ -n $path ]]; then words="$words $(_millrace_words '' | tr ' ' '\n' | grep '^-')"; fi
  COMPREPLY=($(compgen -W "$words" -- "$current"))
  if [[ ${#COMPREPLY[@]} -eq 0 ]]; then compopt -o default; fi
}
complete -F _millrace millrace
)SCRIPT";

constexpr std::string_view kZshScript = R"SCRIPT(#compdef millrace
# zsh completion for millrace: put it into a directory of $fpath as _millrace
_millrace_words() {
  case "$1" in
@CASES@  esac
}
_millrace() {
  local word at='' skip='' i
  for ((i = 2; i < CURRENT; i++)); do
    word="${words[i]}"
    if [[ -n $skip ]]; then skip=''; continue; fi
    case "$word" in
      --) _files; return ;;
      @VALUES@) skip=yes ;;
      -*) ;;
      *)
        if [[ " $(_millrace_words "$at") " == *" $word "* ]]; then
          at="${at:+$at }$word"
        fi
        ;;
    esac
  done
  if [[ -n $skip ]]; then _files; return; fi
  local -a offered
  offered=(${=$(_millrace_words "$at")})
  if [[ -n $at ]]; then offered+=(${(M)${=$(_millrace_words '')}:#-*}); fi
  compadd -- $offered || _files
}
if [[ ${zsh_eval_context[-1]} == loadautofunc ]]; then
  _millrace "$@"
else
  compdef _millrace millrace
fi
)SCRIPT";

void collect(const CLI::App& app, const std::string& path, std::vector<CompletedCommand>& out) {
  CompletedCommand command{path, app.get_description(), {}, {}};
  for (const CLI::Option* option : app.get_options()) {
    CompletedOption described{{}, option->get_description(), option->get_items_expected_max() > 0};
    for (const std::string& name : option->get_snames()) described.names.push_back("-" + name);
    for (const std::string& name : option->get_lnames()) described.names.push_back("--" + name);
    if (!described.names.empty()) command.options.push_back(std::move(described));
  }
  const auto children = app.get_subcommands([](const CLI::App*) { return true; });
  for (const CLI::App* child : children) command.children.push_back(child->get_name());
  out.push_back(std::move(command));
  for (const CLI::App* child : children) {
    collect(*child, path.empty() ? child->get_name() : path + " " + child->get_name(), out);
  }
}

std::string words_of(const CompletedCommand& command) {
  std::vector<std::string> words = command.children;
  for (const CompletedOption& option : command.options) {
    words.insert(words.end(), option.names.begin(), option.names.end());
  }
  return fmt::format("{}", fmt::join(words, " "));
}

// The options that take a value: the word after one is not a sub-command.
std::string names_with_value(const std::vector<CompletedCommand>& commands) {
  std::vector<std::string> names;
  for (const CompletedCommand& command : commands) {
    for (const CompletedOption& option : command.options) {
      if (!option.takes_value) continue;
      names.insert(names.end(), option.names.begin(), option.names.end());
    }
  }
  std::sort(names.begin(), names.end());
  names.erase(std::unique(names.begin(), names.end()), names.end());
  return fmt::format("{}", fmt::join(names, "|"));
}

// Escapes text for single quotes; `escape` is how the shell writes a quote within them.
std::string quoted(std::string_view text, std::string_view escape) {
  std::string out = "'";
  for (const char c : text) {
    if (c == '\'') {
      out += escape;
    } else {
      out += c == '\n' ? ' ' : c;
    }
  }
  return out + "'";
}

// Both shells use the same form of a branch.
std::string cases(const std::vector<CompletedCommand>& commands) {
  std::string out;
  for (const CompletedCommand& command : commands) {
    const std::string words = words_of(command);
    if (words.empty()) continue;
    out += fmt::format("    {}) echo {} ;;\n", quoted(command.path, R"('\'')"),
                       quoted(words, R"('\'')"));
  }
  return out;
}

std::string filled(std::string_view script, const std::vector<CompletedCommand>& commands) {
  std::string out(script);
  const auto fill = [&out](std::string_view mark, const std::string& text) {
    out.replace(out.find(mark), mark.size(), text);
  };
  fill("@CASES@", cases(commands));
  fill("@VALUES@", names_with_value(commands));
  return out;
}

}  // namespace

std::vector<CompletedCommand> describe_tree(const CLI::App& app) {
  std::vector<CompletedCommand> commands;
  collect(app, "", commands);
  return commands;
}

std::string bash_completion(const std::vector<CompletedCommand>& commands) {
  return filled(kBashScript, commands);
}

std::string zsh_completion(const std::vector<CompletedCommand>& commands) {
  return filled(kZshScript, commands);
}

std::string fish_completion(const std::vector<CompletedCommand>& commands) {
  constexpr std::string_view kEscape = R"(\')";
  std::string out =
      "# fish completion for millrace: put it into ~/.config/fish/completions/millrace.fish\n"
      "function __millrace_at\n"
      "  set -l seen (commandline -opc | string match -v -- '-*')[2..-1]\n"
      "  set -l wanted (string split ' ' -- $argv[1])\n"
      "  test -z \"$argv[1]\"; and set wanted\n"
      "  test (count $seen) -ge (count $wanted); or return 1\n"
      "  for i in (seq (count $wanted))\n"
      "    test \"$seen[$i]\" = \"$wanted[$i]\"; or return 1\n"
      "  end\n"
      "  test \"$argv[2]\" != exactly -o (count $seen) -eq (count $wanted)\n"
      "end\n";
  for (const CompletedCommand& command : commands) {
    const std::string here = quoted(fmt::format("__millrace_at \"{}\"", command.path), kEscape);
    for (const std::string& child : command.children) {
      const std::string path = command.path.empty() ? child : command.path + " " + child;
      const auto found = std::find_if(commands.begin(), commands.end(),
                                      [&](const auto& other) { return other.path == path; });
      out += fmt::format("complete -c millrace -f -n {} -a {} -d {}\n",
                         quoted(fmt::format("__millrace_at \"{}\" exactly", command.path), kEscape),
                         child, quoted(found->description, kEscape));
    }
    for (const CompletedOption& option : command.options) {
      out += fmt::format("complete -c millrace -n {}", here);
      for (const std::string& name : option.names) {
        out += name.starts_with("--") ? " -l " + name.substr(2) : " -s " + name.substr(1);
      }
      out += fmt::format("{} -d {}\n", option.takes_value ? " -r" : "",
                         quoted(option.description, kEscape));
    }
  }
  return out;
}

void add_completion(CLI::App& app, Session& session) {
  CLI::App& command = *app.add_subcommand("completion", "Print a completion script for a shell");
  const auto shell = std::make_shared<std::string>();
  command.add_option("SHELL", *shell, "bash, zsh or fish")
      ->required()
      ->check(CLI::IsMember({"bash", "zsh", "fish"}));
  command.footer(
      "Examples:\n"
      "  source <(millrace completion bash)\n"
      "  millrace completion zsh > ~/.zfunc/_millrace\n"
      "  millrace completion fish > ~/.config/fish/completions/millrace.fish");
  command.callback([shell, &app, &session] {
    if (session.refuse_dashes()) return;
    const auto commands = describe_tree(app);
    if (*shell == "bash") print(bash_completion(commands));
    if (*shell == "zsh") print(zsh_completion(commands));
    if (*shell == "fish") print(fish_completion(commands));
  });
}

}  // namespace millrace::cli
