#include "cli/misspelt.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace millrace::cli {
namespace {

// Command names used by other programs.
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kOtherNames{
    {{"ls", "list"}, {"rm", "delete"}, {"remove", "delete"}, {"show", "get"}, {"describe", "get"}}};
// Options that people expect, and what to use instead.
struct OtherOption {
  std::string_view command;
  std::string_view option;
  std::string_view instead;
};
constexpr std::array<OtherOption, 6> kOtherOptions{
    {{"serve", "port", "write the port behind the address: --listen 127.0.0.1:7600"},
     {"serve", "host", "write the address with the port: --listen 127.0.0.1:7600"},
     {"enqueue", "payload", "write the payload behind the type, without an option"},
     {"job retry", "type", "choose the jobs with --filter 'type:NAME'"},
     {"job cancel", "type", "choose the jobs with --filter 'type:NAME'"},
     {"job delete", "type", "choose the jobs with --filter 'type:NAME'"}}};
constexpr std::size_t kMostSuggestions = 3;
// Shorter words would be similar to everything.
constexpr std::size_t kLeastLettersForTwo = 5;

std::vector<const CLI::App*> children_of(const CLI::App& app) {
  return app.get_subcommands([](const CLI::App*) { return true; });
}

const CLI::App* child_of(const CLI::App& app, std::string_view name) {
  for (const CLI::App* child : children_of(app)) {
    if (child->get_name() == name) return child;
  }
  return nullptr;
}

// "job list": the path below the program's own name.
std::string path_of(const CLI::App& app) {
  if (app.get_parent() == nullptr) return {};
  const std::string above = path_of(*app.get_parent());
  return above.empty() ? app.get_name() : above + " " + app.get_name();
}

// Whether `part` is `whole` with letters left out, such as "del".
bool is_shortened(std::string_view part, std::string_view whole) {
  if (part.size() < 2 || part.front() != whole.front()) return false;
  for (const char letter : part) {
    const std::size_t at = whole.find(letter);
    if (at == std::string_view::npos) return false;
    whole.remove_prefix(at + 1);
  }
  return true;
}

// The distance from `name`; none: too far to be meant.
std::optional<std::size_t> nearness(std::string_view typed, std::string_view name) {
  const std::size_t allowed = typed.size() < kLeastLettersForTwo ? 1 : 2;
  const std::size_t distance = edit_distance(typed, name);
  if (distance <= allowed) return distance;
  if (is_shortened(typed, name)) return allowed + 1;
  return std::nullopt;
}

// All commands with exactly that name in the tree, such as `job retry` for `retry`.
void find_everywhere(const CLI::App& app, std::string_view name, std::vector<std::string>& out) {
  for (const CLI::App* child : children_of(app)) {
    if (child->get_name() == name) out.push_back(path_of(*child));
    find_everywhere(*child, name, out);
  }
}

// The most similar commands at this place; otherwise those with that name elsewhere.
std::vector<std::string> suggestions(const CLI::App& at, const CLI::App& root,
                                     std::string_view typed) {
  for (const auto& [other, ours] : kOtherNames) {
    const CLI::App* child = typed == other ? child_of(at, ours) : nullptr;
    if (child != nullptr) return {path_of(*child)};
  }
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const CLI::App* child : children_of(at)) {
    if (const auto distance = nearness(typed, child->get_name())) {
      near.emplace_back(*distance, path_of(*child));
    }
  }
  std::ranges::sort(near);
  std::vector<std::string> names;
  for (const auto& [distance, path] : near) {
    if (distance == near.front().first) names.push_back(path);
  }
  if (names.empty()) find_everywhere(root, typed, names);
  if (names.size() > kMostSuggestions) names.resize(kMostSuggestions);
  return names;
}

// The suggestions, and the help to read.
std::string advice(const std::vector<std::string>& names, const CLI::App& at) {
  const std::string path = path_of(at);
  const std::string help = fmt::format("ee `millrace {}--help`", path.empty() ? "" : path + " ");
  if (names.empty()) return "; s" + help;
  return fmt::format("; did you mean `{}`? S{}", fmt::join(names, "` or `"), help);
}

// The option named by `word`, of the command or of one above it.
const CLI::Option* option_of(const CLI::App& command, std::string_view word) {
  const std::string name(word.substr(0, word.find('=')));
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      if (option->check_name(name)) return option;
    }
  }
  return nullptr;
}

bool is_option(std::string_view word) { return word.size() > 1 && word.front() == '-'; }

// Similar options among those that can follow the command.
std::vector<std::string> option_suggestions(const CLI::App& command, std::string_view typed) {
  std::vector<std::pair<std::size_t, std::string>> near;
  for (const CLI::App* at = &command; at != nullptr; at = at->get_parent()) {
    for (const CLI::Option* option : at->get_options()) {
      for (const std::string& name : option->get_lnames()) {
        if (const auto distance = nearness(typed, name)) near.emplace_back(*distance, "--" + name);
      }
    }
  }
  std::ranges::sort(near);
  if (near.empty()) return {};
  return {near.front().second};
}

const CLI::App& innermost(const CLI::App& app) {
  const CLI::App* at = &app;
  while (!at->get_subcommands().empty()) at = at->get_subcommands().front();
  return *at;
}

}  // namespace

std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> cost(from.size() + 1,
                                             std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) {
    for (std::size_t j = 0; j <= to.size(); ++j) {
      if (i == 0 || j == 0) {
        cost[i][j] = i + j;
        continue;
      }
      const std::size_t changed = from[i - 1] == to[j - 1] ? 0 : 1;
      cost[i][j] = std::min({cost[i - 1][j] + 1, cost[i][j - 1] + 1, cost[i - 1][j - 1] + changed});
      const bool is_swap = i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1];
      if (is_swap) cost[i][j] = std::min(cost[i][j], cost[i - 2][j - 2] + 1);
    }
  }
  return cost[from.size()][to.size()];
}

std::optional<std::string> unknown_command(const CLI::App& app,
                                           const std::vector<std::string>& arguments) {
  const CLI::App* at = &app;
  for (std::size_t i = 0; i < arguments.size() && !children_of(*at).empty(); ++i) {
    const std::string& word = arguments[i];
    if (is_option(word)) {
      const CLI::Option* option = option_of(*at, word);
      if (option == nullptr) return std::nullopt;  // unknown whether a value follows
      const bool takes_value = option->get_items_expected_max() > 0;
      if (takes_value && word.find('=') == std::string::npos) ++i;
      continue;
    }
    const CLI::App* child = child_of(*at, word);
    if (child == nullptr) {
      const std::string path = path_of(*at);
      return fmt::format("`{}{}` is not a command{}", path.empty() ? "" : path + " ", word,
                         advice(suggestions(*at, app, word), *at));
    }
    at = child;
  }
  return std::nullopt;
}

std::string unexpected_words(const CLI::App& app, const std::vector<std::string>& words) {
  const CLI::App& command = innermost(app);
  for (const std::string& word : words) {
    if (!is_option(word)) continue;
    const std::string name = word.substr(0, word.find('='));
    const std::string_view letters = std::string_view(name).substr(name.find_first_not_of('-'));
    for (const OtherOption& other : kOtherOptions) {
      if (other.option != letters || other.command != path_of(command)) continue;
      return fmt::format("{} is not an option of `{}`; {}", name, named_command(app),
                         other.instead);
    }
    return fmt::format("{} is not an option of `{}`{}", name, named_command(app),
                       advice(option_suggestions(command, letters), command));
  }
  return fmt::format("`{}` does not expect \"{}\"{}", named_command(app), fmt::join(words, " "),
                     advice({}, command));
}

std::string plain(std::string text) {
  constexpr std::string_view kConversion = "Could not convert: ";
  constexpr std::string_view kChoice = " not in {";
  constexpr std::string_view kEquals = " = ";
  if (text.starts_with(kConversion)) {
    const std::size_t equals = text.find(kEquals);
    if (equals == std::string::npos) return text;
    return fmt::format("{}: \"{}\" is not a number",
                       text.substr(kConversion.size(), equals - kConversion.size()),
                       text.substr(equals + kEquals.size()));
  }
  const std::size_t choice = text.find(kChoice);
  if (choice == std::string::npos || !text.ends_with('}')) return text;
  std::string made = text.substr(0, choice) + " is not one of ";
  for (const char c : text.substr(choice + kChoice.size())) {
    if (c == ',') made += ", ";
    if (c != ',' && c != '}') made += c;
  }
  return made;
}

std::string named_command(const CLI::App& app) {
  const std::string path = path_of(innermost(app));
  return path.empty() ? "millrace" : "millrace " + path;
}

}  // namespace millrace::cli
