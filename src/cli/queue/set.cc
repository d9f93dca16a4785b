// millrace queue set: changes a queue's settings.
#include <fmt/format.h>

#include <array>

#include "base/time.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/limit/calls.h"
#include "cli/limit/view.h"
#include "cli/options.h"
#include "cli/output.h"
#include "cli/queue/view.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr std::array<std::string_view, 4> kRetainedStates{"succeeded", "dead", "cancelled",
                                                          "expired"};

struct Set {
  std::string name;
  std::optional<int> max_attempts;
  std::optional<int> max_crashes;
  std::optional<sdk::RetryPolicy> retry;
  std::optional<sdk::Milliseconds> lease;
  std::string max_ready;
  std::string max_ready_per_key;
  std::string concurrency;
  std::string rate;
  std::vector<std::string> limits;       // NAME, or NAME=KEY; "none": no limits
  std::vector<std::string> fair_limits;  // names
  std::string fair;
  std::vector<std::string> weights;
  std::string ageing;
  std::vector<std::string> retention;
  bool replace = false;
  bool create = false;
};

void write_retry(sdk::JsonWriter& json, const sdk::RetryPolicy& retry) {
  json.key("retry").begin_object().key("strategy").string(retry.strategy);
  if (retry.base) json.key("base_ms").integer(retry.base->count());
  if (retry.max) json.key("max_ms").integer(retry.max->count());
  if (!retry.delays.empty()) {
    json.key("delays_ms").begin_array();
    for (const sdk::Milliseconds delay : retry.delays) json.integer(delay.count());
    json.end_array();
  }
  json.end_object();
}

Status write_retention(sdk::JsonWriter& json, const std::vector<std::string>& words) {
  json.key("retention").begin_object();
  for (const std::string& word : words) {
    const auto assignment = parse_assignment(word);
    if (!assignment) return std::unexpected(assignment.error());
    const auto& [state, value] = *assignment;
    if (std::find(kRetainedStates.begin(), kRetainedStates.end(), state) == kRetainedStates.end()) {
      return failure(
          fmt::format("\"{}\" is not one of succeeded, dead, cancelled, expired", state));
    }
    json.key(state + "_ms");
    if (value == "never") {
      json.null();
    } else if (const auto duration = parse_duration(value)) {
      json.integer(duration->count());
    } else {
      return failure(fmt::format("\"{}\" is not a duration such as 24h, and not never", value));
    }
  }
  json.end_object();
  return {};
}

// The weights of fair keys are replaced as a whole: keys that are not named get the default.
Status write_fair(sdk::JsonWriter& json, const Set& options) {
  json.key("fair");
  if (options.fair == "none") {
    json.null();
    return {};
  }
  json.begin_object().key("by").string(options.fair);
  json.key("weights").begin_object();
  for (const std::string& word : options.weights) {
    const auto assignment = parse_assignment(word);
    if (!assignment) return std::unexpected(assignment.error());
    const auto& [key, weight] = *assignment;
    if (weight.empty() || weight.size() > 4 ||
        weight.find_first_not_of("0123456789") != std::string::npos) {
      return failure(fmt::format("\"{}\" is not a weight: a weight is 1 to 1000", weight));
    }
    json.key(key).raw(weight);
  }
  json.end_object().end_object();
  return {};
}

Status write_ageing(sdk::JsonWriter& json, const std::string& text) {
  json.key("ageing_ms");
  if (text == "none") {
    json.null();
  } else if (const auto duration = parse_duration(text)) {
    json.integer(duration->count());
  } else {
    return failure(fmt::format("\"{}\" is not a duration such as 10m, and not none", text));
  }
  return {};
}

// A queue's limits are replaced as a whole.
void write_limits(sdk::JsonWriter& json, const Set& options) {
  if (options.limits.empty() && options.fair_limits.empty()) return;
  json.key("limits").begin_array();
  for (const std::string& text : options.limits) {
    if (text == "none") continue;
    const sdk::JobLimit limit = parse_limit(text);
    json.begin_object().key("name").string(limit.name);
    if (!limit.key.empty()) json.key("key").string(limit.key);
    json.end_object();
  }
  for (const std::string& name : options.fair_limits) {
    json.begin_object().key("name").string(name).key("key_from").string("fair_key").end_object();
  }
  json.end_array();
}

// The given settings in the API's format.
Result<std::string> settings(const Set& options) {
  sdk::JsonWriter json;
  json.begin_object();
  if (options.max_attempts) json.key("max_attempts").integer(*options.max_attempts);
  if (options.max_crashes) json.key("max_crashes").integer(*options.max_crashes);
  if (options.retry) write_retry(json, *options.retry);
  if (options.lease) json.key("lease_ms").integer(options.lease->count());
  const auto write_bound = [&](std::string_view name, const std::string& bound) {
    if (bound == "none") {
      json.key(name).null();
    } else if (!bound.empty()) {
      json.key(name).raw(bound);
    }
  };
  write_bound("max_ready", options.max_ready);
  write_bound("max_ready_per_key", options.max_ready_per_key);
  write_bound("concurrency", options.concurrency);
  if (options.rate == "none") {
    json.key("rate").null();
  } else if (!options.rate.empty()) {
    const auto rate = parse_rate(options.rate);
    if (!rate) return failure("--rate: " + rate.error().message);
    json.key("rate").begin_object();
    json.key("limit").integer(rate->limit).key("per_ms").integer(rate->per.count());
    json.end_object();
  }
  write_limits(json, options);
  if (!options.retention.empty()) {
    if (const auto written = write_retention(json, options.retention); !written) {
      return failure("--retention: " + written.error().message);
    }
  }
  if (!options.fair.empty()) {
    if (const auto written = write_fair(json, options); !written) {
      return failure("--weight: " + written.error().message);
    }
  }
  if (!options.ageing.empty()) {
    if (const auto written = write_ageing(json, options.ageing); !written) {
      return failure("--ageing: " + written.error().message);
    }
  }
  json.end_object();
  return json.take();
}

// PUT creates a missing queue, so existence is checked first unless creation is allowed.
sdk::Result<sdk::Queue> replace(const Set& options, const std::string& body, sdk::Client& client) {
  if (!options.create) {
    auto there = client.queue(options.name);
    if (!there) return there;
  }
  return client.put_queue(options.name, body);
}

void fail(const sdk::Error& error, const Set& options, Session& session) {
  if (error.code == "not_found") return fail_on_queue(error, options.name, session);
  std::vector<std::string> limits = options.fair_limits;
  for (const std::string& text : options.limits) limits.push_back(parse_limit(text).name);
  std::string text = explain_on_limits(error, limits);
  if (text.contains("key_from")) text += "; here: --limit NAME=KEY, or --fair-limit NAME";
  session.fail(exit_code_of(error), text);
}

void run(const Set& options, Session& session) {
  if (session.refuse_dashes()) return;
  const auto body = settings(options);
  if (!body) return session.fail(kUsage, body.error().message);
  if (*body == "{}" && !options.replace) {
    return session.fail(kUsage, "name a setting to change; `millrace queue set --help` lists them");
  }
  session.with_client([&](sdk::Client& client) {
    const auto queue = options.replace
                           ? replace(options, *body, client)
                           : client.patch_queue(options.name, *body, if_missing(options.create));
    if (!queue) return fail(queue.error(), options, session);
    print_line(session.json() ? queue->json : queue_details(*queue));
  });
}

std::string check_bound(const std::string& text) {
  const bool is_number = !text.empty() && text.size() <= 18 &&
                         text.find_first_not_of("0123456789") == std::string::npos;
  return is_number || text == "none" ? "" : "must be a number or none";
}

void add_attempts(CLI::App& command, const std::shared_ptr<Set>& options) {
  command
      .add_option("--max-attempts", options->max_attempts,
                  "Number of attempts before a job is dead")
      ->type_name("N");
  command
      .add_option("--max-crashes", options->max_crashes,
                  "Number of lost workers before a job is dead")
      ->type_name("N");
  add_retry(command, "--retry", options->retry,
            "Wait between attempts, as exponential[:BASE[:MAX]], linear[:BASE[:MAX]], "
            "fixed[:BASE], list:D,D,...");
  add_duration(command, "--lease", options->lease,
               "Time after which a silent worker loses the job");
}

void add_limits(CLI::App& command, const std::shared_ptr<Set>& options) {
  command
      .add_option("--max-ready", options->max_ready,
                  "Largest number of ready jobs, or none; the server refuses more")
      ->type_name("N")
      ->check(check_bound);
  command
      .add_option("--max-ready-per-key", options->max_ready_per_key,
                  "Most ready jobs of one fair key, or none; with --fair")
      ->type_name("N")
      ->check(check_bound);
  command
      .add_option("--concurrency", options->concurrency,
                  "Most jobs of the queue that run together, or none")
      ->type_name("N")
      ->check(check_bound);
  command
      .add_option("--rate", options->rate,
                  "Most jobs that start in each period, as 100/s, 5/10m, or none")
      ->type_name("N/PERIOD");
  command
      .add_option("--limit", options->limits,
                  "A limit that each job of the queue must pass, with one key for all where it "
                  "counts by key; repeatable; none: no limits")
      ->type_name("NAME[=KEY]");
  command
      .add_option("--fair-limit", options->fair_limits,
                  "The same for a limit that counts by key, whose key is each job's fair key; "
                  "repeatable")
      ->type_name("NAME");
}

void add_order(CLI::App& command, const std::shared_ptr<Set>& options) {
  CLI::Option* const fair =
      command
          .add_option("--fair", options->fair,
                      "Share the queue between fair keys by running time or by starts; none: keys "
                      "do not count")
          ->check(CLI::IsMember({"time", "starts", "none"}));
  command
      .add_option("--weight", options->weights,
                  "Weight of a fair key, where others have 1; repeatable")
      ->type_name("KEY=N")
      ->needs(fair)
      ->allow_extra_args(false);
  command
      .add_option("--ageing", options->ageing,
                  "Waiting that long is worth one step of priority; none: priorities are strict")
      ->type_name("DURATION");
}

}  // namespace

void add_queue_set(CLI::App& queue, Session& session) {
  CLI::App& command = *queue.add_subcommand("set", "Change a queue's settings");
  const auto options = std::make_shared<Set>();
  command.add_option("NAME", options->name, "Name of the queue")->required();
  add_attempts(command, options);
  add_limits(command, options);
  command
      .add_option("--retention", options->retention,
                  "Time to keep ended jobs: succeeded=1h, ...; 0 keeps none, never keeps all")
      ->type_name("STATE=DURATION")
      ->delimiter(',')
      ->allow_extra_args(false);
  add_order(command, options);
  command.add_flag("--replace", options->replace, "Reset all other settings to their defaults");
  command.add_flag("--create", options->create, "Create the queue if it does not exist");
  command.footer(
      "Examples:\n"
      "  millrace queue set email --max-attempts 10 --retry exponential:10s:1h\n"
      "  millrace queue set reports --concurrency 10 --rate 100/m --limit database\n"
      "  millrace queue set mail --fair time --weight acme=3 --fair-limit tenants\n"
      "  millrace queue set logs --create --retention succeeded=0,dead=7d");
  command.callback([options, &session] { run(*options, session); });
}

}  // namespace millrace::cli
