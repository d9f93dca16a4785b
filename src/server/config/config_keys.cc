#include "server/config/config_keys.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <numeric>

#include "base/shown_url.h"
#include "core/bounds.h"
#include "net/address_set.h"

namespace millrace::server {
namespace {

using std::chrono_literals::operator""ms;
using std::chrono_literals::operator""s;
using std::chrono_literals::operator""h;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kGiB = 1024 * kMiB;
constexpr std::uint64_t kTiB = 1024 * kGiB;
constexpr Duration kYear = 24h * 365;

using C = Config;
constexpr std::array kKeys = {
    ConfigKey{"listen", ListenSetting{&C::listen}, "127.0.0.1:7600",
              "address and port, or unix: and the path of a socket; an address other than loopback "
              "needs tokens"},
    ConfigKey{"socket_mode", ModeSetting{&C::socket_mode}, "0600",
              "permissions of that socket: 0600 for its owner, 0660 for its group too, 0666 for "
              "every user of this machine"},
    ConfigKey{"proxies", NetworksSetting{&C::proxies}, "none",
              "addresses and networks of proxies, whose PROXY headers and X-Forwarded-For the "
              "server believes"},
    ConfigKey{"data", TextSetting{&C::data}, "./data",
              "data directory; the server creates it if it is missing"},
    ConfigKey{"archive", FileSetting{&C::archive}, "none",
              "directory that keeps the journal of the data directory, for restores to any time"},
    ConfigKey{"archive_every", DurationSetting{&C::archive_every, 1s, 1h}, "1m",
              "time that the archive may be behind"},
    ConfigKey{"postgres", DatabaseSetting{&C::postgres}, "none",
              "postgres://...: keep the jobs in this database, not in a data directory"},
    ConfigKey{"allow_unsafe_postgres", TruthSetting{&C::allow_unsafe_postgres}, "false",
              "true: accept a database that may lose committed data"},
    ConfigKey{"shards", CountSetting{&C::shards, 0, 64}, "0",
              "number of shards of a new store on PostgreSQL, which can't change later; 0: eight, "
              "or the number that the store has"},
    ConfigKey{"advertise", UrlSetting{&C::advertise}, "auto",
              "URL at which other nodes reach this one; auto: the address on which it listens"},
    ConfigKey{"drain", DurationSetting{&C::drain, 0ms, 1h}, "10s", "time that a stop may take",
              Reload::kAtOnce},
    ConfigKey{"log_level", LogLevelSetting{&C::log_level}, "info", "debug, info, warn or error",
              Reload::kAtOnce},
    ConfigKey{"log_format", LogFormatSetting{&C::log_format}, "text", "text or json"},
    ConfigKey{"io_threads", CountSetting{&C::io_threads, 0, 64}, "0",
              "number of threads for connections; 0: the server chooses"},
    ConfigKey{"memory", SizeSetting{&C::memory, 0, 1024 * kTiB}, "0",
              "memory that the server may use; 0: half of the machine's memory"},
    ConfigKey{"zoneinfo", TextSetting{&C::zoneinfo}, "/usr/share/zoneinfo",
              "directory of the time zone files"},
    ConfigKey{
        "otlp_endpoint", EndpointSetting{&C::otlp_endpoint}, "none",
        "http://HOST:4318 of a collector of OpenTelemetry, to which the server sends traces of "
        "jobs"},

    ConfigKey{"tls.cert", FileSetting{&C::tls_cert}, "none",
              "certificate of the server in PEM, with the chain behind it; the server then speaks "
              "TLS alone"},
    ConfigKey{"tls.key", FileSetting{&C::tls_key}, "none", "private key of that certificate"},
    ConfigKey{"tls.ca", FileSetting{&C::tls_ca}, "none",
              "certificates of the authorities that sign those of clients and of other nodes; "
              "other nodes must then show theirs"},

    ConfigKey{"push.allow", TextSetting{&C::push_allow}, "none",
              "networks that push targets may be in although they are not public, separated by "
              "commas: \"10.1.0.0/16, fd00:1::/32\""},
    ConfigKey{"push.deny", TextSetting{&C::push_deny}, "none",
              "networks that push targets must not be in, whatever push.allow says"},
    ConfigKey{"push.ports", TextSetting{&C::push_ports}, "443",
              "ports of push targets, separated by commas; all: any port"},
    ConfigKey{"push.allow_http", TruthSetting{&C::push_allow_http}, "false",
              "true: push targets may be called without TLS"},

    ConfigKey{"limits.body", SizeSetting{&C::body_bytes, kKiB, 16 * kMiB}, "16MiB",
              "size of the body of a request"},
    ConfigKey{"limits.payload", SizeSetting{&C::payload_bytes, 1, 4 * kMiB}, "1MiB",
              "size of a payload or a result"},
    ConfigKey{"limits.header_block", SizeSetting{&C::header_block_bytes, kKiB, kMiB}, "16KiB",
              "size of all header fields of a request together"},
    ConfigKey{"limits.headers", CountSetting{&C::headers, 8, 1000}, "64",
              "number of header fields of a request"},
    ConfigKey{"limits.target", SizeSetting{&C::target_bytes, 256, 64 * kKiB}, "8KiB",
              "length of the path and query of a request"},
    ConfigKey{"limits.json_depth", CountSetting{&C::json_depth, 8, 512}, "64",
              "depth of nested JSON"},
    ConfigKey{"limits.header_timeout", DurationSetting{&C::header_timeout, 100ms, 1h}, "5s",
              "time for the header block to arrive"},
    ConfigKey{"limits.idle_timeout", DurationSetting{&C::idle_timeout, 1s, 24h}, "1m",
              "time until the next request on an open connection"},
    ConfigKey{"limits.connections", CountSetting{&C::connections, 8, 1'000'000}, "20000",
              "number of open connections; the server closes any more at once"},
    ConfigKey{
        "limits.tls_handshakes", CountSetting{&C::tls_handshakes, 8, 100'000}, "1024",
        "number of TLS handshakes in progress, and of one address an eighth of it; the server "
        "closes any more at once"},
    ConfigKey{"limits.failed_logins", CountSetting{&C::failed_logins, 1, 1'000'000}, "100",
              "number of failed logins of an address in a minute; the server answers 429 above it",
              Reload::kAtOnce},
    ConfigKey{"limits.idempotency_window",
              DurationSetting{&C::idempotency_window, 1s, core::kTenYears}, "1d",
              "time for which the server keeps an idempotency key"},
    ConfigKey{"limits.max_keys", CountSetting{&C::max_keys, 1, 10'000'000'000}, "100000000",
              "number of idempotency keys; the server refuses a new one above it"},

    ConfigKey{"retention.succeeded", RetentionSetting{&C::keep_succeeded}, "1d",
              "time for which a queue without its own setting keeps succeeded jobs; never: it "
              "never deletes them"},
    ConfigKey{"retention.dead", RetentionSetting{&C::keep_dead}, "30d", "the same for dead jobs"},
    ConfigKey{"retention.cancelled", RetentionSetting{&C::keep_cancelled}, "1d",
              "the same for cancelled jobs"},
    ConfigKey{"retention.expired", RetentionSetting{&C::keep_expired}, "1d",
              "the same for expired jobs"},
    ConfigKey{"retention.events", DurationSetting{&C::keep_events, 0ms, 10 * kYear}, "1d",
              "time for which the server keeps events"},
    ConfigKey{"retention.events_size", SizeSetting{&C::keep_events_bytes, kMiB, kTiB}, "1GiB",
              "size of all events; the server deletes the oldest events above it"},
    ConfigKey{"retention.audit", DurationSetting{&C::keep_audit, 0ms, 10 * kYear}, "90d",
              "time for which the server keeps entries of the audit; 0: they are events only"},
};

std::optional<std::uint64_t> parse_count(std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return number;
}

constexpr std::string_view kForEver = "never";
constexpr std::string_view kNone = "none";
constexpr std::string_view kAuto = "auto";

using Fault = std::optional<std::string>;

std::vector<std::string> split_list(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = std::min(text.find(','), text.size());
    std::string_view part = text.substr(0, comma);
    while (part.starts_with(' ')) part.remove_prefix(1);
    while (part.ends_with(' ')) part.remove_suffix(1);
    parts.emplace_back(part);
    if (comma == text.size()) return parts;
    text.remove_prefix(comma + 1);
  }
}

// Reads a value's text into its member; otherwise says what the text must be.
struct ValueReader {
  std::string_view text;
  Config& config;

  Fault operator()(TextSetting kind) const {
    if (text.empty()) return "must not be empty";
    config.*kind.member = text;
    return std::nullopt;
  }
  Fault operator()(ListenSetting kind) const {
    const auto address = parse_listen(text);
    if (!address) {
      return R"(must be an address and a port, like "127.0.0.1:7600" or "[::1]:7600", )"
             R"(or "unix:" and an absolute path)";
    }
    config.*kind.member = *address;
    return std::nullopt;
  }
  Fault operator()(ModeSetting kind) const {
    constexpr std::array<std::string_view, 3> kModes = {"0600", "0660", "0666"};
    if (std::ranges::find(kModes, text) == kModes.end()) return "must be 0600, 0660 or 0666";
    config.*kind.member = text;
    return std::nullopt;
  }
  Fault operator()(NetworksSetting kind) const {
    std::vector<std::string> networks;
    if (text != kNone) networks = split_list(text);
    if (const auto set = net::AddressSet::parse(networks); !set) return set.error().message;
    config.*kind.member = std::move(networks);
    return std::nullopt;
  }
  Fault operator()(DurationSetting kind) const {
    const auto value = parse_duration(text);
    if (!value) return R"(must be a duration, like "250ms", "10s" or "2h30m")";
    return store_within(kind, *value, format_duration);
  }
  Fault operator()(RetentionSetting kind) const {
    const auto value = parse_duration(text);
    if (!value && text != kForEver) {
      return R"(must be a duration, like "10s" or "30d", or "never")";
    }
    if (value && *value > core::kTenYears) return "must be at most ten years, or \"never\"";
    config.*kind.member = value;
    return std::nullopt;
  }
  Fault operator()(SizeSetting kind) const {
    const auto value = parse_size(text);
    if (!value) return R"(must be a size, like "4096", "64KiB" or "16MiB")";
    return store_within(kind, *value, format_size);
  }
  Fault operator()(CountSetting kind) const {
    const auto value = parse_count(text);
    if (!value) return "must be a whole number";
    return store_within(kind, *value, [](std::uint64_t n) { return fmt::to_string(n); });
  }
  Fault operator()(DatabaseSetting kind) const {
    if (text != kNone && !text.starts_with("postgres://") && !text.starts_with("postgresql://")) {
      return R"(must be a URL, like "postgres://user@host:5432/database", or "none")";
    }
    config.*kind.member = text == kNone ? "" : text;
    return std::nullopt;
  }
  Fault operator()(FileSetting kind) const {
    if (text.empty()) return R"(must be the path of a file, or "none")";
    config.*kind.member = text == kNone ? "" : text;
    return std::nullopt;
  }
  Fault operator()(UrlSetting kind) const {
    if (text != kAuto && !text.starts_with("http://") && !text.starts_with("https://")) {
      return R"(must be a URL, like "http://10.0.0.7:7600", or "auto")";
    }
    if (shown_url(text) != text) return "must have no user, no password and no parameters";
    config.*kind.member = text == kAuto ? "" : text;
    return std::nullopt;
  }
  Fault operator()(EndpointSetting kind) const {
    if (text != kNone && !text.starts_with("http://") && !text.starts_with("https://")) {
      return R"(must be a URL, like "http://127.0.0.1:4318", or "none")";
    }
    config.*kind.member = text == kNone ? "" : text;
    return std::nullopt;
  }
  Fault operator()(TruthSetting kind) const {
    if (text != "true" && text != "false") return "must be true or false";
    config.*kind.member = text == "true";
    return std::nullopt;
  }
  Fault operator()(LogLevelSetting kind) const {
    const auto value = parse_log_level(text);
    if (!value) return "must be debug, info, warn or error";
    config.*kind.member = *value;
    return std::nullopt;
  }
  Fault operator()(LogFormatSetting kind) const {
    if (text != "text" && text != "json") return "must be text or json";
    config.*kind.member = text == "json" ? LogFormat::kJson : LogFormat::kText;
    return std::nullopt;
  }

  template <typename Kind, typename Value, typename Spell>
  Fault store_within(Kind kind, Value value, Spell spell) const {
    if (value < kind.least || value > kind.most) {
      return fmt::format("must be {} to {}", spell(kind.least), spell(kind.most));
    }
    config.*kind.member = value;
    return std::nullopt;
  }
};

struct ValueWriter {
  const Config& config;

  std::string operator()(TextSetting kind) const { return config.*kind.member; }
  std::string operator()(ListenSetting kind) const { return to_string(config.*kind.member); }
  std::string operator()(ModeSetting kind) const { return config.*kind.member; }
  std::string operator()(NetworksSetting kind) const {
    const auto& networks = config.*kind.member;
    return networks.empty() ? std::string(kNone) : fmt::format("{}", fmt::join(networks, ","));
  }
  std::string operator()(DurationSetting kind) const {
    return format_duration(config.*kind.member);
  }
  std::string operator()(RetentionSetting kind) const {
    const auto& value = config.*kind.member;
    return value ? format_duration(*value) : std::string(kForEver);
  }
  std::string operator()(SizeSetting kind) const { return format_size(config.*kind.member); }
  std::string operator()(CountSetting kind) const { return fmt::to_string(config.*kind.member); }
  std::string operator()(DatabaseSetting kind) const {
    const std::string& url = config.*kind.member;
    return url.empty() ? std::string(kNone) : shown_url(url);
  }
  std::string operator()(FileSetting kind) const {
    const std::string& path = config.*kind.member;
    return path.empty() ? std::string(kNone) : path;
  }
  std::string operator()(UrlSetting kind) const {
    const std::string& url = config.*kind.member;
    return url.empty() ? std::string(kAuto) : url;
  }
  std::string operator()(EndpointSetting kind) const {
    const std::string& url = config.*kind.member;
    return url.empty() ? std::string(kNone) : shown_url(url);
  }
  std::string operator()(TruthSetting kind) const { return config.*kind.member ? "true" : "false"; }
  std::string operator()(LogLevelSetting kind) const {
    return std::string(to_string(config.*kind.member));
  }
  std::string operator()(LogFormatSetting kind) const {
    return config.*kind.member == LogFormat::kJson ? "json" : "text";
  }
};

struct TypeWriter {
  std::string operator()(TextSetting) const { return "text"; }
  std::string operator()(ListenSetting) const { return "address:port, or unix:path"; }
  std::string operator()(ModeSetting) const { return "0600, 0660 or 0666"; }
  std::string operator()(NetworksSetting) const {
    return fmt::format("addresses and networks, or {}", kNone);
  }
  std::string operator()(DurationSetting kind) const {
    return fmt::format("duration, {} to {}", format_duration(kind.least),
                       format_duration(kind.most));
  }
  std::string operator()(RetentionSetting) const {
    return fmt::format("duration up to {}, or {}", format_duration(core::kTenYears), kForEver);
  }
  std::string operator()(SizeSetting kind) const {
    return fmt::format("size, {} to {}", format_size(kind.least), format_size(kind.most));
  }
  std::string operator()(CountSetting kind) const {
    return fmt::format("whole number, {} to {}", kind.least, kind.most);
  }
  std::string operator()(DatabaseSetting) const { return fmt::format("URL, or {}", kNone); }
  std::string operator()(FileSetting) const { return fmt::format("path, or {}", kNone); }
  std::string operator()(UrlSetting) const { return fmt::format("URL, or {}", kAuto); }
  std::string operator()(EndpointSetting) const { return fmt::format("URL, or {}", kNone); }
  std::string operator()(TruthSetting) const { return "true or false"; }
  std::string operator()(LogLevelSetting) const { return "debug, info, warn or error"; }
  std::string operator()(LogFormatSetting) const { return "text or json"; }
};

}  // namespace

std::span<const ConfigKey> config_keys() { return kKeys; }

const ConfigKey* find_config_key(std::string_view name) {
  const auto* const at = std::ranges::find(kKeys, name, &ConfigKey::name);
  return at == kKeys.end() ? nullptr : at;
}

std::string flag_of(std::string_view key) {
  std::string flag = "--" + std::string(key);
  std::ranges::replace_if(flag, [](char c) { return c == '.' || c == '_'; }, '-');
  return flag;
}

std::string environment_of(std::string_view key) {
  std::string name = "MILLRACE_" + std::string(key);
  std::ranges::transform(name, name.begin(), [](char c) {
    return c == '.' ? '_' : c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  });
  return name;
}

std::optional<std::string> set_value(const ConfigKey& key, std::string_view text, Config& config) {
  return std::visit(ValueReader{text, config}, key.kind);
}

std::string value_text(const ConfigKey& key, const Config& config) {
  return std::visit(ValueWriter{config}, key.kind);
}

std::string quoted_value(const ConfigKey& key, std::string_view text) {
  const bool is_url = std::holds_alternative<DatabaseSetting>(key.kind) ||
                      std::holds_alternative<UrlSetting>(key.kind) ||
                      std::holds_alternative<EndpointSetting>(key.kind);
  if (!is_url) return fmt::format(" (it is \"{}\")", text);
  if (text.find("://") == std::string_view::npos) return {};
  return fmt::format(" (it is \"{}\")", shown_url(text));
}

std::string type_text(const ConfigKey& key) { return std::visit(TypeWriter{}, key.kind); }

namespace {

// Levenshtein's distance, one row at a time.
std::size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), 0);
  for (std::size_t i = 1; i <= a.size(); ++i) {
    std::size_t diagonal = std::exchange(row[0], i);
    for (std::size_t j = 1; j <= b.size(); ++j) {
      const std::size_t replaced = diagonal + (a[i - 1] == b[j - 1] ? 0 : 1);
      diagonal = row[j];
      row[j] = std::min({replaced, row[j] + 1, row[j - 1] + 1});
    }
  }
  return row.back();
}

std::string_view last_part(std::string_view name) { return name.substr(name.rfind('.') + 1); }

}  // namespace

std::string_view nearest_name(std::string_view name, std::span<const std::string> known) {
  if (name.size() > 128) return {};
  std::string_view best;
  std::size_t best_distance = std::max<std::size_t>(2, name.size() / 4) + 1;
  for (const std::string& candidate : known) {
    const std::size_t distance = edit_distance(name, candidate);
    if (distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  }
  if (!best.empty()) return best;
  // The last part of the name is right but its table is wrong.
  for (const std::string& candidate : known) {
    if (last_part(name) == last_part(candidate)) return candidate;
  }
  return {};
}

std::string suggestion(std::string_view name, std::span<const std::string> known) {
  const std::string_view nearest = nearest_name(name, known);
  return nearest.empty() ? "" : fmt::format("; did you mean {}?", nearest);
}

}  // namespace millrace::server
