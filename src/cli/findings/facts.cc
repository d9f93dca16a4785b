#include "cli/findings/facts.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/limit/calls.h"
#include "cli/output.h"
#include "cli/session.h"

namespace millrace::cli {

std::string text_of(sdk::JsonView item, std::string_view name) {
  return item[name].string().value_or("");
}
std::int64_t number_of(sdk::JsonView item, std::string_view name) {
  return item[name].integer().value_or(0);
}
bool truth_of(sdk::JsonView item, std::string_view name) {
  return item[name].boolean().value_or(false);
}
std::optional<Time> time_of(sdk::JsonView item, std::string_view name) {
  const auto text = item[name].string();
  return text ? parse_rfc3339(*text) : std::nullopt;
}

std::string count_of(std::int64_t count, std::string_view one, std::string_view many) {
  return fmt::format("{} {}", count, count == 1 ? one : many);
}

std::string shell_word(std::string_view text) {
  const auto is_plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("._:/-@%+,=").contains(c);
  };
  if (!text.empty() && std::ranges::all_of(text, is_plain)) return std::string(text);
  std::string word = "'";
  for (const char c : text) {
    if (c == '\'') {
      word += "'\\''";
    } else {
      word += c;
    }
  }
  return word + "'";
}

void read_list(sdk::Client& client, const std::string& path, std::string_view what,
               Facts::Items& items, Facts& facts) {
  auto all = all_pages(client, path);
  if (all) {
    items = std::move(*all);
  } else {
    facts.unknown.push_back(fmt::format("{}: {}", what, explain(all.error())));
  }
}

sdk::Result<Facts> look(sdk::Client& client, const Facts::Items* queues) {
  Facts facts;
  const auto meta = client.server_info();
  if (!meta) return std::unexpected(meta.error());
  facts.now = meta->server_time.value_or(now());
  const auto readiness = client.readiness();
  if (readiness) facts.readiness = readiness->json;
  if (queues != nullptr) {
    facts.queues = *queues;
  } else {
    read_list(client, "/v1/queues", "the queues", facts.queues, facts);
  }
  read_list(client, "/v1/workers", "the workers", facts.workers, facts);
  read_list(client, "/v1/limits", "the limits", facts.limits, facts);
  read_list(client, "/v1/types", "the types", facts.types, facts);
  read_list(client, "/v1/schedules", "the schedules", facts.schedules, facts);
  read_list(client, "/v1/push-targets", "the push targets", facts.targets, facts);
  const auto stats = client.stats({.window = kFailureWindow, .step = kFailureWindow, .by = "type"});
  if (stats) {
    facts.by_type = stats->json;
  } else {
    facts.unknown.push_back("the statistics: " + explain(stats.error()));
  }
  return facts;
}

Findings judge(const Facts& facts, const Patience& patience) {
  Findings found;
  judge_readiness(facts, found);
  judge_queues(facts, patience, found);
  judge_untaken(facts, found);
  judge_workers(facts, patience, found);
  judge_gates(facts, found);
  judge_schedules(facts, patience, found);
  judge_targets(facts, found);
  judge_failures(facts, found);
  return found;
}

}  // namespace millrace::cli
