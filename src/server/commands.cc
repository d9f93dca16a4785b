#include "server/commands.h"

#include <fmt/format.h>

#include <cstdio>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "base/file.h"
#include "base/json_writer.h"
#include "server/authority.h"
#include "server/config/config.h"
#include "server/config/config_keys.h"
#include "server/config/token.h"
#include "server/process/system_time.h"
#include "server/serve.h"
#include "server/stores/init.h"
#include "server/stores/migrate.h"
#include "server/stores/restore.h"
#include "server/stores/verify.h"

namespace millrace::server {
namespace {

constexpr int kBadConfiguration = 78;

// The sub-command `name`, which may exist already.
CLI::App& group(CLI::App& app, const std::string& name, const std::string& description) {
  for (CLI::App* const existing : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (existing->get_name() == name) return *existing;
  }
  return *app.add_subcommand(name, description)->require_subcommand(1);
}

bool wants_json(const CLI::App& app) {
  const CLI::Option* const output = app.get_option_no_throw("--output");
  return output != nullptr && output->count() > 0 && output->as<std::string>() == "json";
}

void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }

// The configuration flags as typed.
struct ConfigFlags {
  std::map<std::string, std::string> values;
  std::string file;
};

std::shared_ptr<ConfigFlags> add_config_flags(CLI::App& command) {
  auto flags = std::make_shared<ConfigFlags>();
  command.add_option("--config", flags->file, "Configuration file")->type_name("FILE");
  for (const ConfigKey& key : config_keys()) {
    const std::string name(key.name);
    command
        .add_option_function<std::string>(
            flag_of(name), [flags, name](const std::string& text) { flags->values[name] = text; },
            std::string(key.help))
        ->type_name("VALUE")
        ->default_str(std::string(key.default_text));
  }
  return flags;
}

ConfigInput input_of(const ConfigFlags& flags) {
  ConfigInput input;
  input.flags.assign(flags.values.begin(), flags.values.end());
  input.environment = millrace_environment();
  if (!flags.file.empty()) input.config_flag = flags.file;
  return input;
}

// None: an error was printed.
std::optional<LoadedConfig> load(const ConfigFlags& flags) {
  auto loaded = load_config(input_of(flags));
  if (loaded) return std::move(*loaded);
  for (const std::string& error : loaded.error()) fmt::print(stderr, "millrace: {}\n", error);
  return std::nullopt;
}

void warn(const LoadedConfig& loaded) {
  if (!loaded.warning.empty()) fmt::print(stderr, "millrace: {}\n", loaded.warning);
}

std::string settings_json(const std::vector<Setting>& settings) {
  std::string text;
  JsonWriter json(text);
  json.begin_array();
  for (const Setting& setting : settings) {
    json.begin_object();
    json.member("key", setting.key);
    json.member("value", setting.value);
    json.member("source", setting.source);
    if (const ConfigKey* const key = find_config_key(setting.key)) {
      json.member("type", type_text(*key));
      json.member("default", key->default_text);
      json.member("reload", key->reload == Reload::kAtOnce ? "at once" : "needs a restart");
      json.member("help", key->help);
    }
    json.end_object();
  }
  json.end_array();
  return text + '\n';
}

std::string settings_table(const std::vector<Setting>& settings) {
  std::size_t key_width = 0;
  std::size_t value_width = 0;
  for (const Setting& setting : settings) {
    key_width = std::max(key_width, setting.key.size());
    value_width = std::max(value_width, setting.value.size());
  }
  std::string text;
  for (const Setting& setting : settings) {
    text += fmt::format("{:<{}}  {:<{}}  {}\n", setting.key, key_width, setting.value, value_width,
                        setting.source);
  }
  return text;
}

void add_serve(CLI::App& app, int& exit_code) {
  CLI::App& command = *app.add_subcommand("serve", "Run the server");
  const auto flags = add_config_flags(command);
  command.footer(
      "Each flag is also a key of the configuration file and a variable of the environment:\n"
      "--limits-body, limits.body, MILLRACE_LIMITS_BODY.\n"
      "Example:\n"
      "  millrace serve --listen 127.0.0.1:7600 --data /var/lib/millrace");
  command.callback([flags, &exit_code] {
    const auto loaded = load(*flags);
    const auto load_again =
        [flags, from = loaded ? loaded->file : ""]() -> std::expected<LoadedConfig, ConfigErrors> {
      if (is_stream(from)) {
        return std::unexpected(ConfigErrors{
            fmt::format("the configuration came from {}, which can be read once; restart the "
                        "server",
                        from)});
      }
      return load_config(input_of(*flags));
    };
    exit_code = loaded ? serve(*loaded, load_again) : kBadConfiguration;
  });
}

void add_init(CLI::App& app, int& exit_code) {
  CLI::App& command =
      *app.add_subcommand("init", "Write a configuration file, with every key explained");
  const auto options = std::make_shared<InitOptions>();
  command.add_option("FILE", options->file, "The file")->capture_default_str()->type_name("");
  command.add_flag("--force", options->force, "Replace a file that is there");
  for (const ConfigKey& key : config_keys()) {
    const std::string name(key.name);
    command
        .add_option_function<std::string>(
            flag_of(name),
            [options, name](const std::string& text) { options->values[name] = text; },
            std::string(key.help))
        ->type_name("VALUE");
  }
  command.footer(
      "A flag of `millrace serve` sets its key; the others stand in comments with their defaults. "
      "If other\n"
      "machines can reach the address, the command also makes a token with all scopes, and prints "
      "it.\n"
      "Examples:\n"
      "  millrace init\n"
      "  millrace init /etc/millrace/millrace.toml --listen 0.0.0.0:7600 --tls-cert q.pem "
      "--tls-key "
      "q.key");
  command.callback([options, &exit_code] { exit_code = init(*options); });
}

void add_config_show(CLI::App& app, int& exit_code) {
  CLI::App& config = group(app, "config", "Show the server's configuration");
  CLI::App& command =
      *config.add_subcommand("show", "Print each setting and the source of its value");
  const auto flags = add_config_flags(command);
  command.footer(
      "The command takes the flags of `millrace serve`, and shows the settings of a server that "
      "starts\n"
      "with them.\n"
      "Example:\n"
      "  millrace config show --config millrace.toml -o json");
  command.callback([flags, &app, &exit_code] {
    const auto loaded = load(*flags);
    if (!loaded) {
      exit_code = kBadConfiguration;
    } else {
      warn(*loaded);
      print(wants_json(app) ? settings_json(loaded->settings) : settings_table(loaded->settings));
    }
  });
}

void add_config_check(CLI::App& app, int& exit_code) {
  CLI::App& config = group(app, "config", "Show the server's configuration");
  CLI::App& command =
      *config.add_subcommand("check", "Check the settings, and the files that they name");
  const auto flags = add_config_flags(command);
  command.footer(
      "The command takes the flags of `millrace serve`. It names each fault, and exits 78 if there "
      "is one.\n"
      "Example:\n"
      "  millrace config check --config /etc/millrace/millrace.toml");
  command.callback([flags, &exit_code] {
    const auto loaded = load(*flags);
    exit_code = kBadConfiguration;
    if (!loaded) return;
    if (const Status status = check_files(*loaded); !status) {
      fmt::print(stderr, "millrace: {}\n", status.error().message);
      return;
    }
    warn(*loaded);
    print(loaded->file.empty() ? "The configuration is valid; there is no file.\n"
                               : fmt::format("The configuration in {} is valid.\n", loaded->file));
    exit_code = 0;
  });
}

// A duration from now, or an instant.
std::optional<Time> parse_expiry(const std::string& text) {
  if (const auto duration = parse_duration(text)) {
    return add_saturating(system_time().wall(), *duration);
  }
  return parse_rfc3339(text);
}

void print_token(const IssuedToken& token, bool as_json) {
  if (as_json) {
    std::string text;
    JsonWriter json(text);
    json.begin_object();
    json.member("token", token.text);
    json.member("name", token.settings.name);
    json.member("hash", token.settings.hash);
    json.member("certificate", token.settings.certificate);
    json.member("toml", token_toml(token.settings));
    json.end_object();
    print(text + '\n');
    return;
  }
  if (token.text.empty()) {
    print(token_toml(token.settings));
    std::fflush(stdout);
    fmt::print(stderr,
               "\n"
               "Put these lines into the server's configuration file, then restart the server, or "
               "send it SIGHUP. A client needs no\n"
               "token then: it shows a certificate for this name, signed by an authority of the "
               "server's tls.ca.\n");
    return;
  }
  print(token.text + "\n\n" + token_toml(token.settings));
  std::fflush(stdout);
  fmt::print(
      stderr,
      "\n"
      "The first line is the token. The server does not keep it, so save it now for the clients.\n"
      "Put the other lines into the server's configuration file, then restart the server, or send "
      "it SIGHUP.\n");
}

void add_token_new(CLI::App& app, int& exit_code) {
  CLI::App& token = group(app, "token", "Create, list, rotate and revoke tokens");
  CLI::App& command =
      *token.add_subcommand("new", "Make a token for the configuration file, and print its lines");
  struct Options {
    service::TokenSettings settings;
    std::string expires;
  };
  const auto options = std::make_shared<Options>();
  command.add_option("--name", options->settings.name, "Name of the token, which the log shows")
      ->required()
      ->type_name("NAME");
  command
      .add_option("--scope", options->settings.scopes,
                  "submit, work, read, operate, admin or payload; repeatable")
      ->required()
      ->check(CLI::IsMember({"submit", "work", "read", "operate", "admin", "payload"}))
      ->allow_extra_args(false)
      ->type_name("SCOPE");
  command
      .add_option("--queue", options->settings.queues,
                  "Limit the token to these queues (mail, mail.*); repeatable")
      ->allow_extra_args(false)
      ->type_name("GLOB");
  command.add_flag("!--no-payload", options->settings.sees_payloads,
                   "Let the token see no payloads, results, texts of errors and log lines");
  command
      .add_option("--certificate", options->settings.certificate,
                  "The name in the client's TLS certificate, which then stands for the token")
      ->type_name("NAME");
  command
      .add_option("--expires", options->expires,
                  "End of the token's life: 90d from now, or a time such as 2027-01-31T00:00:00Z")
      ->type_name("WHEN");
  command.footer(
      "The first token of a server is made so. A running server makes others: `millrace token "
      "create`.\n"
      "Example:\n"
      "  millrace token new --name deploy --scope submit --queue 'mail.*' --expires 90d");
  command.callback([options, &app, &exit_code] {
    if (!options->expires.empty()) {
      options->settings.expires_at = parse_expiry(options->expires);
      if (!options->settings.expires_at) {
        throw CLI::ValidationError("--expires", "must be a duration, such as 90d, or a time");
      }
    }
    IssuedToken made = issue_token(options->settings);
    if (const Status status = check_token(made.settings); !status) {
      throw CLI::ValidationError("token new", status.error().message);
    }
    print_token(made, wants_json(app));
    exit_code = 0;
  });
}

int print_files(const Result<CertificateFiles>& files) {
  if (!files) {
    fmt::print(stderr, "millrace: {}\n", files.error().message);
    return 1;
  }
  print(fmt::format("{}\n{}\n", files->certificate.string(), files->key.string()));
  return 0;
}

void add_admin_ca(CLI::App& app, int& exit_code) {
  CLI::App& admin = group(app, "admin", "Manage nodes; back up and verify a store");
  CLI::App& ca = group(admin, "ca", "Make certificates for TLS, by an authority of your own");

  CLI::App& make = *ca.add_subcommand("new", "Make an authority: ca.pem and ca.key");
  const auto made = std::make_shared<std::pair<std::string, std::string>>();
  make.add_option("DIRECTORY", made->first, "Where its two files go")->required()->type_name("");
  made->second = "Millrace";
  make.add_option("--name", made->second, "Its name, which certificates show")
      ->capture_default_str()
      ->type_name("NAME");
  make.footer(
      "It is valid for ten years. Clients and nodes get ca.pem. Keep ca.key off the servers:\n"
      "whoever has it can speak for each of them.\n"
      "Example:\n"
      "  millrace admin ca new ca");
  make.callback([made, &exit_code] {
    exit_code = print_files(make_authority_in(made->first, made->second));
  });

  CLI::App& issue =
      *ca.add_subcommand("issue", "Make a certificate for a server, a node or a client");
  struct Options {
    std::vector<std::string> names;
    std::string authority = "ca";
    std::string out = ".";
  };
  const auto options = std::make_shared<Options>();
  issue
      .add_option("NAME", options->names,
                  "Host names and addresses that it is for; the first names the files")
      ->required()
      ->type_name("");
  issue.add_option("--ca", options->authority, "Directory of the authority")
      ->capture_default_str()
      ->type_name("DIRECTORY");
  issue.add_option("--out", options->out, "Where NAME.pem and NAME.key go")
      ->capture_default_str()
      ->type_name("DIRECTORY");
  issue.footer(
      "It is valid for 397 days. A server reads new files by itself.\n"
      "Examples:\n"
      "  millrace admin ca issue queue-1.internal 10.0.0.7\n"
      "  millrace serve --tls-cert queue-1.internal.pem --tls-key queue-1.internal.key --tls-ca "
      "ca/ca.pem");
  issue.callback([options, &exit_code] {
    exit_code = print_files(issue_into(options->out, options->authority, options->names));
  });
}

void add_admin_verify(CLI::App& app, int& exit_code) {
  CLI::App& admin = group(app, "admin", "Manage nodes; back up and verify a store");
  CLI::App& command = *admin.add_subcommand("verify", "Check every row of a store");
  struct Options {
    std::string directory;
    std::string postgres;
  };
  const auto options = std::make_shared<Options>();
  CLI::Option* const directory =
      command
          .add_option("DIRECTORY,--data", options->directory, "Data directory, backup or archive")
          ->type_name("");
  command.add_option("--postgres", options->postgres, "Database of a store on PostgreSQL")
      ->excludes(directory)
      ->type_name("URL");
  command.footer(
      "The command reads every page. It checks all checksums, the chain of rows, the chain of the\n"
      "audit, and that the journal and the tables agree. It names what is damaged, and changes\n"
      "nothing. It refuses a directory that a server uses (exit code 5): stop the server, or "
      "verify\n"
      "a backup. A database may be in use.\n"
      "Example:\n"
      "  millrace admin verify /backup/millrace-2026-03-01\n"
      "  millrace admin verify --postgres postgres://millrace@localhost/jobs");
  command.callback([options, &exit_code] {
    if (!options->postgres.empty()) {
      exit_code = verify_database(options->postgres);
      return;
    }
    if (options->directory.empty()) throw CLI::RequiredError("DIRECTORY (or --postgres)");
    exit_code = verify_directory(options->directory);
  });
}

void add_admin_restore(CLI::App& app, int& exit_code) {
  CLI::App& admin = group(app, "admin", "Manage nodes; back up and verify a store");
  CLI::App& command = *admin.add_subcommand(
      "restore", "Make a data directory of a backup, and of an archive up to a time");
  struct Options {
    RestoreOptions restore;
    std::string until;
  };
  const auto options = std::make_shared<Options>();
  command
      .add_option("--backup", options->restore.backup, "Backup, or directory of a stopped server")
      ->required()
      ->type_name("DIRECTORY");
  command
      .add_option("--archive", options->restore.archive,
                  "What `serve --archive` has kept: the restore goes on from the backup")
      ->type_name("DIRECTORY");
  command
      .add_option("--until", options->until,
                  "Restore what happened until this time, such as 2027-01-31T09:30:00Z")
      ->type_name("TIME");
  CLI::Option* const to =
      command
          .add_option("--to", options->restore.to, "New or empty directory that becomes the store")
          ->type_name("DIRECTORY");
  command
      .add_option("--postgres", options->restore.postgres,
                  "Database without a schema millrace, for the backup of a store on PostgreSQL")
      ->excludes(to)
      ->type_name("URL");
  command.footer(
      "The command checks the backup, every row of the archive and what it has made; a restore "
      "that\n"
      "fails leaves nothing. As root it gives the files to the owner of an empty directory.\n"
      "Example:\n"
      "  millrace admin restore --backup /backup/monday --archive /backup/archive \\\n"
      "    --until 2027-01-31T09:30:00Z --to /var/lib/millrace-restored\n"
      "  millrace admin restore --backup /backup/tuesday --postgres postgres://localhost/jobs2");
  command.callback([options, &app, &exit_code] {
    if (!options->until.empty()) {
      options->restore.until = parse_rfc3339(options->until);
      if (!options->restore.until) {
        throw CLI::ValidationError("--until", "must be a time, such as 2027-01-31T09:30:00Z");
      }
      if (options->restore.archive.empty()) {
        throw CLI::ValidationError("--until", "needs --archive: a backup alone has one time only");
      }
    }
    if (options->restore.to.empty() && options->restore.postgres.empty()) {
      throw CLI::RequiredError("--to (or --postgres)");
    }
    if (!options->restore.postgres.empty() && !options->restore.archive.empty()) {
      throw CLI::ValidationError(
          "--archive", "is for a data directory; PostgreSQL restores to a time by its own means");
    }
    options->restore.json = wants_json(app);
    exit_code = restore_backup(options->restore);
  });
}

void add_admin_migrate(CLI::App& app, int& exit_code) {
  CLI::App& admin = group(app, "admin", "Manage nodes; back up and verify a store");
  CLI::App& migrate = group(admin, "migrate", "Manage the schema of a PostgreSQL database");
  const auto add = [&](const std::string& name, const std::string& description, Migrate what) {
    CLI::App& command = *migrate.add_subcommand(name, description);
    const auto url = std::make_shared<std::string>();
    command.add_option("--postgres", *url, "Address of the database")
        ->envname(environment_of("postgres"))
        ->required()
        ->type_name("URL");
    command.footer(
        "The server updates the schema when it starts. This command updates it in advance. Servers "
        "of\n"
        "the previous version keep running if each migration allows it.\n"
        "Example:\n"
        "  millrace admin migrate " +
        name + " --postgres postgres://millrace@localhost/jobs");
    command.callback([url, what, &exit_code] { exit_code = migrate_database(*url, what); });
  };
  add("status", "Print the migrations and whether each is applied", Migrate::kStatus);
  add("up", "Apply the missing migrations", Migrate::kUp);
}

}  // namespace

void add_commands(CLI::App& app, int& exit_code) {
  add_serve(app, exit_code);
  add_init(app, exit_code);
  add_config_show(app, exit_code);
  add_config_check(app, exit_code);
  add_token_new(app, exit_code);
  add_admin_ca(app, exit_code);
  add_admin_verify(app, exit_code);
  add_admin_restore(app, exit_code);
  add_admin_migrate(app, exit_code);
}

}  // namespace millrace::server
