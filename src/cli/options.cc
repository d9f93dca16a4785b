#include "cli/options.h"

#include <fmt/format.h>

#include <array>
#include <vector>

#include "base/json_check.h"
#include "base/time.h"
#include "cli/output.h"
#include "millrace/json.h"

namespace millrace::cli {
namespace {

constexpr std::array<std::string_view, 9> kStates{"scheduled", "ready",     "running",
                                                  "retrying",  "blocked",   "succeeded",
                                                  "dead",      "cancelled", "expired"};
constexpr std::array<std::string_view, 3> kGrowing{"exponential", "linear", "fixed"};

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

Result<sdk::Milliseconds> read_duration(std::string_view text) {
  if (const auto duration = parse_duration(text)) return *duration;
  return failure(fmt::format("\"{}\" is not a duration such as 250ms, 10s or 2h30m", text));
}

Result<sdk::RetryPolicy> parse_list(std::string_view delays) {
  sdk::RetryPolicy policy{.strategy = "list"};
  for (const std::string_view part : split(delays, ',')) {
    const auto delay = read_duration(part);
    if (!delay) return std::unexpected(delay.error());
    policy.delays.push_back(*delay);
  }
  return policy;
}

// An option with one value, which `read` converts to `out`.
template <typename T, typename Read>
CLI::Option* add_read(CLI::App& app, const std::string& flags, std::optional<T>& out,
                      const std::string& description, Read read) {
  const std::string name = flags.substr(flags.rfind("--"));
  return app.add_option_function<std::string>(
      flags,
      [&out, read, name](const std::string& text) {
        auto value = read(text);
        if (!value) throw CLI::ValidationError(name, value.error().message);
        out = std::move(*value);
      },
      description);
}

}  // namespace

Status check_payload(std::string_view payload) {
  if (sdk::is_json(payload)) return {};
  // What begins as JSON has a slip in it; all else is a text.
  constexpr std::string_view kBegins = "{[\"";
  const std::size_t first = payload.find_first_not_of(" \t\r\n");
  const auto fault = check_json(payload, kMaxJsonDepth, LoneSurrogates::kRefused);
  if (fault && first != std::string_view::npos && kBegins.contains(payload[first])) {
    return failure(
        fmt::format("the payload is not JSON: {}, at byte {}", fault->reason, fault->position));
  }
  return failure("the payload is not JSON; write a text with quotes: '\"text\"'");
}

Result<sdk::RetryPolicy> parse_retry(std::string_view text) {
  const auto parts = split(text, ':');
  if (parts.size() == 2 && parts[0] == "list") return parse_list(parts[1]);
  const bool is_growing = std::find(kGrowing.begin(), kGrowing.end(), parts[0]) != kGrowing.end();
  if (!is_growing || parts.size() > 3) {
    return failure(fmt::format(
        "\"{}\" is not a retry policy such as exponential:5s:5m, fixed:10s or list:1s,10s,1m",
        text));
  }
  sdk::RetryPolicy policy{.strategy = std::string(parts[0])};
  const auto read_part = [&parts](std::size_t i, std::optional<sdk::Milliseconds>& out) -> Status {
    if (parts.size() <= i) return {};
    const auto duration = read_duration(parts[i]);
    if (!duration) return std::unexpected(duration.error());
    out = *duration;
    return {};
  };
  if (const auto base = read_part(1, policy.base); !base) return std::unexpected(base.error());
  if (const auto max = read_part(2, policy.max); !max) return std::unexpected(max.error());
  return policy;
}

sdk::JobLimit parse_limit(std::string_view text) {
  const std::size_t equals = text.find('=');
  const std::string_view key = equals == std::string_view::npos ? "" : text.substr(equals + 1);
  return {.name = std::string(text.substr(0, equals)), .key = std::string(key)};
}

Result<std::pair<std::string, std::string>> parse_assignment(std::string_view text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    return failure(fmt::format("\"{}\" is not of the form NAME=VALUE", text));
  }
  return std::pair{std::string(text.substr(0, equals)), std::string(text.substr(equals + 1))};
}

CLI::Option* add_duration(CLI::App& app, const std::string& flags,
                          std::optional<sdk::Milliseconds>& out, const std::string& description) {
  return add_read(app, flags, out, description, read_duration)->type_name("DURATION");
}

CLI::Option* add_time(CLI::App& app, const std::string& flags, std::optional<sdk::Timestamp>& out,
                      const std::string& description) {
  const auto read = [](const std::string& text) -> Result<sdk::Timestamp> {
    if (const auto time = parse_rfc3339(text)) return *time;
    const auto from_now = text.starts_with('+') ? parse_duration(text.substr(1)) : std::nullopt;
    if (from_now) return now() + *from_now;
    return failure(
        fmt::format("\"{}\" is not a time such as 2026-03-01T09:30:00Z, or +2h from now", text));
  };
  return add_read(app, flags, out, description, read)->type_name("TIME");
}

CLI::Option* add_states(CLI::App& app, std::vector<std::string>& out,
                        const std::string& description) {
  const auto check = [](const std::string& text) -> std::string {
    if (std::ranges::find(kStates, text) != kStates.end()) return {};
    const std::string hint = text == "failed" ? "; a failed job is retrying or dead" : "";
    return fmt::format("\"{}\" is not a state; the states are {}{}", text, fmt::join(kStates, ", "),
                       hint);
  };
  return app.add_option("-s,--state", out, description)
      ->type_name("STATE")
      ->delimiter(',')
      ->allow_extra_args(false)
      ->check(check);
}

void add_dst_policies(CLI::App& app, std::string& gap, std::string& overlap) {
  app.add_option("--dst-gap", gap,
                 "For times that the clock skips: run (once, when the gap ends) or skip")
      ->check(CLI::IsMember({"run", "skip"}));
  app.add_option("--dst-overlap", overlap,
                 "For times that the clock shows twice: once (the first) or twice")
      ->check(CLI::IsMember({"once", "twice"}));
}

CLI::Option* add_retry(CLI::App& app, const std::string& flags,
                       std::optional<sdk::RetryPolicy>& out, const std::string& description) {
  return add_read(app, flags, out, description, parse_retry)->type_name("POLICY");
}

}  // namespace millrace::cli
