#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>

#include "base/time.h"
#include "cli/doctor/parts.h"
#include "cli/output.h"
#include "cli/session.h"

namespace millrace::cli {
namespace {

constexpr Duration kClockOff{2'000}, kClockFarOff{60'000};

// `whose`: "The server's", "Node a's". False: it does not answer, and `problem` says why.
bool compare_clocks(sdk::Client& client, const std::string& whose, std::vector<Finding>& found,
                    std::string& problem) {
  const Time before = now();
  const auto meta = client.server_info();
  const Time after = now();
  if (!meta) {
    problem = explain(meta.error());
    return false;
  }
  if (!meta->server_time) return true;
  // The answer took time: the server's clock is ahead by something from `least` to `most`.
  const Duration least = *meta->server_time - after;
  const Duration most = *meta->server_time - before;
  const Duration off = least > Duration{0} ? least : std::min(most, Duration{0});
  const Duration by = std::chrono::abs(off);
  if (by < kClockOff) return true;
  found.push_back(
      {"clock_apart", by >= kClockFarOff ? Severity::kBad : Severity::kWarn,
       fmt::format("{} clock is {} {} this machine's", whose, format_duration_for_people(by),
                   off > Duration{0} ? "ahead of" : "behind"),
       "run_at, expires_at and schedules mean other instants than you think.",
       "let both machines follow a time server (chrony, systemd-timesyncd)"});
  return true;
}

// Another node: its clock, and what it says of itself and of the receivers that it calls.
void look_at(const sdk::Node& node, const OpenClient& open, const std::string& query,
             Findings& found) {
  const std::string name = node.name.empty() ? node.id : node.name;
  std::string problem;
  if (auto client = open(node.url); !client) {
    problem = client.error().message;
  } else if (compare_clocks(*client, fmt::format("Node {}'s", name), found.items, problem)) {
    auto its = read_findings(*client, "about=node,push_targets&" + query);
    if (!its) {
      problem = explain(its.error());
    } else {
      if (!its->not_looked_at.empty()) problem = its->not_looked_at.front();
      merge(found, std::move(*its));
    }
  }
  if (problem.empty()) return;
  found.items.push_back(
      {"node_not_seen", Severity::kNote,
       fmt::format("Node {} at {} could not be looked at closely", name, node.url), problem + ".",
       "use a token with the scope admin, from where nodes are reached"});
}

}  // namespace

void look_at_nodes(sdk::Client& client, const OpenClient& open, const std::string& query,
                   Findings& found) {
  // Without the scope admin the server has said already that it does not show its nodes.
  const auto cluster = client.cluster();
  std::string self = "The server's";
  if (cluster && cluster->nodes.size() > 1) {
    const auto asked = std::ranges::find_if(cluster->nodes, &sdk::Node::self);
    if (asked != cluster->nodes.end()) {
      self = fmt::format("Node {}'s", asked->name.empty() ? asked->id : asked->name);
    }
  }
  std::string problem;
  if (!compare_clocks(client, self, found.items, problem)) {
    found.not_looked_at.push_back("the server's clock: " + problem);
  }
  if (!cluster) return;
  for (const sdk::Node& node : cluster->nodes) {
    if (!node.self && node.live) look_at(node, open, query, found);
  }
}

}  // namespace millrace::cli
