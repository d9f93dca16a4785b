// The table of all settings: name, type, default, bounds, help. Flags, environment variables, the
// file, `config show` and their checks are all generated from it.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/config/config.h"

namespace millrace::server {

// The member that holds a value; its type determines how the value is read and bounded.
struct TextSetting {
  std::string Config::* member;
};
struct ListenSetting {
  ListenAddress Config::* member;
};
struct ModeSetting {  // permissions of a file, in octal
  std::string Config::* member;
};
struct NetworksSetting {  // addresses and networks, separated by commas, or "none"
  std::vector<std::string> Config::* member;
};
struct DurationSetting {
  Duration Config::* member;
  Duration least, most;
};
struct RetentionSetting {  // a duration, or "never"
  std::optional<Duration> Config::* member;
};
struct SizeSetting {
  std::uint64_t Config::* member;
  std::uint64_t least, most;
};
struct CountSetting {
  std::uint64_t Config::* member;
  std::uint64_t least, most;
};
struct DatabaseSetting {  // a URL, whose password is never shown, or "none"
  std::string Config::* member;
};
struct FileSetting {  // a path, or "none"
  std::string Config::* member;
};
struct UrlSetting {  // of HTTP, or "auto"
  std::string Config::* member;
};
struct EndpointSetting {  // of HTTP, or "none"
  std::string Config::* member;
};
struct TruthSetting {  // true or false
  bool Config::* member;
};
struct LogLevelSetting {
  LogLevel Config::* member;
};
struct LogFormatSetting {
  LogFormat Config::* member;
};
using SettingKind =
    std::variant<TextSetting, ListenSetting, ModeSetting, NetworksSetting, DurationSetting,
                 RetentionSetting, SizeSetting, CountSetting, DatabaseSetting, FileSetting,
                 UrlSetting, EndpointSetting, TruthSetting, LogLevelSetting, LogFormatSetting>;

// Whether a running server takes a new value when it gets SIGHUP.
enum class Reload : std::uint8_t { kNeedsRestart, kAtOnce };

struct ConfigKey {
  std::string_view name;  // "limits.header_block"
  SettingKind kind;
  std::string_view default_text;
  std::string_view help;
  Reload reload = Reload::kNeedsRestart;
};

std::span<const ConfigKey> config_keys();
const ConfigKey* find_config_key(std::string_view name);

std::string flag_of(std::string_view key);         // "--limits-header-block"
std::string environment_of(std::string_view key);  // "MILLRACE_LIMITS_HEADER_BLOCK"

// Reads `text` into the key's member; otherwise says what the text must be.
std::optional<std::string> set_value(const ConfigKey& key, std::string_view text, Config& config);
// The member's value in its shortest form.
std::string value_text(const ConfigKey& key, const Config& config);
// ` (it is "60x")`, for a message about a value that was refused; nothing that may be a password.
std::string quoted_value(const ConfigKey& key, std::string_view text);
// Describes its values: "duration, 0s to 1h".
std::string type_text(const ConfigKey& key);

// The name in `known` that is most similar to `name`; empty: none is similar.
std::string_view nearest_name(std::string_view name, std::span<const std::string> known);
// "; did you mean X?" or nothing.
std::string suggestion(std::string_view name, std::span<const std::string> known);

}  // namespace millrace::server
