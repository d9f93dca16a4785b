#include "cli/limit/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>

#include "cli/output.h"

namespace millrace::cli {
namespace {

constexpr std::int64_t kBarWidth = 10;

std::string text(sdk::JsonView value) { return printable(value.string().value_or("")); }
std::int64_t number(sdk::JsonView value) { return value.integer().value_or(0); }

std::string rate_text(sdk::JsonView rate) {
  if (!rate.is_object()) return {};
  std::string made = fmt::format("{}/{}", number(rate["limit"]),
                                 format_duration(Duration{number(rate["per_ms"])}));
  if (const auto burst = rate["burst"].integer()) made += fmt::format(", burst {}", *burst);
  return made;
}

// The reason why the gate is closed although it has room.
std::string closed_text(sdk::JsonView limit) {
  const std::string breaker = text(limit["breaker_state"]);
  if (breaker == "open") {
    return fmt::format("breaker open until {}", text(limit["open_until"]));
  }
  const std::string made = breaker == "half_open" ? "breaker half open" : "";
  const auto until = limit["blocked_until"].string();
  if (!until) return made;
  return made + (made.empty() ? "" : ", ") + fmt::format("slowed down until {}", *until);
}

std::string pause_text(sdk::JsonView limit) {
  if (!limit["paused"].boolean().value_or(false)) return closed_text(limit);
  std::string made = "paused";
  if (const std::string reason = text(limit["pause_reason"]); !reason.empty()) {
    made += ": " + reason;
  }
  if (const auto until = limit["paused_until"].string()) made += fmt::format(", until {}", *until);
  return made;
}

}  // namespace

std::string bounds_text(sdk::JsonView limit) {
  std::string made;
  if (const auto slots = limit["concurrency"].integer()) made = fmt::format("{} at once", *slots);
  const std::string rate = rate_text(limit["rate"]);
  const auto add = [&](const std::string& more) { made += (made.empty() ? "" : ", ") + more; };
  if (!rate.empty()) add(rate);
  const std::string retries = rate_text(limit["retry_rate"]);
  if (!retries.empty()) add("retries " + retries);
  if (const sdk::JsonView breaker = limit["breaker"]; breaker.is_object()) {
    add(fmt::format("opens at {:.3g}% of {} failed",
                    breaker["failure_rate"].number().value_or(0) * 100,
                    number(breaker["min_attempts"])));
  }
  return made.empty() ? "no bound" : made;
}

std::string use_bar(std::int64_t in_use, std::optional<std::int64_t> bound) {
  if (!bound || *bound <= 0) return std::to_string(in_use);
  std::int64_t filled = std::min(in_use, *bound) * kBarWidth / *bound;
  if (in_use > 0) filled = std::max<std::int64_t>(filled, 1);  // any use is visible
  return fmt::format("{}{} {}/{}", std::string(static_cast<std::size_t>(filled), '#'),
                     std::string(static_cast<std::size_t>(kBarWidth - filled), '.'), in_use,
                     *bound);
}

std::string limit_table(const std::vector<sdk::JsonView>& limits, bool of_types,
                        std::size_t width) {
  Table table({{.title = of_types ? "TYPE" : "LIMIT", .least = 12},
               {"IN USE"},
               {"WAITING", Align::kRight},
               {.title = "BOUNDS", .least = 16},
               {.title = "NOTE", .least = 10}});
  for (const sdk::JsonView limit : limits) {
    const bool by_key = limit["per_key"].boolean().value_or(false);
    std::string use = by_key ? std::to_string(number(limit["in_use"]))
                             : use_bar(number(limit["in_use"]), limit["concurrency"].integer());
    table.add({text(limit[of_types ? "type" : "name"]), std::move(use),
               std::to_string(number(limit["waiting"])),
               bounds_text(limit) + (by_key ? " for each key" : ""), pause_text(limit)});
  }
  return table.text(width);
}

std::string limit_details(sdk::JsonView limit, bool of_type) {
  Properties properties;
  properties.add(of_type ? "type" : "limit", text(limit[of_type ? "type" : "name"]));
  const bool by_key = limit["per_key"].boolean().value_or(false);
  properties.add("bounds", bounds_text(limit) + (by_key ? " for each key" : ""));
  for (const auto& [key, own] : limit["keys"].members()) {
    properties.add("  " + printable(key), bounds_text(own));
  }
  properties.add("in use", by_key
                               ? std::to_string(number(limit["in_use"]))
                               : use_bar(number(limit["in_use"]), limit["concurrency"].integer()));
  properties.add("waiting", std::to_string(number(limit["waiting"])));
  properties.add("next start", text(limit["next_token_at"]));
  properties.add("state", pause_text(limit));
  properties.add("version", std::to_string(number(limit["version"])));
  return properties.text();
}

std::string key_table(const std::vector<sdk::JsonView>& keys, std::size_t width) {
  Table table({{.title = "KEY", .least = 12},
               {"IN USE", Align::kRight},
               {"WAITING", Align::kRight},
               {.title = "NOTE", .least = 10}});
  for (const sdk::JsonView key : keys) {
    table.add({text(key["key"]), std::to_string(number(key["in_use"])),
               std::to_string(number(key["waiting"])), pause_text(key)});
  }
  return table.text(width);
}

std::string holder_table(const std::vector<sdk::JsonView>& holders, std::size_t width) {
  Table table({{.title = "JOB"},
               {.title = "KEY", .least = 8},
               {.title = "WORKER", .least = 12},
               {"SINCE"}});
  for (const sdk::JsonView holder : holders) {
    table.add(
        {text(holder["id"]), text(holder["key"]), text(holder["worker"]), text(holder["since"])});
  }
  return table.text(width);
}

std::string why_text(sdk::JsonView why) {
  std::string made = fmt::format("{}  {}\n{}\n", text(why["id"]), text(why["state"]),
                                 printable_block(why["summary"].string().value_or("")));
  for (const sdk::JsonView reason : why["blocking"].elements()) {
    const std::vector<sdk::JsonView> holders = reason["holders"].elements();
    if (!holders.empty()) made += "These jobs hold it:\n";
    for (const sdk::JsonView holder : holders) made += fmt::format("  {}\n", text(holder));
    if (const auto job = reason["waits_for"].string()) {
      made += fmt::format("It waits for:\n  {}\n", printable(*job));
    }
  }
  return made;
}

Result<ParsedRate> parse_rate(std::string_view text) {
  const std::string wrong =
      fmt::format("\"{}\" is not a rate such as 100/s, 5/10m or 1/500ms", text);
  const std::size_t slash = text.find('/');
  ParsedRate rate;
  const char* const end = text.data() + std::min(slash, text.size());
  const auto [at, error] = std::from_chars(text.data(), end, rate.limit);
  if (slash == std::string_view::npos || error != std::errc() || at != end || rate.limit < 1) {
    return failure(wrong);
  }
  std::string period(text.substr(slash + 1));
  const bool plain_unit = !period.empty() && (period.front() < '0' || period.front() > '9');
  if (plain_unit) period.insert(period.begin(), '1');
  const auto per = parse_duration(period);
  if (!per || per->count() < 1) return failure(wrong);
  rate.per = *per;
  return rate;
}

}  // namespace millrace::cli
