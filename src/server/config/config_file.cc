#include "server/config/config_file.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <optional>
#include <string_view>

#include "server/config/config_keys.h"
#include "server/config/token.h"

namespace millrace::server {
namespace {

class Reader {
 public:
  explicit Reader(const std::string& path) : path_(path) {}

  void read(const toml::table& root) {
    for (const auto& [key, node] : root) {
      if (key.str() == "tokens") {
        read_tokens(node);
      } else {
        read_value(std::string(key.str()), node);
      }
    }
    std::ranges::sort(file.values, {},
                      [](const FileValue& value) { return std::pair(value.line, value.key); });
  }

  ConfigFile file;
  ConfigErrors errors;

 private:
  void read_value(const std::string& key, const toml::node& node) {
    if (const toml::table* const table = node.as_table()) {
      for (const auto& [inner, value] : *table) {
        read_value(fmt::format("{}.{}", key, inner.str()), value);
      }
      return;
    }
    const std::uint32_t line = node.source().begin.line;
    if (const auto text = node.value_exact<std::string>()) {
      file.values.push_back({key, *text, line});
    } else if (const auto number = node.value_exact<std::int64_t>()) {
      file.values.push_back({key, fmt::to_string(*number), line});
    } else if (const auto truth = node.value_exact<bool>()) {
      file.values.push_back({key, *truth ? "true" : "false", line});
    } else if (const toml::array* const array = node.as_array(); array != nullptr && is_list(key)) {
      const auto texts = texts_of(node, key);
      file.values.push_back({key, fmt::format("{}", fmt::join(texts, ",")), line});
    } else {
      fail(node, fmt::format("{} must be a string, a whole number, true or false", key));
    }
  }

  static bool is_list(std::string_view name) {
    const ConfigKey* const key = find_config_key(name);
    return key != nullptr && std::holds_alternative<NetworksSetting>(key->kind);
  }

  void read_tokens(const toml::node& node) {
    const toml::array* const tables = node.as_array();
    if (tables == nullptr || !tables->is_homogeneous(toml::node_type::table)) {
      fail(node, "each token must be a table of its own, under [[tokens]]");
      return;
    }
    for (const toml::node& table : *tables) read_token(*table.as_table());
  }

  void read_token(const toml::table& table) {
    service::TokenSettings token;
    for (const auto& [key, node] : table) {
      const std::string_view name = key.str();
      if (name == "name") {
        token.name = text_of(node, "tokens.name");
      } else if (name == "hash") {
        token.hash = text_of(node, "tokens.hash");
      } else if (name == "certificate") {
        token.certificate = text_of(node, "tokens.certificate");
      } else if (name == "scopes") {
        token.scopes = texts_of(node, "tokens.scopes");
      } else if (name == "queues") {
        token.queues = texts_of(node, "tokens.queues");
      } else if (name == "expires_at") {
        token.expires_at = time_of(node);
      } else if (name == "payload") {
        const auto sees = node.value_exact<bool>();
        if (!sees) fail(node, "tokens.payload must be true or false");
        token.sees_payloads = sees.value_or(true);
      } else {
        static const std::array<std::string, 7> kMembers = {
            "name", "hash", "certificate", "scopes", "queues", "expires_at", "payload"};
        fail(node, fmt::format("unknown key tokens.{}{}", name, suggestion(name, kMembers)));
      }
    }
    if (const Status status = check_token(token); !status) fail(table, status.error().message);
    if (!token.name.empty() &&
        std::ranges::find(file.tokens, token.name, &service::TokenSettings::name) !=
            file.tokens.end()) {
      fail(table,
           fmt::format("two tokens have the name \"{}\"; give each its own name", token.name));
    }
    file.tokens.push_back(std::move(token));
  }

  std::string text_of(const toml::node& node, std::string_view key) {
    const auto text = node.value_exact<std::string>();
    if (!text) fail(node, fmt::format("{} must be a string", key));
    return text.value_or("");
  }

  std::vector<std::string> texts_of(const toml::node& node, std::string_view key) {
    std::vector<std::string> texts;
    const toml::array* const array = node.as_array();
    if (array == nullptr || array->empty() || !array->is_homogeneous(toml::node_type::string)) {
      fail(node, fmt::format("{} must be an array of one or more strings", key));
      return texts;
    }
    for (const toml::node& text : *array) texts.push_back(*text.value_exact<std::string>());
    return texts;
  }

  std::optional<Time> time_of(const toml::node& node) {
    std::string text;
    if (const auto written = node.value_exact<std::string>()) {
      text = *written;
    } else if (const auto* const date_time = node.as_date_time()) {
      std::ostringstream out;
      out << **date_time;
      text = out.str();
    }
    const std::optional<Time> time = parse_rfc3339(text);
    if (!time) fail(node, R"(tokens.expires_at must be a time, like 2027-01-31T00:00:00Z)");
    return time;
  }

  void fail(const toml::node& node, std::string_view what) {
    errors.push_back(fmt::format("{}:{}: {}", path_, node.source().begin.line, what));
  }

  const std::string& path_;
};

// A text without quotes is taken for a number or a time, as far as it goes.
std::string_view hint_for(std::string_view fault) {
  constexpr std::array<std::string_view, 5> kValues = {
      "parsing value", "parsing time", "parsing date", "parsing integer", "parsing floating-point"};
  const bool in_value =
      std::ranges::any_of(kValues, [&](std::string_view words) { return fault.contains(words); });
  return in_value ? "; put a text in quotes, as in listen = \"127.0.0.1:7600\"" : "";
}

}  // namespace

std::expected<ConfigFile, ConfigErrors> parse_config_file(const std::string& content,
                                                          const std::string& path) {
  try {
    Reader reader(path);
    reader.read(toml::parse(content, path));
    if (!reader.errors.empty()) return std::unexpected(std::move(reader.errors));
    return std::move(reader.file);
  } catch (const toml::parse_error& error) {
    return std::unexpected(
        ConfigErrors{fmt::format("{}:{}: {}{}", path, error.source().begin.line,
                                 error.description(), hint_for(error.description()))});
  }
}

}  // namespace millrace::server
