// Any bytes as the configuration file. It is accepted or refused; every fault names the file and a
// line. An accepted file yields settings or faults that can all be shown to the operator.
#include <cstddef>
#include <cstdint>
#include <string>

#include "base/check.h"
#include "server/config/config_file.h"
#include "server/config/config_keys.h"
#include "server/config/token.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace millrace::server;
  const std::string content(reinterpret_cast<const char*>(data), size);
  const auto file = parse_config_file(content, "millrace.toml");
  if (!file) {
    MILLRACE_CHECK(!file.error().empty());
    for (const std::string& fault : file.error()) {
      MILLRACE_CHECK(fault.starts_with("millrace.toml:"));
    }
    return 0;
  }
  Config config;
  for (const FileValue& value : file->values) {
    MILLRACE_CHECK(value.line >= 1);
    const ConfigKey* const key = find_config_key(value.key);
    if (key == nullptr) continue;
    if (const auto fault = set_value(*key, value.text, config)) {
      MILLRACE_CHECK(!fault->empty());
      continue;
    }
    // A value's own text must be accepted again.
    const std::string shown = value_text(*key, config);
    MILLRACE_CHECK(!set_value(*key, shown, config));
    MILLRACE_CHECK(value_text(*key, config) == shown);
  }
  for (const auto& token : file->tokens) {
    MILLRACE_CHECK(check_token(token).has_value());
    // The text printed by `millrace token new` for it must be read as the same token.
    const auto again = parse_config_file(token_toml(token), "again");
    MILLRACE_CHECK(again.has_value() && again->tokens.size() == 1);
    MILLRACE_CHECK(again->tokens[0].name == token.name && again->tokens[0].hash == token.hash);
    MILLRACE_CHECK(again->tokens[0].scopes == token.scopes);
    MILLRACE_CHECK(again->tokens[0].queues == token.queues);
    MILLRACE_CHECK(again->tokens[0].expires_at == token.expires_at);
  }
  return 0;
}
