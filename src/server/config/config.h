// The server's settings and the source of each: a flag overrides the environment, which overrides
// the file, which overrides the default.
#pragma once

#include <cstdint>
#include <expected>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/log.h"
#include "base/time.h"
#include "service/auth.h"

namespace millrace::server {

struct ListenAddress {
  std::string host;  // an address without brackets
  std::uint16_t port = 0;
  bool loopback = false;  // only this machine reaches it
  std::string path{};     // of a socket of the file system; then host and port are empty
};
// "127.0.0.1:7600", "[::1]:7600", "localhost:7600"; port 0 means any free port. Or a path:
// "unix:/run/millrace.sock".
std::optional<ListenAddress> parse_listen(std::string_view text);
std::string to_string(const ListenAddress& address);

// The table of keys has the defaults.
struct Config {
  ListenAddress listen;
  std::string socket_mode;           // permissions of a socket of the file system, in octal
  std::vector<std::string> proxies;  // addresses and networks
  std::string data;
  std::string archive;  // the directory that keeps the journal of a store in `data`; empty: none
  Duration archive_every{};
  std::string postgres;  // the database's URL, with its password; empty: SQLite in `data`
  bool allow_unsafe_postgres = false;
  std::uint64_t shards =
      0;                  // of a store on PostgreSQL; 0: as many as it has, eight when it is made
  std::string advertise;  // the URL at which other nodes reach this one; empty: from `listen`
  Duration drain{};
  LogLevel log_level{};
  LogFormat log_format{};
  std::uint64_t io_threads = 0;  // 0: chosen for the machine
  std::uint64_t memory = 0;      // bytes; 0: half of the machine's
  std::string zoneinfo;          // the directory of the time zones' files
  // Paths of files in PEM; empty: none.
  std::string tls_cert;
  std::string tls_key;
  std::string tls_ca;

  // What the server may call for jobs, as push/policy_settings.h reads it.
  std::string push_allow;
  std::string push_deny;
  std::string push_ports;
  bool push_allow_http = false;

  std::string otlp_endpoint;  // the URL of a collector of traces; empty: none are exported

  std::uint64_t body_bytes = 0;
  std::uint64_t payload_bytes = 0;
  std::uint64_t header_block_bytes = 0;
  std::uint64_t headers = 0;
  std::uint64_t target_bytes = 0;
  std::uint64_t json_depth = 0;
  Duration header_timeout{};
  Duration idle_timeout{};
  std::uint64_t connections = 0;
  std::uint64_t tls_handshakes = 0;
  std::uint64_t failed_logins = 0;
  Duration idempotency_window{};
  std::uint64_t max_keys = 0;

  // For queues without settings of their own; none: for ever.
  std::optional<Duration> keep_succeeded, keep_dead, keep_cancelled, keep_expired;
  // How long, and up to which size, journal rows are kept for readers of the events.
  Duration keep_events{};
  std::uint64_t keep_events_bytes = 0;
  Duration keep_audit{};

  std::vector<service::TokenSettings> tokens;  // each one is valid on its own
};

// The input from outside. Values are text, as typed.
struct ConfigInput {
  std::vector<std::pair<std::string, std::string>> flags;        // key ("limits.body"), value
  std::vector<std::pair<std::string, std::string>> environment;  // the variables MILLRACE_*
  std::optional<std::string> config_flag;                        // --config
  std::string system_file = "/etc/millrace/millrace.toml";       // read if it exists
  std::string local_file = "millrace.toml";  // never read by itself: who starts the server decides
};

// One setting as `config show` prints it.
struct Setting {
  std::string key;
  std::string value;   // in normalised form: "1m" for "60s"
  std::string source;  // "flag --drain", "environment MILLRACE_DRAIN", "file PATH:3", "default"
};

struct LoadedConfig {
  Config config;
  std::vector<Setting>
      settings;      // one per key, in the table's order; then the tokens, without their hashes
  std::string file;  // empty: no file was read
  // Says that the working directory has a file that was not read. Empty: it has none, or a file was
  // named.
  std::string warning{};
};

// All faults at once: each is a sentence that names the place.
using ConfigErrors = std::vector<std::string>;

std::expected<LoadedConfig, ConfigErrors> load_config(const ConfigInput& input);

// A fault that begins with the name of its key, and behind it the source of the value.
std::string with_source(const std::string& fault, const std::vector<Setting>& settings);

// The variables of this process that start with MILLRACE_.
std::vector<std::pair<std::string, std::string>> millrace_environment();

}  // namespace millrace::server
