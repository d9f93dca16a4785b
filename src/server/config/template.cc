#include "server/config/template.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>
#include <variant>

#include "server/config/config_keys.h"
#include "server/config/token.h"

namespace millrace::server {
namespace {

constexpr std::size_t kWidth = 100;

constexpr std::string_view kHead =
    "# The configuration of a Millrace server. A line that begins with '#' and a key shows the\n"
    "# default: take the '#' away to change it. `millrace config check --config FILE` checks this "
    "file.\n"
    "# A flag or a variable of the environment wins over it: --limits-body, "
    "MILLRACE_LIMITS_BODY.\n";

std::string commented(std::string_view text) {
  std::string lines;
  while (!text.empty()) {
    std::size_t end = text.size();
    if (end > kWidth - 2) {
      end = text.rfind(' ', kWidth - 2);
      if (end == std::string_view::npos) end = text.size();
    }
    lines += fmt::format("# {}\n", text.substr(0, end));
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return lines;
}

std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') out += '\\';
    out += c;
  }
  return out + '"';
}

// The value in the form in which a person would write it.
std::string toml_value(const ConfigKey& key, std::string_view text) {
  const bool bare = std::holds_alternative<CountSetting>(key.kind) ||
                    std::holds_alternative<TruthSetting>(key.kind);
  return bare ? std::string(text) : quoted(text);
}

}  // namespace

std::string config_template(const std::map<std::string, std::string>& values,
                            const std::map<std::string, std::string>& notes,
                            const std::vector<service::TokenSettings>& tokens) {
  std::string text(kHead);
  std::string_view section;
  for (const ConfigKey& key : config_keys()) {
    const std::size_t dot = key.name.find('.');
    const std::string_view in = dot == std::string_view::npos ? "" : key.name.substr(0, dot);
    if (in != section) text += fmt::format("\n[{}]\n", in);
    section = in;
    const std::string name(key.name);
    text += '\n' + commented(fmt::format("{} ({})", key.help, type_text(key)));
    if (const auto note = notes.find(name); note != notes.end()) text += commented(note->second);
    const auto value = values.find(name);
    const bool is_set = value != values.end();
    text += fmt::format("{}{} = {}\n", is_set ? "" : "# ",
                        key.name.substr(in.empty() ? 0 : in.size() + 1),
                        toml_value(key, is_set ? value->second : std::string(key.default_text)));
  }
  text += "\n# Tokens: `millrace token new --name deploy --scope submit` prints such lines.\n";
  if (tokens.empty()) {
    text += "# [[tokens]]\n# name = \"deploy\"\n# hash = \"...\"\n# scopes = [\"submit\"]\n";
  }
  for (const service::TokenSettings& token : tokens) text += token_toml(token);
  return text;
}

}  // namespace millrace::server
