#include "server/stores/init.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <string_view>
#include <utility>
#include <vector>

#include "base/file.h"
#include "net/listener.h"
#include "net/local_socket.h"
#include "server/config/config.h"
#include "server/config/config_keys.h"
#include "server/config/template.h"
#include "server/config/token.h"
#include "server/metrics/memory_gauge.h"

namespace millrace::server {
namespace {

namespace fs = std::filesystem;

constexpr int kFailure = 1;
constexpr int kBadConfiguration = 78;
constexpr std::string_view kServiceData = "/var/lib/millrace";  // as the packages have it

int fail(std::string_view why) {
  fmt::print(stderr, "millrace: {}\n", why);
  return kFailure;
}

// What is there already is replaced as a whole, or not at all.
Status write(const fs::path& path, std::string_view text) {
  const auto failed = [&path](std::string_view reason) {
    return failure(fmt::format("can't write {}: {}", path.string(), reason));
  };
  const auto file = open_file(path, O_WRONLY | O_CREAT | O_TRUNC, 0600);
  if (!file) return failed(file.error().reason);
  const int number = file->number();
  const bool whole =
      ::write(number, text.data(), text.size()) == static_cast<ssize_t>(text.size()) &&
      ::fsync(number) == 0;
  return whole ? Status() : failed(std::strerror(errno));
}

// By key: what this machine has to say about it.
std::map<std::string, std::string> look_around(const std::string& zoneinfo) {
  std::map<std::string, std::string> found;
  found["memory"] =
      fmt::format("This machine may use {}.", format_size(usable_memory() >> 20 << 20));
  const char* const database = std::getenv("DATABASE_URL");
  if (database != nullptr && std::string_view(database).starts_with("postgres")) {
    found["postgres"] = "DATABASE_URL names a database; to keep the jobs there, put it here.";
  }
  std::error_code ignored;
  if (!fs::exists(fs::path(zoneinfo) / "tzdata.zi", ignored) &&
      !fs::exists(fs::path(zoneinfo) / "Europe", ignored)) {
    found["zoneinfo"] = "There are no time zones here: install the package tzdata for schedules.";
  }
  return found;
}

// Writes the file. It is read back before it takes its place, so that what it says is what a server
// understands.
int write_checked(const std::string& file, const std::string& text) {
  std::error_code error;
  const fs::path written = file + ".new";
  if (Status status = write(written, text); !status) return fail(status.error().message);
  ConfigInput input;
  input.config_flag = written;
  if (const auto loaded = load_config(input); !loaded) {
    fs::remove(written, error);
    for (const std::string& fault : loaded.error()) fmt::print(stderr, "millrace: {}\n", fault);
    return kBadConfiguration;
  }
  fs::rename(written, file, error);
  return error ? fail(fmt::format("can't write {}: {}", file, error.message())) : 0;
}

}  // namespace

int init(const InitOptions& options) {
  std::error_code ignored;
  if (!options.force && fs::exists(options.file, ignored)) {
    return fail(
        fmt::format("{} is there already; name another file, or use --force", options.file));
  }
  // Here the flag can be named; below only the line of the file.
  for (const auto& [name, text] : options.values) {
    Config scratch;
    const ConfigKey* const key = find_config_key(name);
    const auto fault = key == nullptr ? std::nullopt : set_value(*key, text, scratch);
    if (!fault) continue;
    fail(fmt::format("{} {} (it is \"{}\")", flag_of(name), *fault, text));
    return kBadConfiguration;
  }
  std::map<std::string, std::string> values = options.values;
  if (!values.contains("data") && !values.contains("postgres") &&
      ::access(std::string(kServiceData).c_str(), W_OK) == 0) {
    values["data"] = kServiceData;
  }
  const auto text_of = [&](const std::string& key, std::string fallback) {
    const auto found = values.find(key);
    return found == values.end() ? fallback : found->second;
  };
  std::vector<service::TokenSettings> tokens;
  std::string token;
  const auto address = parse_listen(text_of("listen", "127.0.0.1:7600"));
  if (address && !address->loopback) {
    IssuedToken made = issue_token(
        {"admin", "", {"submit", "work", "read", "operate", "admin"}, {}, std::nullopt});
    token = std::move(made.text);
    tokens.push_back(std::move(made.settings));
  }
  const auto notes = look_around(text_of("zoneinfo", "/usr/share/zoneinfo"));
  if (const int status = write_checked(options.file, config_template(values, notes, tokens))) {
    return status;
  }
  fmt::print("Wrote {}.\n", options.file);
  if (!token.empty()) fmt::print("The token of \"admin\", which is not kept: {}\n", token);
  std::fflush(stdout);
  for (const auto& [key, note] : notes) {
    if (key != "memory") fmt::print(stderr, "{}: {}\n", key, note);
  }
  if (address) {
    const Status free = address->path.empty() ? net::can_listen(address->host, address->port)
                                              : net::can_listen_at(address->path);
    if (!free) {
      fmt::print(stderr, "listen: {}\n", free.error().message);
    }
    if (!address->loopback && !values.contains("tls.cert")) {
      fmt::print(
          stderr,
          "tls: other machines will reach the server in the clear; `millrace admin ca` makes "
          "certificates\n");
    }
  }
  fmt::print(stderr, "Start the server: millrace serve --config {}\n", options.file);
  return 0;
}

}  // namespace millrace::server
