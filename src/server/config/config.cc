#include "server/config/config.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <iterator>
#include <sstream>

#include "base/file.h"
#include "server/config/config_file.h"
#include "server/config/config_keys.h"

namespace millrace::server {
namespace {

// Variables of the clients, and those that `millrace work` sets for its commands. The server
// ignores them without an error.
constexpr std::array<std::string_view, 12> kClientVariables = {
    "MILLRACE_CA_FILE",  "MILLRACE_CERT_FILE",    "MILLRACE_KEY_FILE", "MILLRACE_URL",
    "MILLRACE_TOKEN",    "MILLRACE_TYPE",         "MILLRACE_ATTEMPT",  "MILLRACE_LEASE_TOKEN",
    "MILLRACE_SCHEDULE", "MILLRACE_SCHEDULED_AT", "MILLRACE_CONFIG",   "MILLRACE_WORKER_VERSION"};
constexpr std::string_view kClientPrefix = "MILLRACE_JOB_";

constexpr std::uint64_t kLeastMemory = 128 * 1024 * 1024;

bool is_client_variable(std::string_view name) {
  return name.starts_with(kClientPrefix) || std::ranges::count(kClientVariables, name) > 0;
}

// Collects the values of all keys, with later calls taking precedence, and all errors on the way.
class Loader {
 public:
  void defaults() {
    for (const ConfigKey& key : config_keys()) {
      set_value(key, key.default_text, loaded_.config);
      loaded_.settings.push_back({std::string(key.name), "", "default"});
    }
  }

  void file(const std::string& path) {
    const auto content = read_file(path);
    if (!content) {
      errors_.push_back("the configuration file: " + content.error().message);
      return;
    }
    loaded_.file = path;
    auto parsed = parse_config_file(*content, path);
    if (!parsed) {
      errors_.insert(errors_.end(), parsed.error().begin(), parsed.error().end());
      return;
    }
    for (const FileValue& value : parsed->values) {
      const std::string place = fmt::format("{}:{}", path, value.line);
      set(value.key, value.text, "file " + place, fmt::format("{}: {}", place, value.key));
    }
    loaded_.config.tokens = std::move(parsed->tokens);
  }

  void environment(const std::vector<std::pair<std::string, std::string>>& variables) {
    for (const auto& [name, value] : variables) {
      if (is_client_variable(name)) continue;
      const auto keys = config_keys();
      const auto at = std::ranges::find_if(
          keys, [&](const ConfigKey& key) { return environment_of(key.name) == name; });
      if (at != keys.end()) {
        set(at->name, value, "environment " + name, name);
        continue;
      }
      std::vector<std::string> known;
      for (const ConfigKey& key : keys) known.push_back(environment_of(key.name));
      errors_.push_back(
          fmt::format("unknown environment variable {}{}", name, suggestion(name, known)));
    }
  }

  void flags(const std::vector<std::pair<std::string, std::string>>& flags) {
    for (const auto& [key, value] : flags) set(key, value, "flag " + flag_of(key), flag_of(key));
  }

  std::expected<LoadedConfig, ConfigErrors> finish() {
    check_together();
    if (!errors_.empty()) return std::unexpected(std::move(errors_));
    const auto keys = config_keys();
    for (std::size_t i = 0; i < keys.size(); ++i) {
      loaded_.settings[i].value = value_text(keys[i], loaded_.config);
    }
    for (const service::TokenSettings& token : loaded_.config.tokens) {
      loaded_.settings.push_back({"tokens." + token.name,
                                  fmt::format("{}", fmt::join(token.scopes, ", ")),
                                  "file " + loaded_.file});
    }
    return std::move(loaded_);
  }

 private:
  void set(std::string_view name, const std::string& text, std::string source,
           std::string_view place) {
    const ConfigKey* const key = find_config_key(name);
    if (key == nullptr) {
      std::vector<std::string> known = {"tokens"};
      for (const ConfigKey& other : config_keys()) known.emplace_back(other.name);
      // `place` ends with the name.
      errors_.push_back(fmt::format("{}unknown key {}{}",
                                    place.substr(0, place.size() - name.size()), name,
                                    suggestion(name, known)));
      return;
    }
    if (const auto fault = set_value(*key, text, loaded_.config)) {
      errors_.push_back(fmt::format("{} {}{}", place, *fault, quoted_value(*key, text)));
      return;
    }
    loaded_.settings[static_cast<std::size_t>(key - config_keys().data())].source =
        std::move(source);
  }

  // Checks of settings in combination.
  void check_together() {
    const Config& config = loaded_.config;
    if (!config.listen.loopback && config.tokens.empty()) {
      errors_.push_back(
          fmt::format("listen is {}, which other machines can reach, but the configuration has no "
                      "tokens, so anyone could use the server; create a token with `millrace token "
                      "new` and put its lines into the configuration file, or listen on 127.0.0.1",
                      to_string(config.listen)));
    }
    if (!config.listen.path.empty()) check_local(config);
    if (config.tls_cert.empty() != config.tls_key.empty()) {
      errors_.emplace_back("tls.cert and tls.key belong together: set both, or neither");
    } else if (config.tls_cert.empty() && !config.tls_ca.empty()) {
      errors_.emplace_back("tls.ca needs tls.cert and tls.key");
    }
    if (!config.archive.empty() && !config.postgres.empty()) {
      errors_.emplace_back(
          "archive is for a data directory; a database keeps its own log (archive_command of "
          "PostgreSQL)");
    }
    if (auto book = service::TokenBook::make(config.tokens); !book) {
      errors_.push_back(book.error().message);
    }
    if (config.payload_bytes > config.body_bytes) {
      errors_.emplace_back("limits.payload must not exceed limits.body");
    }
    if (config.memory != 0 && config.memory < kLeastMemory) {
      errors_.push_back(
          fmt::format("memory must be at least {}, or 0 for half of the machine's memory",
                      format_size(kLeastMemory)));
    }
  }

  void check_local(const Config& config) {
    if (!config.tls_cert.empty()) {
      errors_.emplace_back(
          "listen is a socket of this machine, which needs no TLS; take tls.cert and "
          "tls.key away, or listen on an address");
    }
    if (!config.postgres.empty()) {
      errors_.emplace_back(
          "listen is a socket of this machine, at which other nodes of the database "
          "can't reach this one; listen on an address");
    }
  }

  LoadedConfig loaded_;
  ConfigErrors errors_;
};

// The file to read: the one named, or the system's if it exists.
std::optional<std::string> file_to_read(const ConfigInput& input) {
  if (input.config_flag) return input.config_flag;
  for (const auto& [name, value] : input.environment) {
    if (name == "MILLRACE_CONFIG") return value;
  }
  if (!input.system_file.empty() && ::access(input.system_file.c_str(), F_OK) == 0) {
    return input.system_file;
  }
  return std::nullopt;
}

// `millrace init` writes such a file, and its user may take it for the one that is read.
std::string warning_of(const ConfigInput& input, const std::optional<std::string>& read) {
  const bool is_named = read && *read != input.system_file;
  if (is_named || ::access(input.local_file.c_str(), F_OK) != 0) return {};
  return fmt::format("the file {} of this directory is not used; to use it, give --config {}",
                     input.local_file, input.local_file);
}

bool is_loopback(std::string_view host, bool& valid) {
  const std::string text(host);
  in_addr v4{};
  in6_addr v6{};
  valid = true;
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return ntohl(v4.s_addr) >> 24 == 127;
  if (::inet_pton(AF_INET6, text.c_str(), &v6) == 1) {
    return IN6_IS_ADDR_LOOPBACK(&v6) || (IN6_IS_ADDR_V4MAPPED(&v6) && v6.s6_addr[12] == 127);
  }
  valid = false;
  return false;
}

}  // namespace

std::optional<ListenAddress> parse_listen(std::string_view text) {
  constexpr std::string_view kLocal = "unix:";
  if (text.starts_with(kLocal)) {
    ListenAddress local;
    local.path = text.substr(kLocal.size());
    local.loopback = true;
    if (!local.path.starts_with('/')) return std::nullopt;
    return local;
  }
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) return std::nullopt;
  std::string_view host = text.substr(0, colon);
  const std::string_view port_text = text.substr(colon + 1);

  ListenAddress address;
  const auto [end, error] =
      std::from_chars(port_text.data(), port_text.data() + port_text.size(), address.port);
  if (error != std::errc() || end != port_text.data() + port_text.size()) return std::nullopt;

  const bool bracketed = host.starts_with('[') && host.ends_with(']');
  if (bracketed) {
    host = host.substr(1, host.size() - 2);
  } else if (host.find(':') != std::string_view::npos) {
    return std::nullopt;
  }
  if (host == "localhost" && !bracketed) host = "127.0.0.1";
  bool valid = false;
  address.loopback = is_loopback(host, valid);
  if (!valid || bracketed != (host.find(':') != std::string_view::npos)) return std::nullopt;
  address.host = host;
  return address;
}

std::string to_string(const ListenAddress& address) {
  if (!address.path.empty()) return "unix:" + address.path;
  const bool v6 = address.host.find(':') != std::string::npos;
  return fmt::format("{}{}{}:{}", v6 ? "[" : "", address.host, v6 ? "]" : "", address.port);
}

std::expected<LoadedConfig, ConfigErrors> load_config(const ConfigInput& input) {
  Loader loader;
  loader.defaults();
  const auto path = file_to_read(input);
  if (path) loader.file(*path);
  loader.environment(input.environment);
  loader.flags(input.flags);
  auto loaded = loader.finish();
  if (loaded) loaded->warning = warning_of(input, path);
  return loaded;
}

std::string with_source(const std::string& fault, const std::vector<Setting>& settings) {
  for (const Setting& setting : settings) {
    if (fault.starts_with(setting.key + " ")) return fmt::format("{} ({})", fault, setting.source);
  }
  return fault;
}

std::vector<std::pair<std::string, std::string>> millrace_environment() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text = *entry;
    const std::size_t equals = text.find('=');
    if (!text.starts_with("MILLRACE_") || equals == std::string_view::npos) continue;
    variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  std::ranges::sort(variables);
  return variables;
}

}  // namespace millrace::server
