// Finds ready jobs whose types no worker of their queue takes.
#include <fmt/format.h>

#include <set>
#include <utility>

#include "cli/findings/facts.h"
#include "cli/limit/calls.h"
#include "cli/session.h"

namespace millrace::cli {
namespace {

constexpr std::size_t kMostTypes = 40;
constexpr int kMostJobsSeen = 100;

// Whether some worker or push target takes every type of the queue. If not, `types` gets the types
// that are taken.
bool takes_all(const Facts& facts, const std::string& queue, std::set<std::string>& types) {
  bool all = false;
  const auto add = [&](sdk::JsonView who) {
    bool serves = false;
    for (const sdk::JsonView name : who["queues"].elements()) serves |= name.string() == queue;
    if (!serves) return;
    const auto named = who["types"].elements();
    all |= named.empty();
    for (const sdk::JsonView type : named) types.insert(type.string().value_or(""));
  };
  for (const std::string& worker : facts.workers) add(sdk::JsonView(worker));
  for (const std::string& target : facts.targets) add(sdk::JsonView(target));
  return all;
}

}  // namespace

// The first page of a list.
Facts::Items first_page(sdk::Client& client, const std::string& path, std::string_view what,
                        Facts& facts) {
  Facts::Items items;
  const auto body = send(client, "GET", path);
  if (!body) {
    facts.unknown.push_back(fmt::format("{}: {}", what, explain(body.error())));
    return items;
  }
  for (const sdk::JsonView item : sdk::JsonView(*body)["items"].elements()) {
    items.emplace_back(item.text());
  }
  return items;
}

std::string search(std::string_view query, int limit) {
  return fmt::format("/v1/jobs?limit={}&q={}", limit, sdk::url_encode(query));
}

std::string in_quotes(std::string_view text) { return fmt::format("\"{}\"", text); }

void look_for_untaken(sdk::Client& client, std::size_t most, Facts& facts) {
  std::size_t asked = 0;
  for (const std::string& item : facts.queues) {
    const sdk::JsonView queue(item);
    const std::string name = text_of(queue, "name");
    const std::int64_t ready = number_of(queue["counts"], "ready");
    if (ready == 0) continue;
    std::set<std::string> types;
    // A queue without any worker is a separate finding.
    if (takes_all(facts, name, types) || types.empty() || types.size() > kMostTypes) continue;
    if (++asked > most) return;
    std::string query = fmt::format("state:ready queue={}", in_quotes(name));
    for (const std::string& type : types) query += fmt::format(" -type={}", in_quotes(type));
    const Facts::Items jobs =
        first_page(client, search(query, kMostJobsSeen), "ready jobs of " + name, facts);
    if (jobs.empty()) continue;
    facts.untaken.push_back({name, jobs.front(), std::cmp_greater_equal(jobs.size(), ready)});
  }
}

void judge_untaken(const Facts& facts, Findings& found) {
  for (const Facts::Untaken& untaken : facts.untaken) {
    const sdk::JsonView job(untaken.job);
    const std::string type = text_of(job, "type");
    found.push_back({"type_untaken", Severity::kBad,
                     fmt::format("No worker takes jobs of type {} from {}", type, untaken.queue),
                     fmt::format("The workers of the queue name other types; job {} waits.",
                                 text_of(job, "id")),
                     fmt::format("start one that does: millrace work -q {} -t {} -- COMMAND",
                                 shell_word(untaken.queue), shell_word(type))});
  }
}

}  // namespace millrace::cli
