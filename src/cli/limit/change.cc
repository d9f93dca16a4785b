// millrace limit set, delete, pause and resume; millrace type set and delete.
#include <fmt/format.h>

#include "cli/commands.h"
#include "cli/confirm.h"
#include "cli/exit_code.h"
#include "cli/limit/calls.h"
#include "cli/limit/view.h"
#include "cli/options.h"
#include "cli/output.h"

namespace millrace::cli {
namespace {

struct Set {
  std::string name;
  std::string concurrency;
  std::string rate;
  std::optional<int> burst;
  std::string retry_rate;
  std::string failure_rate;  // of a breaker; "none": no breaker
  int min_attempts = 20;
  std::optional<sdk::Milliseconds> window;
  std::optional<sdk::Milliseconds> open;
  int probes = 1;
  bool per_key = false;
  std::vector<std::string> keys;  // KEY=CONCURRENCY
  bool replace = false;
  bool pause = false;
  bool resume = false;
  std::string reason;
};

Status write_rate(sdk::JsonWriter& json, std::string_view name, const std::string& text,
                  std::optional<int> burst) {
  if (text.empty()) return burst ? failure("--burst belongs to a --rate") : Status();
  json.key(name);
  if (text == "none") {
    json.null();
    return {};
  }
  const auto rate = parse_rate(text);
  if (!rate) return std::unexpected(rate.error());
  json.begin_object();
  json.key("limit").integer(rate->limit).key("per_ms").integer(rate->per.count());
  if (burst) json.key("burst").integer(*burst);
  json.end_object();
  return {};
}

void write_breaker(sdk::JsonWriter& json, const Set& options) {
  if (options.failure_rate.empty()) return;
  json.key("breaker");
  if (options.failure_rate == "none") {
    json.null();
    return;
  }
  json.begin_object().key("failure_rate").raw(options.failure_rate);
  json.key("min_attempts").integer(options.min_attempts);
  json.key("window_ms").integer(options.window.value_or(sdk::Milliseconds{60'000}).count());
  json.key("open_ms").integer(options.open.value_or(sdk::Milliseconds{30'000}).count());
  json.key("probes").integer(options.probes);
  json.end_object();
}

Status write_keys(sdk::JsonWriter& json, const Set& options) {
  if (options.keys.empty()) return {};
  json.key("keys").begin_object();
  for (const std::string& word : options.keys) {
    const std::size_t equals = word.rfind('=');
    const std::string slots = equals == std::string::npos ? "" : word.substr(equals + 1);
    if (slots.empty() || slots.find_first_not_of("0123456789") != std::string::npos ||
        slots.size() > 9) {
      return failure(fmt::format("\"{}\" is not KEY=CONCURRENCY, as acme=20", word));
    }
    json.key(word.substr(0, equals)).begin_object().key("concurrency").raw(slots).end_object();
  }
  json.end_object();
  return {};
}

// The given settings in the API's format.
Result<std::string> settings(const Set& options) {
  sdk::JsonWriter json;
  json.begin_object();
  if (options.concurrency == "none") {
    json.key("concurrency").null();
  } else if (!options.concurrency.empty()) {
    json.key("concurrency").raw(options.concurrency);
  }
  if (const Status done = write_rate(json, "rate", options.rate, options.burst); !done) {
    return std::unexpected(done.error());
  }
  if (const Status done = write_rate(json, "retry_rate", options.retry_rate, {}); !done) {
    return std::unexpected(done.error());
  }
  write_breaker(json, options);
  if (options.per_key) json.key("per_key").boolean(true);
  if (const Status done = write_keys(json, options); !done) return std::unexpected(done.error());
  if (options.pause) json.key("paused").boolean(true).key("pause_reason").string(options.reason);
  json.end_object();
  return json.take();
}

// Changes the given settings of an existing limit; else creates the limit.
sdk::Result<std::string> set_limit(sdk::Client& client, const Set& options,
                                   const std::string& body) {
  const std::string path = limit_path(false, options.name);
  if (options.replace) return send(client, "PUT", path, body);
  auto changed = send(client, "PATCH", path, body);
  if (changed || changed.error().code != "not_found") return changed;
  return send(client, "PUT", path, body);
}

void run_set(const Set& options, bool of_type, Session& session) {
  if (session.refuse_dashes()) return;
  const auto body = settings(options);
  if (!body) return session.fail(kUsage, body.error().message);
  if (*body == "{}" && !options.replace && !of_type) {
    return session.fail(kUsage, "name a setting to change; `millrace limit set --help` lists them");
  }
  session.with_client([&](sdk::Client& client) {
    const auto set = of_type ? send(client, "PUT", limit_path(true, options.name), *body)
                             : set_limit(client, options, *body);
    if (!set) return session.fail(set.error());
    print_line(session.json() ? *set : limit_details(sdk::JsonView(*set), of_type));
  });
}

std::string check_bound(const std::string& text) {
  const bool is_number = !text.empty() && text.size() <= 9 &&
                         text.find_first_not_of("0123456789") == std::string::npos;
  return is_number || text == "none" ? "" : "must be a number or none";
}

std::string check_share(const std::string& text) {
  const bool is_share = !text.empty() && text.size() <= 9 && text.front() != '.' &&
                        text.find_first_not_of("0123456789.") == std::string::npos;
  return is_share || text == "none" ? "" : "must be a share, as 0.5, or none";
}

void add_bounds(CLI::App& command, Set& options) {
  command.add_option("--concurrency", options.concurrency, "Most jobs that run together, or none")
      ->type_name("N")
      ->check(check_bound);
  command
      .add_option("--rate", options.rate,
                  "Most jobs that start in each period, as 100/s, 5/10m, or none")
      ->type_name("N/PERIOD");
  command
      .add_option("--burst", options.burst,
                  "Most starts at once after a pause; by default the rate's N")
      ->type_name("N");
  command
      .add_option("--retry-rate", options.retry_rate,
                  "Most attempts after the first that start in each period, or none")
      ->type_name("N/PERIOD");
  command
      .add_option("--breaker", options.failure_rate,
                  "Start nothing for a while once this share of attempts fails, as 0.5, or none")
      ->type_name("SHARE")
      ->check(check_share);
  command
      .add_option("--breaker-min", options.min_attempts,
                  "Attempts below which the breaker stays closed")
      ->type_name("N")
      ->capture_default_str();
  add_duration(command, "--breaker-window", options.window,
               "Time over which it counts; by default 1m");
  add_duration(command, "--breaker-open", options.open,
               "Time for which nothing starts; by default 30s");
  command
      .add_option("--breaker-probes", options.probes,
                  "Jobs that may run after that; so many successes close it")
      ->type_name("N")
      ->capture_default_str();
}

void add_delete(CLI::App& group, bool of_type, Session& session) {
  CLI::App& command = *group.add_subcommand(
      "delete", of_type ? "Remove the gate of a type" : "Delete a limit that nothing names");
  struct Delete {
    std::string name;
    bool force = false;
    bool yes = false;
  };
  const auto options = std::make_shared<Delete>();
  command.add_option("NAME", options->name, of_type ? "Job type" : "Name of the limit")->required();
  if (!of_type) command.add_flag("--force", options->force, "Let the jobs that name it go free");
  add_yes(command, options->yes);
  command.footer(of_type ? "Examples:\n  millrace type delete charge"
                         : "Examples:\n  millrace limit delete payments --force --yes");
  command.callback([options, of_type, &session] {
    if (session.refuse_dashes()) return;
    const std::string question =
        of_type ? fmt::format("Remove the gate of type {}?", options->name)
                : fmt::format("Delete limit {}{}?", options->name,
                              options->force ? " and let its jobs go free" : "");
    if (!is_confirmed(session, options->yes, question)) return;
    session.with_client([&](sdk::Client& client) {
      const auto gone =
          send(client, "DELETE",
               limit_path(of_type, options->name, options->force ? "?force=true" : ""));
      if (!gone && gone.error().code == "limit_in_use" && !options->force) {
        return session.fail(kConflict, gone.error().message);
      }
      if (!gone) {
        return session.fail_on(gone.error(), of_type ? "type" : "limit", options->name);
      }
      if (!session.json()) print_line(fmt::format("{}  deleted", printable(options->name)));
    });
  });
}

}  // namespace

void add_limit_set(CLI::App& limit, Session& session) {
  CLI::App& command = *limit.add_subcommand("set", "Make a limit, or change its bounds");
  const auto options = std::make_shared<Set>();
  command.add_option("NAME", options->name, "Name of the limit")->required();
  add_bounds(command, *options);
  command.add_flag("--per-key", options->per_key, "Each key of a job's has bounds of its own");
  command.add_option("--key", options->keys, "Another concurrency for one key, as acme=20")
      ->type_name("KEY=N")
      ->allow_extra_args(false);
  command.add_flag("--replace", options->replace, "Reset all other settings to their defaults");
  command.footer(
      "A job names its limits when it is submitted; a queue's settings can name them for all of "
      "its "
      "jobs.\n"
      "\n"
      "Examples:\n"
      "  millrace limit set payments --rate 100/s --burst 20\n"
      "  millrace limit set sync --per-key --concurrency 1\n"
      "  millrace limit set tenants --per-key --concurrency 5 --key acme=20");
  command.callback([options, &session] { run_set(*options, false, session); });
}

void add_type_set(CLI::App& type, Session& session) {
  CLI::App& command = *type.add_subcommand("set", "Give a type a gate that all its jobs pass");
  const auto options = std::make_shared<Set>();
  command.add_option("NAME", options->name, "Job type")->required();
  add_bounds(command, *options);
  command.add_flag("--pause", options->pause, "Start no job of the type");
  command.add_option("--reason", options->reason, "Reason of the pause");
  command.footer(
      "What is not named is reset: no bound, not paused.\n"
      "\n"
      "Examples:\n"
      "  millrace type set charge --concurrency 10\n"
      "  millrace type set charge --pause --reason 'the bank is down'");
  command.callback([options, &session] { run_set(*options, true, session); });
}

void add_limit_delete(CLI::App& limit, Session& session) { add_delete(limit, false, session); }
void add_type_delete(CLI::App& type, Session& session) { add_delete(type, true, session); }

void add_limit_pause(CLI::App& limit, Session& session) {
  CLI::App& command = *limit.add_subcommand("pause", "Start no more jobs that name a limit");
  struct Pause {
    std::string name;
    std::string key;
    std::string reason;
    std::optional<sdk::Milliseconds> length;
  };
  const auto options = std::make_shared<Pause>();
  command.add_option("NAME", options->name, "Name of the limit")->required();
  command.add_option("--key", options->key, "Only jobs of this key");
  command.add_option("--reason", options->reason, "Reason, which the limit shows");
  add_duration(command, "--for", options->length, "Resume by itself after this time");
  command.footer(
      "Examples:\n  millrace limit pause payments --for 10m --reason 'provider is down'");
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    sdk::JsonWriter json;
    json.begin_object();
    if (!options->key.empty()) json.key("key").string(options->key);
    if (!options->reason.empty()) json.key("reason").string(options->reason);
    if (options->length) json.key("for_ms").integer(options->length->count());
    json.end_object();
    session.with_client([&](sdk::Client& client) {
      const auto paused =
          send(client, "POST", limit_path(false, options->name, "/pause"), json.take());
      if (!paused) return session.fail_on(paused.error(), "limit", options->name);
      print_line(session.json() ? *paused : printable(options->name) + "  paused");
    });
  });
}

void add_limit_resume(CLI::App& limit, Session& session) {
  CLI::App& command = *limit.add_subcommand("resume", "Start jobs that name a paused limit again");
  struct Resume {
    std::string name;
    std::string key;
  };
  const auto options = std::make_shared<Resume>();
  command.add_option("NAME", options->name, "Name of the limit")->required();
  command.add_option("--key", options->key, "Only jobs of this key");
  command.footer("Examples:\n  millrace limit resume payments");
  command.callback([options, &session] {
    if (session.refuse_dashes()) return;
    sdk::JsonWriter json;
    json.begin_object();
    if (!options->key.empty()) json.key("key").string(options->key);
    json.end_object();
    session.with_client([&](sdk::Client& client) {
      const auto resumed =
          send(client, "POST", limit_path(false, options->name, "/resume"), json.take());
      if (!resumed) return session.fail_on(resumed.error(), "limit", options->name);
      print_line(session.json() ? *resumed : printable(options->name) + "  resumed");
    });
  });
}

}  // namespace millrace::cli
